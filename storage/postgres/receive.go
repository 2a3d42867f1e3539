package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/idemsvc/idemsvc/idem"
)

// startReceipt guesses that nothing is known of the event. Of its resource it asks only what
// the series is, which never changes once it is fixed: a record that this replica remembers
// is as good as the stored one.
func (s *Store) startReceipt(it *item, c *idem.Receive) {
	_, known := s.events.get(it.id)
	it.blind = !known
	otherwise := needEvent
	if c.Ordering != nil {
		otherwise = needAll
	}
	if known || s.odds.high() {
		it.read = otherwise
		return
	}
	w := &idem.World{SeenVerified: s.sources.verified(c.Key)}
	if c.Ordering != nil {
		r, ok := s.resources.get(c.Ordering.Resource.ID())
		if !ok || r.Kind == idem.NoVersion {
			it.read = needAll
			return
		}
		w.Resources = map[idem.ID]*idem.Resource{r.Key.ID(): r}
	}
	s.guess(it, w, otherwise)
}

// rejected reports whether the answer is that a delivery is not genuine.
func rejected(a idem.Answer) bool {
	switch a := a.(type) {
	case *idem.ClaimAnswer:
		return a.Outcome == idem.OutcomeRejected
	case *idem.ReceiveAnswer:
		return a.Outcome == idem.ReceiveRejected
	default:
		return false
	}
}

// acquisitions records what calls of AcquireEvents are granted, so that a repeat of the call
// finds it.
func (t *trip) acquisitions(b *pgx.Batch) {
	var bucket []int16
	var event, nonce, acquisition [][16]byte
	for _, it := range t.others {
		c, ok := it.cmd.(*idem.Claim)
		if !ok || c.Acquisition.IsZero() {
			continue
		}
		if a, ok := it.dec.Answer.(*idem.ClaimAnswer); !ok || !a.Granted {
			continue
		}
		bucket = append(bucket, it.id.Bucket())
		event = append(event, it.id)
		nonce = append(nonce, c.Nonce)
		acquisition = append(acquisition, c.Acquisition)
	}
	if len(event) > 0 {
		b.Queue(sqlAcquired, bucket, event, nonce, acquisition).Exec(nothing)
	}
}
