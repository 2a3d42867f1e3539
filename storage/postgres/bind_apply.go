package postgres

import (
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// applyCols are the rows of apply.sql.
type applyCols struct {
	cmd, need []int32
	draw      []bool
	ue        updateCols
	ie        insertCols
	ur        resourceCols
	uf        effectCols
	at        attemptCols
	mm        memberCols
	jj        journalCols
}

func (c *applyCols) args() []any {
	out := make([]any, 0, 104)
	out = append(out, c.cmd, c.need, c.draw)
	out = append(out, c.ue.args()...)
	out = append(out, c.ie.args()...)
	out = append(out, c.ur.args()...)
	out = append(out, c.uf.args()...)
	out = append(out, c.at.args()...)
	out = append(out, c.mm.args()...)
	return append(out, c.jj.args()...)
}

// add gathers the writes of one decision as the next command.
func (c *applyCols) add(d *idem.Decision) {
	cmd := int32(len(c.cmd)) + 1 //nolint:gosec // a batch is small
	var need int32
	for _, w := range d.Owners {
		c.ue.add(cmd, w)
		need++
	}
	if w := d.Event; w != nil {
		if w.Old != nil {
			c.ue.add(cmd, w)
			need++
		} else {
			c.ie.add(cmd, w)
		}
	}
	for _, w := range d.Resources {
		c.ur.add(cmd, w)
		need++
	}
	for _, w := range d.Effects {
		c.uf.add(cmd, w)
		need++
	}
	for i := range d.Attempts {
		c.at.add(cmd, &d.Attempts[i])
	}
	if d.Member != nil {
		c.mm.add(cmd, d.Member)
	}
	for i := range d.Entries {
		c.jj.add(cmd, &d.Entries[i], d)
	}
	c.cmd = append(c.cmd, cmd)
	c.need = append(c.need, need)
	c.draw = append(c.draw, d.Draws())
}

type updateCols struct {
	cmd                                         []int32
	bucket                                      []int16
	id                                          [][16]byte
	old                                         []int64
	guard                                       []int16
	rises                                       []int64
	draw                                        []bool
	state                                       []int16
	byExpiry                                    []bool
	nonce                                       []*[16]byte
	total, effects                              []int32
	lanes                                       []*string
	leaseUS                                     []int64
	lease, granted, ended, due, waiting, notYet []int64
	detail                                      [][]byte
	setResult                                   []bool
	result                                      [][]byte
	cap                                         []int64
}

func (c *updateCols) add(cmd int32, w *idem.EventWrite) {
	e := w.New
	id := e.ID()
	c.cmd = append(c.cmd, cmd)
	c.bucket = append(c.bucket, id.Bucket())
	c.id = append(c.id, id)
	c.old = append(c.old, w.Old.Version)
	c.guard = append(c.guard, int16(guardOf(w))) //nolint:gosec // 0 to 2
	c.rises = append(c.rises, w.Rises)
	c.draw = append(c.draw, w.Draw)
	c.state = append(c.state, int16(e.State))
	c.byExpiry = append(c.byExpiry, e.ByExpiry)
	c.nonce = append(c.nonce, nullID(e.Nonce))
	c.total = append(c.total, e.Total)
	c.effects = append(c.effects, e.Effects)
	c.lanes = append(c.lanes, lanesText(e.Lanes))
	c.leaseUS = append(c.leaseUS, e.Lease.Microseconds())
	c.lease = append(c.lease, w.Lease.Code())
	c.granted = append(c.granted, w.Granted.Code())
	c.ended = append(c.ended, w.Ended.Code())
	c.due = append(c.due, w.Due.Code())
	c.waiting = append(c.waiting, w.WaitingSince.Code())
	c.notYet = append(c.notYet, w.NotYetSince.Code())
	c.detail = append(c.detail, encodeDetail(e))
	set := !sameBytes(e.Result, w.Old.Result)
	c.setResult = append(c.setResult, set)
	if set {
		c.result = append(c.result, e.Result)
	} else {
		c.result = append(c.result, nil)
	}
	c.cap = append(c.cap, int64(w.ExtendCap))
}

// sameBytes reports whether two values are the same one, so that an unchanged result is
// not written again.
func sameBytes(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b) && (a == nil) == (b == nil)
	}
	return len(a) == len(b) && &a[0] == &b[0]
}

