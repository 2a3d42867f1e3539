package postgres

import (
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// applyCols are the rows of apply.sql, gathered by part.
type applyCols struct {
	parts parts
	lead  []*[16]byte
	cmds  []int64
	body  block
	ue    updateCols
	ie    insertCols
	ur    resourceCols
	uf    effectCols
	aa    attemptCols
	mm    memberCols
	nf    newEffectCols
}

// form is the statement, and its arguments.
func (c *applyCols) form() (sql string, args []any) {
	values := map[string]any{"lead": c.lead, "cmds": c.cmds, "body": c.body.out()}
	if c.parts&partUpdate != 0 {
		c.ue.values(values)
	}
	if c.parts&partInsert != 0 {
		c.ie.values(values)
	}
	if c.parts&partResource != 0 {
		c.ur.values(values)
	}
	if c.parts&partEffect != 0 {
		c.uf.values(values)
	}
	if c.parts&partAttempt != 0 {
		c.aa.values(values)
	}
	if c.parts&partMember != 0 {
		c.mm.values(values)
	}
	if c.parts&partNewEffect != 0 {
		c.nf.values(values)
	}
	f := applyForm(c.parts)
	for _, name := range f.params {
		args = append(args, values[name])
	}
	return f.sql, args
}

// add gathers the writes of one decision as the next command.
func (c *applyCols) add(d *idem.Decision) {
	cmd := int64(len(c.lead)) + 1
	var need int64
	for _, w := range d.Owners {
		c.update(cmd, w)
		need++
	}
	if w := d.Event; w != nil {
		if w.Old != nil {
			c.update(cmd, w)
			need++
		} else {
			c.parts |= partInsert
			c.ie.add(cmd, w)
		}
	}
	for _, w := range d.Resources {
		c.parts |= partResource
		c.ur.add(cmd, w)
		need++
	}
	for _, w := range d.Effects {
		if w.Old.Version == 0 {
			c.parts |= partNewEffect
			c.nf.add(cmd, w)
			continue
		}
		c.parts |= partEffect
		c.uf.add(cmd, w)
		need++
	}
	for i := range d.Attempts {
		c.parts |= partAttempt
		c.aa.add(cmd, &d.Attempts[i])
	}
	if d.Member != nil {
		c.parts |= partMember
		c.mm.add(cmd, d.Member)
	}
	c.lead = append(c.lead, nullID(c.body.add(d)))
	var fence int64
	if d.Event != nil {
		fence = d.Event.New.Fence
	}
	c.cmds = append(c.cmds, need, flag(d.Draws(), 1), fence)
}

func (c *applyCols) update(cmd int64, w *idem.EventWrite) {
	c.parts |= partUpdate
	c.ue.add(cmd, w)
}

func flag(set bool, bit int64) int64 {
	if set {
		return bit
	}
	return 0
}

type updateCols struct {
	id      [][16]byte
	nonce   []*[16]byte
	detail  [][]byte
	result  [][]byte
	lanes   []*string
	numbers []int64
}

func (c *updateCols) add(cmd int64, w *idem.EventWrite) {
	e := w.New
	result, set := newResult(w)
	c.id = append(c.id, e.ID())
	c.nonce = append(c.nonce, nullID(e.Nonce))
	c.detail = append(c.detail, encodeDetail(e))
	c.result = append(c.result, result)
	c.lanes = append(c.lanes, lanesText(e.Lanes))
	c.numbers = append(c.numbers, cmd, w.Old.Version, guardOf(w), w.Rises, flag(set, 1)|flag(e.ByExpiry, 2)|flag(w.Draw, 4),
		int64(e.State), int64(e.Total), int64(e.Effects), e.Lease.Microseconds(), w.Lease.Code(), w.Granted.Code(), w.Ended.Code(), w.Due.Code(),
		w.WaitingSince.Code(), w.NotYetSince.Code(), int64(w.ExtendCap))
}

func (c *updateCols) values(v map[string]any) {
	v["ue"], v["ue_id"], v["ue_nonce"], v["ue_detail"], v["ue_result"], v["ue_lanes"] = c.numbers, c.id, c.nonce, c.detail, c.result, c.lanes
}

// newResult is the result to be written, if it is another one than is stored.
func newResult(w *idem.EventWrite) (result []byte, set bool) {
	if sameBytes(w.New.Result, w.Old.Result) {
		return nil, false
	}
	return w.New.Result, true
}

// sameBytes reports whether two values are the same one, so that an unchanged result is
// not written again.
func sameBytes(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b) && (a == nil) == (b == nil)
	}
	return len(a) == len(b) && &a[0] == &b[0]
}

type insertCols struct {
	id                                   [][16]byte
	namespace, consumer, source, eventID []string
	facts                                [][]byte
	nonce                                []*[16]byte
	lanes                                []*string
	detail                               [][]byte
	numbers                              []int64
}

func (c *insertCols) add(cmd int64, w *idem.EventWrite) {
	e := w.New
	c.id = append(c.id, e.ID())
	c.namespace = append(c.namespace, e.Key.Namespace)
	c.consumer = append(c.consumer, e.Key.Consumer)
	c.source = append(c.source, e.Key.Source)
	c.eventID = append(c.eventID, e.Key.EventID)
	c.facts = append(c.facts, encodeFacts(&e.Facts))
	c.nonce = append(c.nonce, nullID(e.Nonce))
	c.lanes = append(c.lanes, lanesText(e.Lanes))
	c.detail = append(c.detail, encodeDetail(e))
	c.numbers = append(c.numbers, cmd, w.Rises, flag(w.Draw, 1), int64(e.State), int64(e.Total), int64(e.Effects), e.Lease.Microseconds(),
		w.Lease.Code(), w.Granted.Code(), w.WaitingSince.Code())
}

