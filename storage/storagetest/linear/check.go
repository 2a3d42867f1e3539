package linear

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/idemsvc/idemsvc/idem"
)

// Verdict is the judgement of a history.
type Verdict struct {
	OK   bool
	Open bool   // the search took too long: neither a pass nor a fault
	Why  string // the fault in a line
	Text string // all that happened, for people
	Page []byte // the part at fault as a page for a browser, made by porcupine
}

// slack is by how much an answer's moment may lie outside of its call: the two clocks are
// one, read with different grain.
const slack = 250 * time.Millisecond

// Check judges a history, and gives up a search that takes longer than the limit.
func Check(h *History, limit time.Duration) Verdict {
	for i := range h.Calls {
		c := &h.Calls[i]
		if c.Answer == nil {
			continue
		}
		if at := moment(c.Answer); at < c.InvokedAt.Add(-slack) || at > c.ReturnedAt.Add(slack) {
			const why = "the moment of an answer lies outside of its call"
			return Verdict{Why: why, Text: why + ": " + c.String()}
		}
	}
	if why := drawnTwice(h); why != "" {
		return Verdict{Why: "a fence was drawn twice", Text: why}
	}
	for _, p := range parts(h) {
		if v := p.check(limit); !v.OK {
			v.Text = h.Name + ": " + v.Text
			return v
		}
	}
	return Verdict{OK: true}
}

// drawnTwice: no two grants have one fence.
func drawnTwice(h *History) string {
	seen := map[int64]*Row{}
	for i := range h.Journal {
		r := &h.Journal[i]
		if r.Kind != idem.EntryClaimed {
			continue
		}
		if o := seen[r.Fence]; o != nil {
			return "a fence was drawn twice: " + o.String() + ", " + r.String()
		}
		seen[r.Fence] = r
	}
	return ""
}

// part is a part of a history that has nothing to do with the rest of it.
type part struct {
	h     *History
	calls []*Call
	moved []*Moved
	rows  []*Row
	ids   map[idem.ID]bool
}

// parts cuts a history into what belongs together: events that share a resource or an
// effect.
func parts(h *History) []*part {
	up := map[idem.ID]idem.ID{}
	var root func(id idem.ID) idem.ID
	root = func(id idem.ID) idem.ID {
		if p, ok := up[id]; ok && p != id {
			up[id] = root(p)
			return up[id]
		}
		up[id] = id
		return id
	}
	for i := range h.Calls {
		ids := recordsOf(h.Calls[i].Command)
		for _, id := range ids {
			up[root(id)] = root(ids[0])
		}
	}
	byRoot := map[idem.ID]*part{}
	of := func(id idem.ID) *part {
		r := root(id)
		if byRoot[r] == nil {
			byRoot[r] = &part{h: h, ids: map[idem.ID]bool{}}
		}
		byRoot[r].ids[id] = true
		return byRoot[r]
	}
	for i := range h.Calls {
		ids := recordsOf(h.Calls[i].Command)
		p := of(ids[0])
		for _, id := range ids {
			p.ids[id] = true
		}
		p.calls = append(p.calls, &h.Calls[i])
	}
	for i := range h.Moved {
		p := of(h.Moved[i].ID)
		p.moved = append(p.moved, &h.Moved[i])
	}
	for i := range h.Journal {
		p := of(h.Journal[i].ID)
		p.rows = append(p.rows, &h.Journal[i])
	}
	var list []*part
	for _, p := range byRoot {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b *part) int { return cmp.Compare(len(a.calls), len(b.calls)) })
	return list
}

// recordsOf are the records that a command is about.
func recordsOf(c idem.Command) (ids []idem.ID) {
	if id := c.Subject(); !id.IsZero() {
		ids = append(ids, id)
	}
	if o := idem.OrderingOf(c); o != nil {
		ids = append(ids, o.Resource.ID())
	}
	if id, ok := idem.EffectOf(c); ok {
		ids = append(ids, id)
	}
	return ids
}

