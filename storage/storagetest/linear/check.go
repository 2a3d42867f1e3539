package linear

import (
	"bytes"
	"fmt"
	"slices"
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
	Kept []byte // the history, to be judged again: see [Kept]
}

// slack is by how much an answer's moment may lie outside of its call: the two clocks are
// one, read with different grain.
const slack = 250 * time.Millisecond

// Check judges a history, and gives up a search that takes longer than the limit.
func Check(h *History, limit time.Duration) Verdict {
	v := judge(h, limit)
	if v.OK || v.Open {
		return v
	}
	var err error
	if v.Kept, err = Keep(h); err != nil {
		v.Text += "\n" + err.Error()
	}
	return v
}

func judge(h *History, limit time.Duration) Verdict {
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
	if why := forgotten(h); why != "" {
		return Verdict{Why: "an acquisition that was repeated did not get its claims", Text: h.Name + ": " + why + "\n" + h.text()}
	}
	for _, p := range parts(h) {
		if v := p.check(limit); !v.OK {
			v.Text = h.Name + ": " + v.Text
			return v
		}
	}
	return Verdict{OK: true}
}

// drawnTwice: no two grants have one fence, and no signal has that of one.
func drawnTwice(h *History) string {
	seen := map[int64]*Row{}
	for i := range h.Journal {
		r := &h.Journal[i]
		if r.Kind != idem.EntryClaimed && (r.Kind != idem.EntryReceived || r.Fence == 0) {
			continue
		}
		if o := seen[r.Fence]; o != nil {
			return "a fence was drawn twice: " + o.String() + ", " + r.String()
		}
		seen[r.Fence] = r
	}
	return ""
}

func (p *part) check(limit time.Duration) Verdict {
	m := p.model()
	if len(m.rows) != len(p.rows) {
		const why = "two entries of the journal tell of one row version"
		return Verdict{Why: why, Text: why + ":\n" + p.text()}
	}
	ops := p.operations(m)
	nm := porcupine.NondeterministicModel{
		Init: func() []any { return []any{m.intern(newState())} },
		Step: func(s, in, _ any) []any {
			st, _ := s.(*state)
			var out []any
			for _, n := range m.step(st, in) {
				out = append(out, n)
			}
			return out
		},
		Equal: func(a, b any) bool { return a == b }, // they are interned
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

func (p *part) model() *model {
	m := &model{
		p: p, policy: p.h.Policy, rows: map[rowKey]*Row{}, told: map[*Row]bool{}, leases: map[idem.ID][]*Lease{},
		heard: map[*Lease]bool{}, notes: map[*Call]bool{}, moments: map[idem.Instant]bool{}, states: map[uint64][]*state{}, steps: map[stepKey][]*state{},
	}
	for _, c := range p.calls {
		if c.unheard() {
			m.maybe = append(m.maybe, c)
		}
	}
	for _, r := range p.rows {
		m.rows[rowKey{r.ID, r.Seq}], m.told[r] = r, p.told(r)
		m.moments[r.At] = true
	}
	for _, l := range slices.SortedFunc(slices.Values(p.leases), (*Lease).inOrder) {
		m.leases[l.ID], m.heard[l] = append(m.leases[l.ID], l), p.heard(l)
	}
	return m
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

// Records are all records that a history's calls are about.
func Records(h *History) map[idem.ID]bool {
	ids := map[idem.ID]bool{}
	for i := range h.Calls {
		for _, id := range RecordsOf(h.Calls[i].Command) {
			ids[id] = true
		}
	}
	return ids
}