func (c *insertCols) values(v map[string]any) {
	v["ie"], v["ie_id"], v["ie_namespace"], v["ie_consumer"], v["ie_source"] = c.numbers, c.id, c.namespace, c.consumer, c.source
	v["ie_event"], v["ie_facts"], v["ie_nonce"], v["ie_lanes"], v["ie_detail"] = c.eventID, c.facts, c.nonce, c.lanes, c.detail
}

type resourceCols struct {
	id             [][16]byte
	owner, by      []*[16]byte
	machine, state []*string
	print          [][]byte
	coveredBy      []*[16]byte
	numbers        []int64
}

func (c *resourceCols) add(cmd int64, w *idem.ResourceWrite) {
	r := w.New
	c.id = append(c.id, r.Key.ID())
	c.owner = append(c.owner, nullID(r.Owner))
	c.by = append(c.by, nullID(r.AppliedBy))
	c.machine = append(c.machine, nullText(r.Machine))
	c.state = append(c.state, nullText(r.State))
	c.print = append(c.print, r.Print)
	c.coveredBy = append(c.coveredBy, nullID(r.CoveredBy))
	c.numbers = append(c.numbers, cmd, w.Old.Version, int64(r.Kind), int64(r.Mode),
		flag(r.Owned, 1)|flag(r.Applied, 2)|flag(w.Lane, 4)|flag(w.OwnFence, 8),
		r.Epoch, r.Value, r.Start, r.OwnerFence, w.GapSince.Code(), r.Covered)
}

func (c *resourceCols) values(v map[string]any) {
	v["ur"], v["ur_id"], v["ur_owner"], v["ur_by"] = c.numbers, c.id, c.owner, c.by
	v["ur_machine"], v["ur_state"], v["ur_print"], v["ur_covered_by"] = c.machine, c.state, c.print, c.coveredBy
}

type effectCols struct {
	id      [][16]byte
	event   []*[16]byte
	detail  [][]byte
	result  [][]byte
	numbers []int64
}

func (c *effectCols) add(cmd int64, w *idem.EffectWrite) {
	f := w.New
	c.id = append(c.id, f.ID())
	c.event = append(c.event, nullID(f.Event))
	c.detail = append(c.detail, encodeEffect(f))
	c.result = append(c.result, f.Result)
	c.numbers = append(c.numbers, cmd, w.Old.Version, int64(f.State), f.Fence, w.Lease.Code(), int64(f.Bytes))
}

func (c *effectCols) values(v map[string]any) {
	v["uf"], v["uf_id"], v["uf_event"], v["uf_detail"], v["uf_result"] = c.numbers, c.id, c.event, c.detail, c.result
}

type newEffectCols struct {
	id                       [][16]byte
	namespace, consumer, key []string
	keyEvent, event          []*[16]byte
	detail, result           [][]byte
	numbers                  []int64
}

func (c *newEffectCols) add(cmd int64, w *idem.EffectWrite) {
	f := w.New
	c.id = append(c.id, f.ID())
	c.namespace = append(c.namespace, f.Key.Namespace)
	c.consumer = append(c.consumer, f.Key.Consumer)
	c.keyEvent = append(c.keyEvent, nullID(f.Key.Event))
	c.key = append(c.key, f.Key.Key)
	c.event = append(c.event, nullID(f.Event))
	c.detail = append(c.detail, encodeEffect(f))
	c.result = append(c.result, f.Result)
	c.numbers = append(c.numbers, cmd, int64(f.Key.Scope), int64(f.State), f.Fence, w.Lease.Code(), int64(f.Bytes))
}

func (c *newEffectCols) values(v map[string]any) {
	v["nf"], v["nf_id"], v["nf_namespace"], v["nf_consumer"], v["nf_key_event"] = c.numbers, c.id, c.namespace, c.consumer, c.keyEvent
	v["nf_key"], v["nf_event"], v["nf_detail"], v["nf_result"] = c.key, c.event, c.detail, c.result
}

type attemptCols struct {
	cmd                 []int64
	event               [][16]byte
	fence               []int64
	nonce               [][16]byte
	granted, ended, due []*time.Time
	detail              [][]byte
}

func (c *attemptCols) add(cmd int64, a *idem.Attempt) {
	c.cmd = append(c.cmd, cmd)
	c.event = append(c.event, a.Event)
	c.fence = append(c.fence, a.Fence)
	c.nonce = append(c.nonce, a.Nonce)
	c.granted = append(c.granted, nullTime(a.GrantedAt))
	c.ended = append(c.ended, nullTime(a.EndedAt))
	c.due = append(c.due, nullTime(a.DueAt))
	c.detail = append(c.detail, encodeAttempt(a))
}

func (c *attemptCols) values(v map[string]any) {
	v["aa_cmd"], v["aa_event"], v["aa_fence"], v["aa_nonce"] = c.cmd, c.event, c.fence, c.nonce
	v["aa_granted"], v["aa_ended"], v["aa_due"], v["aa_detail"] = c.granted, c.ended, c.due, c.detail
}

type memberCols struct {
	cmd             []int64
	resource, event [][16]byte
	epoch, value    []int64
}

func (c *memberCols) add(cmd int64, m *idem.Member) {
	c.cmd = append(c.cmd, cmd)
	c.resource = append(c.resource, m.Resource)
	c.epoch = append(c.epoch, m.Epoch)
	c.value = append(c.value, m.Value)
	c.event = append(c.event, m.Event)
}

func (c *memberCols) values(v map[string]any) {
	v["mm_cmd"], v["mm_resource"], v["mm_epoch"], v["mm_value"], v["mm_event"] = c.cmd, c.resource, c.epoch, c.value, c.event
}
