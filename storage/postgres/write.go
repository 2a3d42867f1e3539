package postgres

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// place makes the empty records of resources that the trip's writes will lock.
func (t *trip) place(b *pgx.Batch) {
	var r placeCols
	for _, it := range t.others {
		for _, w := range it.dec.Resources {
			if w.Old.Version == 0 {
				r.add(w.New.Key)
			}
		}
	}
	if len(r.id) > 0 {
		b.Queue(sqlPlace, r.args()...).Exec(nothing)
	}
}

func (t *trip) writeFirsts(b *pgx.Batch) {
	if len(t.firsts) == 0 {
		return
	}
	// All who insert do it in the order of the keys, so that none waits for another in a
	// circle.
	slices.SortFunc(t.firsts, func(x, y *item) int { return bytes.Compare(x.id[:], y.id[:]) })
	c := firstCols{body: newBlock()}
	for _, it := range t.firsts {
		c.add(it.subject(), it.dec)
	}
	t.won = make(map[idem.ID]grantRow, len(t.firsts))
	b.Queue(sqlFirst, c.args()...).Query(func(rows pgx.Rows) error {
		return t.scanGrants(rows, t.won, false)
	})
}

func (t *trip) writeSteps(b *pgx.Batch) {
	if len(t.steps) == 0 {
		return
	}
	c := stepCols{body: newBlock()}
	for _, it := range t.steps {
		c.add(it.dec)
	}
	t.went = make(map[idem.ID]grantRow, len(t.steps))
	b.Queue(sqlStep, c.args()...).Query(func(rows pgx.Rows) error {
		return t.scanGrants(rows, t.went, true)
	})
}

// scanGrants reads what was written, by event record.
func (t *trip) scanGrants(rows pgx.Rows, into map[idem.ID]grantRow, leases bool) error {
	var id [16]byte
	var g grantRow
	var at time.Time
	var until *time.Time
	to := []any{&id, &g.fence, &at, &until, &g.xid}
	if !leases {
		to = slices.Delete(to, 3, 4)
	}
	_, err := pgx.ForEachRow(rows, to, func() error {
		g.ok, g.at, g.extended = true, idem.InstantOf(at), instant(until)
		t.now = max(t.now, g.at)
		into[id] = g
		return nil
	})
	return err
}

func (t *trip) writeOthers(b *pgx.Batch) {
	if len(t.others) == 0 {
		return
	}
	c := applyCols{body: newBlock()}
	for _, it := range t.others {
		c.add(it.dec)
	}
	t.wrote = make([]grantRow, len(t.others))
	sql, args := c.form()
	b.Queue(sql, args...).Query(func(rows pgx.Rows) error {
		var cmd int64
		var whole int32
		var g grantRow
		var at time.Time
		var extended *time.Time
		_, err := pgx.ForEachRow(rows, []any{&cmd, &g.fence, &at, &g.xid, &whole, &extended}, func() error {
			if cmd < 1 || int(cmd) > len(t.wrote) {
				return fmt.Errorf("postgres: a write answered for command %d of %d", cmd, len(t.wrote))
			}
			g.ok, g.at, g.extended = true, idem.InstantOf(at), instant(extended)
			t.now = max(t.now, g.at)
			t.wrote[cmd-1] = g
			return nil
		})
		return err
	})
}

// grants records the deliveries that were granted though they were not the first: they
// are part of their grant.
func (t *trip) grants(b *pgx.Batch) {
	var bucket []int16
	var event, nonce, identity [][16]byte
	var detail [][]byte
	for _, it := range t.others {
		c, ok := it.cmd.(*idem.Claim)
		if !ok || !c.Acquisition.IsZero() {
			continue
		}
		a, ok := it.dec.Answer.(*idem.ClaimAnswer)
		if !ok || !a.Granted || a.Fresh {
			continue
		}
		d := storage.DeliveryOf(c, a)
		bucket = append(bucket, d.Event.Bucket())
		event = append(event, d.Event)
		nonce = append(nonce, c.Nonce)
		identity = append(identity, d.Identity)
		detail = append(detail, encodeDelivery(&d))
	}
	if len(event) > 0 {
		b.Queue(sqlGranted, bucket, event, nonce, identity, detail).Exec(nothing)
	}
}

func (t *trip) payloads(b *pgx.Batch) {
	var bucket []int16
	var id, ref [][16]byte
	var hash, payload [][]byte
	for _, list := range [][]*item{t.firsts, t.others} {
		for _, it := range list {
			a, ok := idem.ArrivalOf(it.cmd)
			if !ok || len(a.Payload) == 0 || it.dec.Event == nil || it.dec.Event.Old != nil {
				continue
			}
			key := it.subject()
			bucket = append(bucket, key.Bucket())
			id = append(id, key)
			ref = append(ref, a.Key.EventRef.ID())
			hash = append(hash, a.Facts.PayloadHash)
			payload = append(payload, a.Payload)
		}
	}
	if len(id) > 0 {
		b.Queue(sqlPayload, bucket, id, ref, hash, payload).Exec(nothing)
	}
}