func (c *updateCols) args() []any {
	return []any{c.cmd, c.bucket, c.id, c.old, c.guard, c.rises, c.draw, c.state, c.byExpiry, c.nonce, c.total, c.effects, c.lanes, c.leaseUS,
		c.lease, c.granted, c.ended, c.due, c.waiting, c.notYet, c.detail, c.setResult, c.result, c.cap}
}

type insertCols struct {
	cmd                                  []int32
	bucket                               []int16
	id                                   [][16]byte
	namespace, consumer, source, eventID []string
	facts                                [][]byte
	version                              []int64
	draw                                 []bool
	state                                []int16
	nonce                                []*[16]byte
	total, effects                       []int32
	lanes                                []*string
	leaseUS, lease, granted, waiting     []int64
	detail                               [][]byte
}

func (c *insertCols) add(cmd int32, w *idem.EventWrite) {
	e := w.New
	id := e.ID()
	c.cmd = append(c.cmd, cmd)
	c.bucket = append(c.bucket, id.Bucket())
	c.id = append(c.id, id)
	c.namespace = append(c.namespace, e.Key.Namespace)
	c.consumer = append(c.consumer, e.Key.Consumer)
	c.source = append(c.source, e.Key.Source)
	c.eventID = append(c.eventID, e.Key.EventID)
	c.facts = append(c.facts, encodeFacts(&e.Facts))
	c.version = append(c.version, w.Rises)
	c.draw = append(c.draw, w.Draw)
	c.state = append(c.state, int16(e.State))
	c.nonce = append(c.nonce, nullID(e.Nonce))
	c.total = append(c.total, e.Total)
	c.effects = append(c.effects, e.Effects)
	c.lanes = append(c.lanes, lanesText(e.Lanes))
	c.leaseUS = append(c.leaseUS, e.Lease.Microseconds())
	c.lease = append(c.lease, w.Lease.Code())
	c.granted = append(c.granted, w.Granted.Code())
	c.waiting = append(c.waiting, w.WaitingSince.Code())
	c.detail = append(c.detail, encodeDetail(e))
}

func (c *insertCols) args() []any {
	return []any{c.cmd, c.bucket, c.id, c.namespace, c.consumer, c.source, c.eventID, c.facts, c.version, c.draw, c.state, c.nonce, c.total,
		c.effects, c.lanes, c.leaseUS, c.lease, c.granted, c.waiting, c.detail}
}

type resourceCols struct {
	cmd                 []int32
	bucket              []int16
	id                  [][16]byte
	old                 []int64
	kind, mode          []int16
	owned, applied      []bool
	epoch, value, start []int64
	owner               []*[16]byte
	ownerFence          []int64
	lane, ownFence      []bool
	appliedBy           []*[16]byte
	gap                 []int64
	machine, state      []*string
	print               [][]byte
}

func (c *resourceCols) add(cmd int32, w *idem.ResourceWrite) {
	r := w.New
	id := r.Key.ID()
	c.cmd = append(c.cmd, cmd)
	c.bucket = append(c.bucket, id.Bucket())
	c.id = append(c.id, id)
	c.old = append(c.old, w.Old.Version)
	c.kind = append(c.kind, int16(r.Kind))
	c.mode = append(c.mode, int16(r.Mode))
	c.owned = append(c.owned, r.Owned)
	c.applied = append(c.applied, r.Applied)
	c.epoch = append(c.epoch, r.Epoch)
	c.value = append(c.value, r.Value)
	c.start = append(c.start, r.Start)
	c.owner = append(c.owner, nullID(r.Owner))
	c.ownerFence = append(c.ownerFence, r.OwnerFence)
	c.lane = append(c.lane, w.Lane)
	c.ownFence = append(c.ownFence, w.OwnFence)
	c.appliedBy = append(c.appliedBy, nullID(r.AppliedBy))
	c.gap = append(c.gap, w.GapSince.Code())
	c.machine = append(c.machine, nullText(r.Machine))
	c.state = append(c.state, nullText(r.State))
	c.print = append(c.print, r.Print)
}

func (c *resourceCols) args() []any {
	return []any{c.cmd, c.bucket, c.id, c.old, c.kind, c.mode, c.owned, c.applied, c.epoch, c.value, c.start, c.owner, c.ownerFence, c.lane,
		c.ownFence, c.appliedBy, c.gap, c.machine, c.state, c.print}
}

type effectCols struct {
	cmd          []int32
	bucket       []int16
	id           [][16]byte
	old          []int64
	state        []int16
	event        []*[16]byte
	fence, lease []int64
	bytes        []int32
	detail       [][]byte
	result       [][]byte
}

