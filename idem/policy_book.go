package idem

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// Rulebook is the rules of all namespaces at one moment. It never changes, but for what
// it remembers of policies that were asked for.
type Rulebook struct {
	namespaces map[string]*chapter
	none       *Policy
}

// chapter is the rules of one namespace.
type chapter struct {
	version int32
	ranked  []Rule
	named   ruleNames

	mu    sync.RWMutex
	found map[ruleKey]*Policy
}

// ruleNames are the names that rules name: all others are alike to them, so that what is
// remembered is bounded by the rules and not by what callers name.
type ruleNames struct{ consumer, source, typ map[string]bool }

// NewRulebook makes an empty rulebook: the defaults hold for all.
func NewRulebook() *Rulebook {
	return &Rulebook{namespaces: map[string]*chapter{}, none: DefaultPolicy()}
}

// With is the rulebook with the rules of one namespace replaced.
func (b *Rulebook) With(namespace string, version int32, rules []Rule) *Rulebook {
	c := &chapter{
		version: version, ranked: byRank(rules), found: map[ruleKey]*Policy{},
		named: ruleNames{map[string]bool{}, map[string]bool{}, map[string]bool{}},
	}
	for i := range rules {
		c.named.consumer[rules[i].Consumer] = true
		c.named.source[rules[i].Source] = true
		c.named.typ[rules[i].Type] = true
	}
	n := &Rulebook{namespaces: maps.Clone(b.namespaces), none: b.none}
	n.namespaces[namespace] = c
	return n
}

// Policy is the policy for an event key and type. A command about no event asks with the
// parts of the key that it names.
func (b *Rulebook) Policy(key EventKey, eventType string) *Policy {
	c := b.namespaces[key.Namespace]
	if c == nil {
		return b.none
	}
	k := c.named.only(ruleKey{key.Consumer, key.Source, eventType})
	c.mu.RLock()
	p := c.found[k]
	c.mu.RUnlock()
	if p != nil {
		return p
	}
	p = resolve(c.ranked, k, c.version, nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found[k] = p
	return p
}

func (n *ruleNames) only(k ruleKey) ruleKey {
	if !n.consumer[k.consumer] {
		k.consumer = ""
	}
	if !n.source[k.source] {
		k.source = ""
	}
	if !n.typ[k.typ] {
		k.typ = ""
	}
	return k
}

// Longest is the longest time that any policy keeps something, as keep tells of one; zero
// for ever.
func (b *Rulebook) Longest(keep func(*Policy) time.Duration) time.Duration {
	longest := keep(b.none)
	for _, c := range b.namespaces {
		for i := range c.ranked {
			// Alone, over the defaults: whoever says something about it is among them.
			d := keep(resolve(c.ranked[i:i+1], c.ranked[i].key(), 0, nil))
			if longest == 0 || d == 0 {
				return 0
			}
			longest = max(longest, d)
		}
	}
	return longest
}

// Ranked is the rules of all namespaces that say something about a setting, for each
// namespace the more specific ones first: the first one that matches an event is the one
// that holds for it.
func (b *Rulebook) Ranked(setting string) []NamespaceRule {
	var out []NamespaceRule
	for _, namespace := range slices.Sorted(maps.Keys(b.namespaces)) {
		for _, r := range slices.Backward(b.namespaces[namespace].ranked) {
			if _, says := r.Set[setting]; says {
				// Alone, over the defaults, which is what it says about the setting.
				out = append(out, NamespaceRule{namespace, r, resolve([]Rule{r}, r.key(), 0, nil)})
			}
		}
	}
	return out
}

// NamespaceRule is a rule of a namespace, and the policy that it makes by itself.
type NamespaceRule struct {
	Namespace string
	Rule      Rule
	Policy    *Policy
}

// Effective is a setting as it holds for an event.
type Effective struct {
	Setting *Setting
	Value   string
	From    *Rule // nil: the default
}

// Explain is what holds for an event under a namespace's rules.
func Explain(rules []Rule, consumer, source, eventType string) []Effective {
	from := map[string]*Rule{}
	p := resolve(byRank(rules), ruleKey{consumer, source, eventType}, 0, from)
	out := make([]Effective, len(Settings))
	for i, s := range Settings {
		out[i] = Effective{s, s.Of(p), from[s.Name]}
	}
	return out
}

// RuleChange is a difference between two sets of rules.
type RuleChange struct {
	Rule     Rule // for which events; Set is empty
	Setting  string
	Old, New string // empty: it was or is not set
}

// DiffRules is what changes, in the order of the rules' names.
func DiffRules(old, now []Rule) []RuleChange {
	byKey := func(rules []Rule) map[ruleKey]Rule {
		m := map[ruleKey]Rule{}
		for _, r := range rules {
			m[r.key()] = r
		}
		return m
	}
	was, is := byKey(old), byKey(now)
	all := maps.Clone(was)
	maps.Copy(all, is)
	keys := slices.SortedFunc(maps.Keys(all), func(a, b ruleKey) int {
		return slices.Compare([]string{a.consumer, a.source, a.typ}, []string{b.consumer, b.source, b.typ})
	})
	var out []RuleChange
	for _, k := range keys {
		settings := maps.Clone(was[k].Set)
		if settings == nil {
			settings = map[string]string{}
		}
		maps.Copy(settings, is[k].Set)
		for _, name := range slices.Sorted(maps.Keys(settings)) {
			before, after := was[k].Set[name], is[k].Set[name]
			if before != after {
				out = append(out, RuleChange{Rule{Consumer: k.consumer, Source: k.source, Type: k.typ}, name, before, after})
			}
		}
	}
	return out
}

// Shortest is the shortest time for which any policy keeps something; ok is false where
// all keep it for ever.
func (b *Rulebook) Shortest(keep func(*Policy) time.Duration) (shortest time.Duration, ok bool) {
	take := func(d time.Duration) {
		if d != 0 && (!ok || d < shortest) {
			shortest, ok = d, true
		}
	}
	take(keep(b.none))
	for _, c := range b.namespaces {
		for i := range c.ranked {
			take(keep(resolve(c.ranked[i:i+1], c.ranked[i].key(), 0, nil)))
		}
	}
	return shortest, ok
}