func (p *part) check(limit time.Duration) Verdict {
	m := &model{policy: p.h.Policy, rows: map[rowKey]*Row{}}
	for _, r := range p.rows {
		k := rowKey{r.ID, r.Seq}
		if o := m.rows[k]; o != nil {
			const why = "two entries of the journal tell of one row version"
			return Verdict{Why: why, Text: why + ": " + o.String() + ", " + r.String()}
		}
		m.rows[k] = r
	}
	ops := p.operations(m)
	nm := porcupine.NondeterministicModel{
		Init: func() []any { return []any{newState()} },
		Step: func(s, in, _ any) []any {
			st, _ := s.(*state)
			var out []any
			for _, n := range m.step(st, in) {
				out = append(out, n)
			}
			return out
		},
		Equal: func(a, b any) bool {
			x, _ := a.(*state)
			y, _ := b.(*state)
			return x.equal(y)
		},
		Hash: func(s any) uint64 {
			st, _ := s.(*state)
			return st.sum()
		},
		DescribeOperation: func(in, _ any) string { return opText(in) },
		DescribeState:     func(s any) string { st, _ := s.(*state); return st.text() },
	}
	pm := nm.ToModel()
	switch porcupine.CheckOperationsTimeout(pm, ops, limit) {
	case porcupine.Ok:
		return Verdict{OK: true}
	case porcupine.Illegal:
		return p.verdict("no order of the calls explains their answers", pm, ops, m)
	default:
		return Verdict{Open: true, Text: fmt.Sprintf("not judged within %v:\n%s", limit, p.text())}
	}
}

// verdict says what is at fault, with porcupine's page.
func (p *part) verdict(why string, pm porcupine.Model, ops []porcupine.Operation, m *model) Verdict {
	_, info := porcupine.CheckOperationsVerbose(pm, ops, 10*time.Second)
	var page bytes.Buffer
	if err := porcupine.Visualize(pm, info, &page); err != nil {
		page.Reset()
	}
	var longest []porcupine.Operation
	for _, list := range info.PartialLinearizationsOperations() {
		for _, l := range list {
			if len(l) > len(longest) {
				longest = l
			}
		}
	}
	text, first := p.explain(longest, ops, m)
	return Verdict{Why: first, Text: why + text + "\nIt was:\n" + p.text(), Page: page.Bytes()}
}

func merge(states []*state) (out []*state) {
	for _, s := range states {
		if !slices.ContainsFunc(out, s.equal) {
			out = append(out, s)
		}
	}
	return out
}

// explain says how far the longest order goes, and why what could come next cannot; first
// is the first reason.
func (p *part) explain(order, ops []porcupine.Operation, m *model) (text, first string) {
	states := []*state{newState()}
	done := map[any]bool{}
	var b strings.Builder
	b.WriteString("; the longest that does:\n")
	for _, op := range order {
		var next []*state
		for _, s := range states {
			next = append(next, m.step(s, op.Input)...)
		}
		states = merge(next)
		done[op.Input] = true
		fmt.Fprintf(&b, "    %s\n", opText(op.Input))
	}
	b.WriteString("and then none of:\n")
	end := int64(math.MaxInt64) // what begins after the end of another that is missing cannot come yet
	for _, op := range ops {
		if !done[op.Input] {
			end = min(end, op.Return)
		}
	}
	for _, op := range ops {
		if done[op.Input] || op.Call > end {
			continue
		}
		m.why = ""
		for _, s := range states {
			m.step(s, op.Input)
		}
		fmt.Fprintf(&b, "    %s\n        because: %s\n", opText(op.Input), m.why)
		if first == "" && m.why != "" {
			first = kindOf(op.Input) + ": " + m.why
		}
	}
	for _, s := range states {
		fmt.Fprintf(&b, "in the state %s\n", s.text())
	}
	return b.String(), first
}

// kindOf is an operation in a word or two.
func kindOf(op any) string {
	x, ok := op.(opCall)
	if !ok {
		return "what is stored"
	}
	what := strings.TrimPrefix(fmt.Sprintf("%T", x.c.Command), "*idem.")
	switch a := x.c.Answer.(type) {
	case *idem.ClaimAnswer:
		what += " answered " + a.Outcome.String()
	case *idem.EndAnswer:
		what += " answered " + a.State.String()
	case *idem.CheckAnswer:
		what += " answered " + a.Verdict.String()
	case *idem.EffectAnswer:
		what += " answered " + a.Verdict.String()
	case nil:
		what += " answered " + string(x.c.Err.Code)
	}
	return what
}

