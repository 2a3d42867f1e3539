package webhook_test

import (
	"testing"

	"github.com/idemsvc/idemsvc/clients/go/webhook"
)

// New secrets hold from the next request on, and only the same provider's are taken.
func TestRenewedSecrets(t *testing.T) {
	t.Parallel()
	s := newScene(t, webhook.Stripe("old"))
	renewed := webhook.Stripe("new")
	if err := s.handler.Renew(renewed); err != nil {
		t.Fatal(err)
	}
	for why, p := range map[string]*webhook.Provider{
		"no secret": webhook.Stripe(), "another": webhook.GitHub("x"), "another source": webhook.Stripe("x").As("stripe-2"),
	} {
		if err := s.handler.Renew(p); err == nil {
			t.Errorf("%s was taken", why)
		}
	}
	s.expect(s.deliver(invoice("evt_1", 1, 1), nil), 401, "a request signed with the old secret")
	s.p = renewed
	s.expect(s.deliver(invoice("evt_1", 1, 1), nil), 200, "a request signed with the new one")
}
