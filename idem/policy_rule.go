package idem

import (
	"cmp"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
)

// Rule says what holds for some events of a namespace: those of the consumer, source and
// type that it names; one that it does not name is any. Set holds the values of
// [Settings] by name, each in its canonical text.
//
// For each setting the most specific rule counts that says something about it: the one
// that names more; of two that name equally many, the one that names the consumer, then the
// source.
type Rule struct {
	Consumer string            `json:"consumer,omitempty"`
	Source   string            `json:"source,omitempty"`
	Type     string            `json:"type,omitempty"`
	Set      map[string]string `json:"set"`
}

// Limits of a namespace's rules, so that all of them fit into every answer.
const (
	MaxRules     = 200
	MaxRuleBytes = 256 << 10 // of all names and values
)

// Match names the events of a rule, for people.
func (r *Rule) Match() string {
	var parts []string
	for _, p := range []struct{ name, value string }{{"consumer", r.Consumer}, {"source", r.Source}, {"type", r.Type}} {
		if p.value != "" {
			parts = append(parts, p.name+" "+p.value)
		}
	}
	if len(parts) == 0 {
		return "every event"
	}
	return strings.Join(parts, ", ")
}

type ruleKey struct{ consumer, source, typ string }

func (r *Rule) key() ruleKey { return ruleKey{r.Consumer, r.Source, r.Type} }

func (r *Rule) matches(k ruleKey) bool {
	return (r.Consumer == "" || r.Consumer == k.consumer) && (r.Source == "" || r.Source == k.source) && (r.Type == "" || r.Type == k.typ)
}

// rank orders rules that match one event: no two of them are equal, unless they name
// the same.
func (r *Rule) rank() int {
	named := uint(0)
	for i, part := range []string{r.Type, r.Source, r.Consumer} {
		if part != "" {
			named |= 1 << i
		}
	}
	return bits.OnesCount(named)<<3 | int(named) //nolint:gosec // below 8
}

// byRank is the rules, the more specific ones later.
func byRank(rules []Rule) []Rule {
	return slices.SortedStableFunc(slices.Values(rules), func(a, b Rule) int { return cmp.Compare(a.rank(), b.rank()) })
}

// resolve is the policy for an event under rules in the order of their rank. from, where
// it is not nil, is told which rule said what.
func resolve(ranked []Rule, k ruleKey, version int32, from map[string]*Rule) *Policy {
	p := DefaultPolicy()
	p.Version = version
	for i := range ranked {
		r := &ranked[i]
		if !r.matches(k) {
			continue
		}
		for name, text := range r.Set {
			s := FindSetting(name)
			if s == nil {
				continue // of a newer version, which runs beside this one
			}
			if s.set(p, text) == nil && from != nil {
				from[name] = r
			}
		}
	}
	return p
}

// Problem is something wrong with a set of rules.
type Problem struct {
	Rule    int    // which one
	Field   string // what of it: a setting, or consumer, source or type; empty: all of it
	Message string
}

func ruleBytes(rules []Rule) int {
	n := 0
	for i := range rules {
		n += len(rules[i].Consumer) + len(rules[i].Source) + len(rules[i].Type)
		for name, text := range rules[i].Set {
			n += len(name) + len(text)
		}
	}
	return n
}

// CheckRules brings values into their canonical form and lists all that is wrong.
func CheckRules(rules []Rule) []Problem {
	var out []Problem
	add := func(rule int, field, format string, args ...any) {
		out = append(out, Problem{rule, field, fmt.Sprintf(format, args...)})
	}
	if len(rules) > MaxRules {
		add(MaxRules, "", "a namespace can have at most %d policies, there are %d", MaxRules, len(rules))
		return out
	}
	if n := ruleBytes(rules); n > MaxRuleBytes {
		add(len(rules)-1, "", "the policies have %d bytes of names and values, at most %d are allowed", n, MaxRuleBytes)
		return out
	}
	first := map[ruleKey]int{}
	for i := range rules {
		r := &rules[i]
		for _, p := range []struct{ name, value string }{{"consumer", r.Consumer}, {"source", r.Source}, {"type", r.Type}} {
			if p.value == "" {
				continue
			}
			if err := checkName("the name", p.value); err != nil {
				add(i, p.name, "%v", err)
			}
		}
		if j, twice := first[r.key()]; twice {
			add(i, "", "policy %d is for the same events: %s", j+1, r.Match())
		} else {
			first[r.key()] = i
		}
		if len(r.Set) == 0 {
			add(i, "", "the policy for %s sets nothing", r.Match())
		}
		for _, name := range slices.Sorted(maps.Keys(r.Set)) {
			s := FindSetting(name)
			if s == nil {
				add(i, name, "there is no such setting")
				continue
			}
			text, err := s.Canonical(r.Set[name])
			if err != nil {
				add(i, name, "%v", err)
				continue
			}
			r.Set[name] = text
		}
	}
	if len(out) == 0 {
		out = checkTogether(rules)
	}
	return out
}

