package linear

import (
	"fmt"
	"slices"
	"time"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// Acquisition is one answer to a call that acquires events.
type Acquisition struct {
	Claimant          string
	Claims            []idem.Event // as they were granted
	Invoked, Returned time.Duration
	ReturnedAt        idem.Instant
}

func (d *driver) acquisition(c *Call, claimant string, got []storage.Acquired) {
	a := Acquisition{Claimant: claimant, Invoked: c.Invoked, Returned: c.Returned, ReturnedAt: c.ReturnedAt}
	for _, g := range got {
		if answer, ok := g.Result.Answer.(*idem.ClaimAnswer); ok {
			a.Claims = append(a.Claims, *answer.Event)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.h.Acquired = append(d.h.Acquired, a)
}

// forgotten says which acquisition, called again, was given nothing, though all that it had
// been granted stands. What became of a claim is in the journal. One that is given something
// else may have been refused the rest for a while, which it is not told of.
func forgotten(h *History) string {
	for i := range h.Acquired {
		a := &h.Acquired[i]
		for j := range h.Acquired {
			b := &h.Acquired[j]
			if b.Claimant == a.Claimant && b.Invoked >= a.Returned && len(a.Claims) > 0 && len(b.Claims) == 0 && a.stands(h, b.ReturnedAt) {
				return fmt.Sprintf("%s was granted %s at fence %d, and was given nothing when it asked again", a.Claimant, a.Claims[0].Key.EventID, a.Claims[0].Fence)
			}
		}
	}
	return ""
}

// stands reports whether all that was granted is surely alive at an instant: nothing has been
// written to it but by its owner coming again, no test has ended its lease, and it runs.
func (a *Acquisition) stands(h *History, until idem.Instant) bool {
	until = until.Add(grain)
	return !slices.ContainsFunc(a.Claims, func(e idem.Event) bool {
		again := int64(e.Reentries)
		for _, r := range h.Journal {
			switch {
			case r.ID != e.ID() || r.Seq <= e.Version || r.At > until:
			case r.Kind == idem.EntryReentered:
				again++
			default:
				return true
			}
		}
		moved := slices.ContainsFunc(h.Leases, func(l Lease) bool { return l.ID == e.ID() && l.Version >= e.Version && l.At <= until })
		return moved || e.LeaseUntil <= until || again >= idem.MaxReentries
	})
}