// operations are what the search orders.
func (p *part) operations(m *model) (ops []porcupine.Operation) {
	end := time.Duration(math.MaxInt64)
	add := func(client int, op any, from, to time.Duration) {
		ops = append(ops, porcupine.Operation{ClientId: client, Input: op, Call: int64(from), Return: int64(to)})
	}
	hidden := 1000 // clients that are none
	for _, c := range p.calls {
		if c.Answer != nil || c.Err != nil {
			add(c.Client, opCall{c}, c.earliest(), c.Returned)
		}
		if c.unheard() {
			m.maybe = append(m.maybe, c)
		}
		if _, ok := c.Command.(*idem.Extend); ok && (c.Unknown != nil || c.Disturbed) {
			hidden++
			add(hidden, opHeartbeat{c}, c.Invoked, end)
		}
	}
	for _, mv := range p.moved {
		add(mv.Client, opMoved{mv}, mv.Invoked, mv.Returned)
	}
	for _, r := range p.rows {
		if !p.told(r) {
			hidden++
			add(hidden, opHidden{r}, min(p.earliestOf(r), p.seen(r, end)), p.seen(r, end))
		}
	}
	f := &opFinal{}
	for id := range p.ids {
		f.ids = append(f.ids, id)
	}
	for _, v := range p.h.Final {
		if p.ids[v.Event.ID()] {
			f.views = append(f.views, v)
		}
	}
	add(0, f, p.h.FinalInvoked, p.h.FinalReturned)
	return ops
}

// earliest is before when the call surely took no effect: what was only read was read
// after the answer's moment, and so were the records that the write itself tested. An
// answer that rests on others (who is in the way, what became of a side effect) may be
// older than its own write.
func (c *Call) earliest() time.Duration {
	tested := true
	switch a := c.Answer.(type) {
	case *idem.ClaimAnswer:
		ordered := a.Event != nil && a.Event.Ordering != nil
		read := a.Outcome == idem.OutcomeInProgress || a.Outcome == idem.OutcomeAlreadyProcessed
		tested = !c.Waits && len(a.Effects) == 0 && (!ordered || read)
	case *idem.EndAnswer:
		tested = a.Already || a.Event != nil && a.Event.Effects == 0
	case *idem.CheckAnswer:
		tested = a.Verdict != idem.VerdictApply
	case *idem.ExtendAnswer, *idem.EffectAnswer:
	default:
		tested = false
	}
	if !tested {
		return c.Invoked
	}
	return min(max(c.Invoked, c.clock(moment(c.Answer))), c.Returned)
}

// grain is by how much an instant of the database may seem earlier than it was.
const grain = 2 * time.Millisecond

// clock is when an instant was on the clock of the history.
func (c *Call) clock(at idem.Instant) time.Duration {
	return c.Invoked + at.Sub(c.InvokedAt) - grain
}

// earliestOf is before when an entry that no answer tells of was surely not made.
func (p *part) earliestOf(r *Row) time.Duration {
	switch r.Kind {
	case idem.EntryLateReport, idem.EntryExpired, idem.EntryReleased, idem.EntryReentered:
		return max(0, p.calls[0].clock(r.At))
	default:
	}
	from := time.Duration(math.MaxInt64)
	for _, c := range p.calls {
		if c.unheard() && c.during(r.At, lingers) {
			from = min(from, c.Invoked)
		}
	}
	if from == math.MaxInt64 {
		return 0
	}
	return from
}

// unheard reports whether the call may have done something, or once more, of which no
// answer tells. A claim that waited is decided anew until it is told.
func (c *Call) unheard() bool { return c.Unknown != nil || c.Disturbed || c.Waits }

// reports reports whether a refusal of the call may note it on a record.
func (c *Call) reports() bool {
	switch c.Command.(type) {
	case *idem.Complete, *idem.Fail, *idem.ReportEffect:
		return true
	default:
		return false
	}
}

// told reports whether an answer surely tells of the entry: one of the same moment, about
// the same record, or about another one that took over its lane; or the one refusal that
// can have noted it.
func (p *part) told(r *Row) bool {
	noted := r.Kind == idem.EntryLateReport || r.Kind == idem.EntryEffectConflict
	refused := false
	for _, c := range p.calls {
		about := slices.Contains(recordsOf(c.Command), r.ID)
		switch {
		case c.Answer != nil && moment(c.Answer) == r.At && (about || r.Kind == idem.EntryExpired && idem.OrderingOf(c.Command) != nil):
			return true
		case noted && about && c.unheard() && c.reports() && c.during(r.At, lingers):
			return false
		}
		refused = refused || about && c.Err != nil && c.during(r.At, slack)
	}
	return noted && refused
}

