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

func merge(states []*state) (out []*state) {
	for _, s := range states {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// explain says how far the longest order goes, and why what could come next cannot; first
// is the first reason.
func (p *part) explain(order, ops []porcupine.Operation, m *model) (text, first string) {
	clear(m.steps) // the reasons of steps that have been made are forgotten
	states := []*state{m.intern(newState())}
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
	case *idem.ReceiveAnswer:
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

func opText(op any) string {
	switch op := op.(type) {
	case opCall:
		return op.c.String()
	case opNote:
		return "the note of " + name(op.c.Command)
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

// text lists all that happened.
func (h *History) text() string {
	var b strings.Builder
	for _, p := range parts(h) {
		b.WriteString(p.text())
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
	for _, l := range p.leases {
		b.WriteString("    " + l.String() + "\n")
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