func (c *effectCols) add(cmd int32, w *idem.EffectWrite) {
	f := w.New
	id := f.ID()
	c.cmd = append(c.cmd, cmd)
	c.bucket = append(c.bucket, id.Bucket())
	c.id = append(c.id, id)
	c.old = append(c.old, w.Old.Version)
	c.state = append(c.state, int16(f.State))
	c.event = append(c.event, nullID(f.Event))
	c.fence = append(c.fence, f.Fence)
	c.lease = append(c.lease, w.Lease.Code())
	c.bytes = append(c.bytes, f.Bytes)
	c.detail = append(c.detail, encodeEffect(f))
	c.result = append(c.result, f.Result)
}

func (c *effectCols) args() []any {
	return []any{c.cmd, c.bucket, c.id, c.old, c.state, c.event, c.fence, c.lease, c.bytes, c.detail, c.result}
}

type attemptCols struct {
	cmd                 []int32
	bucket              []int16
	event               [][16]byte
	fence               []int64
	nonce               [][16]byte
	granted, ended, due []*time.Time
	detail              [][]byte
}

func (c *attemptCols) add(cmd int32, a *idem.Attempt) {
	c.cmd = append(c.cmd, cmd)
	c.bucket = append(c.bucket, a.Event.Bucket())
	c.event = append(c.event, a.Event)
	c.fence = append(c.fence, a.Fence)
	c.nonce = append(c.nonce, a.Nonce)
	c.granted = append(c.granted, nullTime(a.GrantedAt))
	c.ended = append(c.ended, nullTime(a.EndedAt))
	c.due = append(c.due, nullTime(a.DueAt))
	c.detail = append(c.detail, encodeAttempt(a))
}

func (c *attemptCols) args() []any {
	return []any{c.cmd, c.bucket, c.event, c.fence, c.nonce, c.granted, c.ended, c.due, c.detail}
}

type memberCols struct {
	cmd          []int32
	bucket       []int16
	resource     [][16]byte
	epoch, value []int64
	eventBucket  []int16
	event        [][16]byte
}

func (c *memberCols) add(cmd int32, m *idem.Member) {
	c.cmd = append(c.cmd, cmd)
	c.bucket = append(c.bucket, m.Resource.Bucket())
	c.resource = append(c.resource, m.Resource)
	c.epoch = append(c.epoch, m.Epoch)
	c.value = append(c.value, m.Value)
	c.eventBucket = append(c.eventBucket, m.Event.Bucket())
	c.event = append(c.event, m.Event)
}

func (c *memberCols) args() []any {
	return []any{c.cmd, c.bucket, c.resource, c.epoch, c.value, c.eventBucket, c.event}
}

type journalCols struct {
	cmd                  []int32
	id                   [][16]byte
	seq                  []int64
	policy               []int32
	subject, kind, state []int16
	terms                []string
	body                 [][]byte
	due                  []int64
}

func (c *journalCols) add(cmd int32, n *idem.Entry, d *idem.Decision) {
	c.cmd = append(c.cmd, cmd)
	c.id = append(c.id, n.ID)
	c.seq = append(c.seq, n.Seq)
	c.policy = append(c.policy, n.Policy)
	c.subject = append(c.subject, int16(n.Subject))
	c.kind = append(c.kind, int16(n.Kind))
	c.state = append(c.state, int16(n.To))
	c.terms = append(c.terms, terms(n, d))
	c.body = append(c.body, encodeEntry(n, d))
	c.due = append(c.due, dueOf(n, d))
}

// dueOf is when the subject of an entry needs somebody next: the end of its lease, or
// the moment when it may be claimed again; in the code of [idem.When], -2 for never.
func dueOf(n *idem.Entry, d *idem.Decision) int64 {
	w := d.Event
	for _, o := range d.Owners {
		if o.New.ID() == n.ID {
			w = o
		}
	}
	if w == nil || n.Subject != idem.OnEvent {
		return -2
	}
	when, old := w.Due, w.New.DueAt
	switch n.To {
	case idem.Processing:
		when, old = w.Lease, w.New.LeaseUntil
	case idem.FailedRetryable, idem.Received:
	default:
		return -2
	}
	switch code := when.Code(); {
	case code != -1 && code != -2:
		return code
	case code == -1 && old != 0:
		return -int64(old)
	default:
		return 0
	}
}

func (c *journalCols) args() []any {
	return []any{c.cmd, c.id, c.seq, c.policy, c.subject, c.kind, c.state, c.terms, c.body, c.due}
}
