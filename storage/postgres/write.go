package postgres

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// place makes the empty records that the trip's writes will lock.
func (t *trip) place(b *pgx.Batch) {
	var r placeCols
	var f placeEffectCols
	var srcs []sourceKey
	for _, it := range t.others {
		for _, w := range it.dec.Resources {
			if w.Old.Version == 0 {
				r.add(w.New.Key)
			}
		}
		for _, w := range it.dec.Effects {
			if w.Old.Version == 0 {
				f.add(w.New.Key)
			}
		}
	}
	for _, list := range [][]*item{t.firsts, t.steps, t.others, t.reads} {
		for _, it := range list {
			if c, ok := it.cmd.(*idem.Claim); ok && genuine(c) && !t.s.sources.verified(c.Key) {
				srcs = append(srcs, sourceKey{c.Key.Namespace, c.Key.Source})
			}
		}
	}
	t.verified = srcs
	if len(srcs) > 0 {
		ns, src := make([]string, len(srcs)), make([]string, len(srcs))
		for i, k := range srcs {
			ns[i], src[i] = k.namespace, k.source
		}
		b.Queue(sqlSources, ns, src).Exec(nothing)
	}
	if len(r.id) > 0 {
		b.Queue(sqlPlace, r.args()...).Exec(nothing)
	}
	if len(f.id) > 0 {
		b.Queue(sqlPlaceEffects, f.args()...).Exec(nothing)
	}
}

func (t *trip) writeFirsts(b *pgx.Batch) {
	if len(t.firsts) == 0 {
		return
	}
	var c firstCols
	for _, it := range t.firsts {
		c.add(it.subject(), it.dec)
	}
	t.won = make(map[idem.ID]grantRow, len(t.firsts))
	b.Queue(sqlFirst, c.args()...).Query(func(rows pgx.Rows) error {
		return t.scanFirsts(rows)
	})
}

// scanFirsts reads what became of first claims: a grant, or the record that is there.
func (t *trip) scanFirsts(rows pgx.Rows) error {
	defer rows.Close()
	t.known = map[idem.ID]*idem.Event{}
	for rows.Next() {
		var id [16]byte
		var fence *int64
		var at *time.Time
		switch raw := rows.RawValues(); {
		case raw[1] != nil:
			if err := rows.Scan(append([]any{&id, &fence, &at}, make([]any, eventWidth)...)...); err != nil {
				return err
			}
			t.won[id] = grantRow{ok: true, fence: *fence, at: idem.InstantOf(*at)}
		case raw[3] != nil:
			e, err := scanEvent(rows, t.ep, &id, nil, nil)
			switch {
			case err == nil:
				t.known[id] = e
			case e != nil:
				t.spoil(id, err)
			default:
				return err
			}
		}
	}
	return rows.Err()
}

func (t *trip) writeSteps(b *pgx.Batch) {
	if len(t.steps) == 0 {
		return
	}
	var c stepCols
	for _, it := range t.steps {
		c.add(it.dec)
	}
	t.went = make(map[idem.ID]grantRow, len(t.steps))
	b.Queue(sqlStep, c.args()...).Query(func(rows pgx.Rows) error {
		var id [16]byte
		var g grantRow
		var at time.Time
		var until *time.Time
		_, err := pgx.ForEachRow(rows, []any{&id, &g.fence, &at, &until}, func() error {
			g.ok, g.at, g.extended = true, idem.InstantOf(at), instant(until)
			t.went[id] = g
			return nil
		})
		return err
	})
}

func (t *trip) writeOthers(b *pgx.Batch) {
	if len(t.others) == 0 {
		return
	}
	var c applyCols
	for _, it := range t.others {
		c.add(it.dec)
	}
	t.wrote = make([]grantRow, len(t.others))
	b.Queue(sqlApply, c.args()...).Query(func(rows pgx.Rows) error {
		var cmd, whole int32
		var g grantRow
		var at time.Time
		var extended *time.Time
		_, err := pgx.ForEachRow(rows, []any{&cmd, &g.fence, &at, &whole, &extended}, func() error {
			if cmd < 1 || int(cmd) > len(t.wrote) {
				return fmt.Errorf("postgres: a write answered for command %d of %d", cmd, len(t.wrote))
			}
			g.ok, g.at, g.extended = true, idem.InstantOf(at), instant(extended)
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
		if !ok {
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
			c, ok := it.cmd.(*idem.Claim)
			if !ok || len(c.Payload) == 0 || it.dec.Event == nil || it.dec.Event.Old != nil {
				continue
			}
			key := it.subject()
			bucket = append(bucket, key.Bucket())
			id = append(id, key)
			ref = append(ref, c.Key.EventRef.ID())
			hash = append(hash, c.Facts.PayloadHash)
			payload = append(payload, c.Payload)
		}
	}
	if len(id) > 0 {
		b.Queue(sqlPayload, bucket, id, ref, hash, payload).Exec(nothing)
	}
}
