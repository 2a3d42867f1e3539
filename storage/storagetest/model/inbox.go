package model

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/idemsvc/idemsvc/idem"
)

// receive keeps an event for later work.
func (m *model) receive(t *rapid.T) {
	key := pick(t, "event", m.events)
	c := idem.Receive{
		Key: key, Holder: "h",
		Stale: rapid.SampledFrom([]idem.StaleClaim{idem.StaleByPolicy, idem.Reclaim, idem.Hold}).Draw(t, "stale"),
		Facts: idem.Facts{
			Type: "t", RequestID: fmt.Sprint("r", len(m.commands)), Kind: idem.ProviderFirst,
			PayloadHash: []byte(rapid.SampledFrom([]string{"", "A", "A", "B"}).Draw(t, "hash")),
			Origin:      rapid.SampledFrom([]string{"", "", "", "", "", "", "", "", "", "us"}).Draw(t, "origin"),
			Signature:   rapid.SampledFrom([]idem.Signature{idem.NotChecked, idem.Verified, idem.Verified, idem.VerifiedLate, idem.SignatureFailed}).Draw(t, "signature"),
		},
	}
	text := fmt.Sprintf("receive %s, signature %d, hash %q", eventName(key), c.Facts.Signature, c.Facts.PayloadHash)
	if rapid.Bool().Draw(t, "ordered") {
		o, words := m.ordering(t, key.Consumer)
		c.Ordering = &o
		text += ", ordered by " + words
	}
	if rapid.IntRange(0, 5).Draw(t, "backfill") == 5 {
		c.Backfill = &idem.Backfill{RequestID: rapid.SampledFrom([]string{"b1", "b2"}).Draw(t, "request"), Who: "op", Why: "late"}
		text += ", as the backfill " + c.Backfill.RequestID
	}
	m.do(key.ID(), text, func(*side) idem.Command {
		own := c
		apart(&own.Facts, &own.Ordering)
		return &own
	})
}

// acquire claims an event as it is stored, whether or not it is due.
func (m *model) acquire(t *rapid.T) {
	key := pick(t, "event", m.events)
	c := idem.Claim{Key: key, Holder: "h", Nonce: m.id(), Lease: aLease, AcceptReplay: true}
	c.Claimant = fmt.Sprint("p", len(m.claimants))
	if len(m.claimants) > 0 && rapid.IntRange(0, 5).Draw(t, "claimant") == 5 {
		c.Claimant = pick(t, "earlier claimant", m.claimants)
	}
	m.claimants = append(m.claimants, c.Claimant)
	c.Acquisition = idem.Digest("acquisition", c.Claimant)
	if v := m.view(m.oracle, key); v != nil {
		c.Facts, c.Ordering = v.Event.Facts, v.Event.Ordering
	}
	c.Facts.Kind = idem.ConsumerRequeue
	m.do(key.ID(), fmt.Sprintf("acquire %s by %s", eventName(key), c.Claimant), func(*side) idem.Command {
		own := c
		apart(&own.Facts, &own.Ordering)
		return &own
	})
}
