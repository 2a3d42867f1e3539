package webhook_test

import (
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/clients/go/webhook"
)

// sample is a delivery in the shape of its provider, with made-up content.
type sample struct {
	Provider, Name, Body string
	Header               map[string]string
	Want                 []wanted
}

// wanted is what an event must be read as. Resource is its type, a space, and its ID;
// "*" at the end of an ID is anything.
type wanted struct {
	ID, Quality, Type, Resource, At, Version string
	Attempt                                  int
	Fingerprint                              bool
}

func samples(t testing.TB) []sample {
	t.Helper()
	b, err := os.ReadFile("testdata/samples.json")
	if err != nil {
		t.Fatal(err)
	}
	var out []sample
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// sampleOf is the first sample of a provider.
func sampleOf(t testing.TB, provider string) sample {
	t.Helper()
	all := samples(t)
	i := slices.IndexFunc(all, func(s sample) bool { return s.Provider == provider })
	if i < 0 {
		t.Fatalf("there is no sample of %s", provider)
	}
	return all[i]
}

// Every provider's deliveries are read as the table of providers says.
func TestEventsAreTakenOutOfRequests(t *testing.T) {
	t.Parallel()
	for _, s := range samples(t) {
		t.Run(s.Provider+" "+s.Name, func(t *testing.T) {
			t.Parallel()
			items, err := testProvider(s.Provider).Items(request(s.Body, s.Header))
			if err != nil {
				t.Fatal(err)
			}
			got := make([]wanted, 0, len(items))
			for i, item := range items {
				w := asWanted(item)
				if i < len(s.Want) {
					if head, ok := strings.CutSuffix(s.Want[i].ID, "*"); ok && strings.HasPrefix(w.ID, head) && len(w.ID) > len(head) {
						w.ID = s.Want[i].ID
					}
				}
				got = append(got, w)
			}
			if !slices.Equal(got, s.Want) {
				t.Errorf("got  %+v\nwant %+v", got, s.Want)
			}
		})
	}
}

func asWanted(i *webhook.Item) wanted {
	w := wanted{
		ID: i.ID, Quality: strings.TrimPrefix(i.Quality.String(), "KEY_QUALITY_"), Type: i.Type, Attempt: i.Attempt, Fingerprint: len(i.Fingerprint) > 0,
	}
	if i.Resource != nil {
		w.Resource = i.Resource.GetType() + " " + i.Resource.GetId()
	}
	if !i.OccurredAt.IsZero() {
		w.At = i.OccurredAt.UTC().Format(time.RFC3339Nano)
	}
	switch {
	case i.Version == nil:
	case i.Version.GetInstant() != nil:
		w.Version = i.Version.GetInstant().AsTime().Format(time.RFC3339Nano)
	default:
		w.Version = strconv.FormatInt(i.Version.GetSequence(), 10)
	}
	return w
}

// A provider whose name is in the table can be made, and what is signed for a test is
// taken for genuine.
func TestSamplesCanBeSigned(t *testing.T) {
	t.Parallel()
	for _, s := range samples(t) {
		p := testProvider(s.Provider)
		r := request(s.Body, s.Header)
		switch s.Provider {
		case "sendgrid":
			signSendGrid(t, r)
		case "paypal", "google-pubsub":
			if err := p.SignForTest(r, time.Now()); err == nil {
				t.Errorf("%s can be signed without its key", s.Provider)
			}
			continue
		default:
			r = signed(t, p, s.Body, s.Header)
		}
		if err := p.Check(t.Context(), r); err != nil {
			t.Errorf("%s %s: %v", s.Provider, s.Name, err)
		}
	}
}