// together are settings that must fit each other, whichever rules they come from.
var together = []struct {
	a, b    string
	ok      func(p *Policy) bool
	message string
}{
	{"lease", "max_lease", func(p *Policy) bool { return p.Lease <= p.MaxLease }, "is longer than"},
	{"backoff_base", "backoff_cap", func(p *Policy) bool { return p.Backoff.Base <= p.Backoff.Cap }, "is longer than"},
	{"retain_events", "longest_resend", func(p *Policy) bool { return covers(p.KeepEvents, p.Resend) }, "is shorter than"},
	{"retain_payloads", "retain_events", func(p *Policy) bool {
		return covers(p.KeepEvents, p.KeepPayloads) && (p.KeepPayloads != 0 || p.KeepEvents == 0)
	}, "is longer than"},
	{"retain_versions", "retain_events", func(p *Policy) bool { return outlives(p.KeepVersions, p.KeepEvents) }, "is shorter than"},
	{"retain_effects", "retain_events", func(p *Policy) bool { return outlives(p.KeepEffects, p.KeepEvents) }, "is shorter than"},
}

// checkTogether looks at every combination of rules that some event can meet. Two values
// that do not fit come from at most two rules; if any event meets both, one does that names
// what the two name and nothing else.
func checkTogether(rules []Rule) []Problem {
	ranked := byRank(rules)
	seen := map[ruleKey]bool{}
	var out []Problem
	told := map[string]bool{}
	for i := range rules {
		for j := 0; j <= i; j++ {
			k, ok := meet(&rules[i], &rules[j])
			if !ok || seen[k] {
				continue
			}
			seen[k] = true
			from := map[string]*Rule{}
			p := resolve(ranked, k, 0, from)
			for _, t := range together {
				if t.ok(p) {
					continue
				}
				rule, field, where := blame(rules, from, t.a, t.b)
				if rule < 0 {
					continue // the defaults fit each other
				}
				other := t.b
				message := fmt.Sprintf("%s %s %s %s %s%s", t.a, FindSetting(t.a).Of(p), t.message, other, FindSetting(other).Of(p), where)
				if id := fmt.Sprint(rule, message); !told[id] {
					told[id] = true
					out = append(out, Problem{rule, field, message})
				}
			}
		}
	}
	return out
}

// blame is the rule that a misfit is told of: the one of the first setting, else of the
// second one; and where the other value comes from.
func blame(rules []Rule, from map[string]*Rule, a, b string) (rule int, field, where string) {
	index := func(r *Rule) int {
		return slices.IndexFunc(rules, func(x Rule) bool { return x.key() == r.key() })
	}
	switch ra, rb := from[a], from[b]; {
	case ra != nil && rb == nil:
		return index(ra), a, ", the default: set both"
	case ra != nil && ra.key() != rb.key():
		return index(ra), a, " of the policy for " + rb.Match()
	case ra != nil:
		return index(ra), a, ""
	case rb != nil:
		return index(rb), b, "; the former is the default: set both"
	default:
		return -1, "", ""
	}
}

// meet is an event that both rules match, if there is one.
func meet(a, b *Rule) (ruleKey, bool) {
	k := a.key()
	for _, p := range []struct {
		mine  *string
		other string
	}{{&k.consumer, b.Consumer}, {&k.source, b.Source}, {&k.typ, b.Type}} {
		switch {
		case *p.mine == "":
			*p.mine = p.other
		case p.other != "" && *p.mine != p.other:
			return k, false
		}
	}
	return k, true
}