// seen is when somebody had surely seen what the entry tells of.
func (p *part) seen(r *Row, end time.Duration) time.Duration {
	for _, c := range p.calls {
		if c.Answer != nil && versionIn(c.Answer, r.ID) >= r.Seq {
			end = min(end, c.Returned)
		}
	}
	for i := range p.h.Final {
		if v := &p.h.Final[i]; v.Event.ID() == r.ID && v.Event.Version >= r.Seq {
			end = min(end, p.h.FinalReturned)
		}
	}
	return end
}

// versionIn is the row version of a record that an answer shows.
func versionIn(a idem.Answer, id idem.ID) int64 {
	var e *idem.Event
	switch a := a.(type) {
	case *idem.ClaimAnswer:
		e = a.Event
	case *idem.EndAnswer:
		e = a.Event
	case *idem.EffectAnswer:
		if a.Effect != nil && a.Effect.ID() == id {
			return a.Effect.Version
		}
	}
	if e != nil && e.ID() == id {
		return e.Version
	}
	return 0
}

func opText(op any) string {
	switch op := op.(type) {
	case opCall:
		return op.c.String()
	case opMoved:
		return op.m.String()
	case opHidden:
		return "unheard, " + op.r.String()
	case opHeartbeat:
		return "unheard " + name(op.c.Command)
	case *opFinal:
		return op.text()
	}
	return ""
}

func (f *opFinal) text() string {
	var b strings.Builder
	b.WriteString("stored in the end:")
	for i := range f.views {
		v := &f.views[i]
		fmt.Fprintf(&b, " %s %s;", v.Event.Key.EventID, record(v.Event))
		for _, r := range v.Resources {
			fmt.Fprintf(&b, " %s #%d v%d applied %v owned %v lane fence %d;", r.Key.Name, r.Version, r.Value, r.Applied, r.Owned, r.LaneFence)
		}
		for _, x := range v.Effects {
			fmt.Fprintf(&b, " %s #%d %v %q;", x.Key.Key, x.Version, x.State, x.Result)
		}
	}
	return b.String()
}

func (s *state) text() string {
	var b strings.Builder
	for _, e := range s.events {
		fmt.Fprintf(&b, "%s %s; ", e.Key.EventID, record(e))
	}
	for _, r := range s.resources {
		fmt.Fprintf(&b, "%s #%d v%d applied %v owned %v by %s lane fence %d; ", r.Key.Name, r.Version, r.Value, r.Applied, r.Owned, short(r.Owner), r.LaneFence)
	}
	for _, f := range s.effects {
		fmt.Fprintf(&b, "%s #%d %v %q; ", f.Key.Key, f.Version, f.State, f.Result)
	}
	return b.String()
}

// text lists all that happened in the part, in the order of its beginnings.
func (p *part) text() string {
	type line struct {
		at   time.Duration
		text string
	}
	var lines []line
	for _, c := range p.calls {
		lines = append(lines, line{c.Invoked, c.String()})
	}
	for _, m := range p.moved {
		lines = append(lines, line{m.Invoked, m.String()})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.at, b.at) })
	var b strings.Builder
	for _, l := range lines {
		b.WriteString("    " + l.text + "\n")
	}
	rows := slices.Clone(p.rows)
	slices.SortFunc(rows, func(a, b *Row) int { return cmp.Or(bytes.Compare(a.ID[:], b.ID[:]), cmp.Compare(a.Seq, b.Seq)) })
	for _, r := range rows {
		told := ""
		if !p.told(r) {
			told = " (no answer tells of it)"
		}
		b.WriteString("    " + r.String() + told + "\n")
	}
	f := &opFinal{}
	for _, v := range p.h.Final {
		if p.ids[v.Event.ID()] {
			f.views = append(f.views, v)
		}
	}
	b.WriteString("    " + f.text() + "\n")
	return b.String()
}

// Records are all records that a history's calls are about.
func Records(h *History) map[idem.ID]bool {
	ids := map[idem.ID]bool{}
	for i := range h.Calls {
		for _, id := range recordsOf(h.Calls[i].Command) {
			ids[id] = true
		}
	}
	return ids
}
