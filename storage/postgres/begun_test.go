package postgres_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/pgtest"
)

func beginning(tok idem.Token, key string) *idem.BeginEffect {
	return &idem.BeginEffect{
		Token: &tok, Key: idem.EffectKey{Scope: idem.EventScope, Namespace: tok.Namespace, Consumer: tok.Consumer, Event: tok.Event, Key: key},
		BeginID: randomID().String(), OnUnknown: idem.UnknownRetry, Nonce: randomID(),
	}
}

// A replica that saw all side effects of a claim begin and end completes the event without
// reading anything.
func TestCompletionBehindKnownEffectsReadsNothing(t *testing.T) {
	t.Parallel()
	sent := &sentStatements{args: map[string][]any{}}
	s, pool := openOn(t, pgtest.Database(t, "idemsvc", migrate), quiet, func(c *pgxpool.Config) { c.ConnConfig.Tracer = sent })
	for range 2 { // the first time, the connections are made known
		tok := grantOf(t, s, claimOf("ns", randomID().String()))
		for _, key := range []string{"mail", "charge"} {
			begun := must[*idem.EffectAnswer](t, s, beginning(tok, key))
			must[*idem.ExtendAnswer](t, s, &idem.Extend{Token: tok, Lease: time.Hour})
			must[*idem.EffectAnswer](t, s, &idem.ReportEffect{Token: begun.Token, State: idem.EffectDone, Result: []byte("r")})
		}
		sent.reset()
		must[*idem.EndAnswer](t, s, completeOf(tok, "ok"))
	}
	for _, sql := range sent.texts() {
		if !strings.Contains(sql, "INSERT INTO idemsvc.journal") {
			t.Errorf("sent beside the write:\n%s", sql)
		}
	}
	checkJournal(t, pool)
}

// What a replica remembers of side effects is a guess, too: one that was begun anew elsewhere
// is open, however often the event was read or written since.
func TestCompletionKnowsEffectsBegunElsewhere(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t, "idemsvc", migrate)
	a, pool := openOn(t, url, quiet)
	b, _ := openOn(t, url, quiet)
	again := map[string]func(*testing.T, idem.Token, idem.EffectToken){
		"another one": func(t *testing.T, tok idem.Token, e idem.EffectToken) {
			t.Helper()
			must[*idem.EffectAnswer](t, a, &idem.ReportEffect{Token: e, State: idem.EffectDone})
			must[*idem.EffectAnswer](t, b, beginning(tok, "charge"))
		},
		"done again": func(t *testing.T, tok idem.Token, e idem.EffectToken) {
			t.Helper()
			must[*idem.EffectAnswer](t, a, &idem.ReportEffect{Token: e, State: idem.EffectDone})
			must[*idem.EffectAnswer](t, b, &idem.ResolveEffect{Key: beginning(tok, "mail").Key, To: idem.EffectRedo, RequestID: "redo", Who: "op", Why: "refunded"})
			must[*idem.EffectAnswer](t, b, beginning(tok, "mail"))
		},
		"tried again": func(t *testing.T, tok idem.Token, e idem.EffectToken) {
			t.Helper()
			must[*idem.EffectAnswer](t, a, &idem.ReportEffect{Token: e, State: idem.EffectNotDone})
			must[*idem.EffectAnswer](t, b, beginning(tok, "mail"))
		},
	}
	between := map[string]func(*testing.T, idem.Token){
		"at once": func(*testing.T, idem.Token) {},
		"after a heartbeat": func(t *testing.T, tok idem.Token) {
			t.Helper()
			must[*idem.ExtendAnswer](t, a, &idem.Extend{Token: tok, Lease: time.Hour})
		},
		"after a heartbeat elsewhere": func(t *testing.T, tok idem.Token) {
			t.Helper()
			must[*idem.ExtendAnswer](t, b, &idem.Extend{Token: tok, Lease: time.Hour})
		},
		"after a further one was begun": func(t *testing.T, tok idem.Token) {
			t.Helper()
			e := must[*idem.EffectAnswer](t, a, beginning(tok, "note"))
			must[*idem.EffectAnswer](t, a, &idem.ReportEffect{Token: e.Token, State: idem.EffectDone})
		},
	}
	for _, how := range slices.Sorted(maps.Keys(again)) {
		for _, when := range slices.Sorted(maps.Keys(between)) {
			t.Run(how+", "+when, func(t *testing.T) {
				tok := grantOf(t, a, claimOf("ns", t.Name()))
				e := must[*idem.EffectAnswer](t, a, beginning(tok, "mail"))
				again[how](t, tok, e.Token)
				between[when](t, tok)
				r := one(a, completeOf(tok, "ok"))
				if open, ok := errors.AsType[*idem.Error](r.Err); !ok || open.Code != idem.CodeOpenEffects {
					t.Errorf("%v, want %s", r.Err, idem.CodeOpenEffects)
				}
			})
		}
	}
	checkJournal(t, pool)
}
