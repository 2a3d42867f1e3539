package postgres

import (
	"encoding/hex"
	"strings"
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// The statements take their rows as one array for each column. The types below gather
// rows; args gives the arrays in the statement's order.

func nullID(id idem.ID) *[16]byte {
	if id.IsZero() {
		return nil
	}
	u := [16]byte(id)
	return &u
}

func nullText(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func nullTime(i idem.Instant) *time.Time {
	if i == 0 {
		return nil
	}
	t := i.Time()
	return &t
}

// lanesText lists the resources that a record has reserved, for joins in SQL.
func lanesText(lanes []idem.Lane) *string {
	if len(lanes) == 0 {
		return nil
	}
	parts := make([]string, len(lanes))
	for i, l := range lanes {
		parts[i] = hex.EncodeToString(l.Resource[:])
	}
	s := strings.Join(parts, ",")
	return &s
}

// firstCols are the rows of first.sql.
type firstCols struct {
	id                                   [][16]byte
	namespace, consumer, source, eventID []string
	facts                                [][]byte
	nonce                                [][16]byte
	lease                                []int64
	detail                               [][]byte
	body                                 block
}

func (c *firstCols) add(id idem.ID, d *idem.Decision) {
	e := d.Event.New
	c.id = append(c.id, id)
	c.namespace = append(c.namespace, e.Key.Namespace)
	c.consumer = append(c.consumer, e.Key.Consumer)
	c.source = append(c.source, e.Key.Source)
	c.eventID = append(c.eventID, e.Key.EventID)
	c.facts = append(c.facts, encodeFacts(&e.Facts))
	c.nonce = append(c.nonce, e.Nonce)
	c.lease = append(c.lease, e.Lease.Microseconds())
	c.detail = append(c.detail, encodeDetail(e))
	c.body.add(d)
}

func (c *firstCols) args() []any {
	return []any{c.id, c.namespace, c.consumer, c.source, c.eventID, c.facts, c.nonce, c.lease, c.detail, c.body.out()}
}

// stepCols are the rows of step.sql.
type stepCols struct {
	id      [][16]byte
	nonce   []*[16]byte
	detail  [][]byte
	result  [][]byte
	lanes   []*string
	numbers []int64
	body    block
}

func (c *stepCols) add(d *idem.Decision) {
	w := d.Event
	e := w.New
	result, set := newResult(w)
	c.id = append(c.id, e.ID())
	c.nonce = append(c.nonce, nullID(e.Nonce))
	c.detail = append(c.detail, encodeDetail(e))
	c.result = append(c.result, result)
	c.lanes = append(c.lanes, lanesText(e.Lanes))
	c.numbers = append(c.numbers, w.Old.Version, guardOf(w), w.Rises, flag(set, 1)|flag(e.ByExpiry, 2), int64(e.State), int64(e.Total),
		int64(e.Effects), e.Lease.Microseconds(), w.Lease.Code(), w.Ended.Code(), w.Due.Code(), w.WaitingSince.Code(), w.NotYetSince.Code(),
		int64(w.ExtendCap))
	c.body.add(d)
}

func (c *stepCols) args() []any {
	return []any{c.id, c.nonce, c.detail, c.result, c.lanes, c.numbers, c.body.out()}
}

// guardOf is the condition on the lease at the moment of writing: 0 none, 1 alive, 2 over.
func guardOf(w *idem.EventWrite) int64 {
	switch {
	case w.Live:
		return 1
	case w.Over:
		return 2
	default:
		return 0
	}
}

// placeCols are the rows of place.sql.
type placeCols struct {
	bucket                         []int16
	id                             [][16]byte
	namespace, consumer, typ, name []string
}

func (c *placeCols) add(k idem.ResourceKey) {
	id := k.ID()
	c.bucket = append(c.bucket, id.Bucket())
	c.id = append(c.id, id)
	c.namespace = append(c.namespace, k.Namespace)
	c.consumer = append(c.consumer, k.Consumer)
	c.typ = append(c.typ, k.Type)
	c.name = append(c.name, k.Name)
}

func (c *placeCols) args() []any {
	return []any{c.bucket, c.id, c.namespace, c.consumer, c.typ, c.name}
}
