package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/idemsvc/idemsvc/idem"
)

// rememberedSeries is the guess for the resource that a receipt names. It asks only what the
// series is, which never changes once it is fixed: a record that this replica remembers is as
// good as the stored one.
func (s *Store) rememberedSeries(it *item) *idem.Resource {
	r, ok := s.resources.get(it.order.Resource.ID())
	if !ok || r.Mode == idem.NoMode {
		return nil
	}
	return r
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
