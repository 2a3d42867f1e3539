package model

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// fences are the fields that hold fences: they differ in value, and what they stand for
// is compared.
var fences = map[string]bool{"Fence": true, "LaneFence": true, "OwnerFence": true, "Covered": true}

// isFence reports whether a field holds a fence.
func isFence(of reflect.Value, field string) bool {
	r, ok := reflect.TypeAssert[idem.Resource](of)
	return fences[field] || ok && r.Mode == idem.Signal && field == "Start"
}

// ignored are the fields that backends may fill in as they like.
var ignored = map[string]bool{"Now": true, "Deliveries": true, "LaneOwners": true}

// comparison walks through what the backend gave and what the rules say, field by field,
// and notes where they differ.
type comparison struct {
	m               *model
	gotNow, wantNow idem.Instant
	path            []string
	out             strings.Builder
}

var (
	instantType      = reflect.TypeFor[idem.Instant]()
	effectAnswerType = reflect.TypeFor[idem.EffectAnswer]()
	idType           = reflect.TypeFor[idem.ID]()
)

// results compares two results. It is empty when they agree.
func (m *model) results(got, want storage.Result) string {
	if g, w := refusal(got), refusal(want); g != w {
		return fmt.Sprintf("  got %s, want %s\n", cmp.Or(g, short(got)), cmp.Or(w, short(want)))
	}
	if want.Err != nil {
		return ""
	}
	g, w := reflect.ValueOf(got.Answer), reflect.ValueOf(want.Answer)
	if g.Type() != w.Type() {
		return fmt.Sprintf("  got %T, want %T\n", got.Answer, want.Answer)
	}
	return m.compareFrom(g.Elem(), w.Elem())
}

func refusal(r storage.Result) string {
	var e *idem.Error
	switch {
	case errors.As(r.Err, &e):
		return fmt.Sprintf("%s %s %q", e.Code, e.Field, slices.Sorted(slices.Values(e.Names)))
	case r.Err != nil:
		return r.Err.Error()
	default:
		return ""
	}
}

// views compares two records. It is empty when they agree.
func (m *model) views(got, want *storage.View) string {
	if got == nil || want == nil {
		if got == want {
			return ""
		}
		return fmt.Sprintf("  got a record: %v, want one: %v\n", got != nil, want != nil)
	}
	onlyCommon(got, want)
	return m.compareFrom(reflect.ValueOf(got).Elem(), reflect.ValueOf(want).Elem())
}

// onlyCommon leaves the resources that both views show: which ones belong to an event
// beside those of its lanes is the reader's choice.
func onlyCommon(a, b *storage.View) {
	has := func(v *storage.View, r *idem.Resource) bool {
		return slices.ContainsFunc(v.Resources, func(o *idem.Resource) bool { return o.Key == r.Key })
	}
	a.Resources = slices.DeleteFunc(a.Resources, func(r *idem.Resource) bool { return !has(b, r) })
	b.Resources = slices.DeleteFunc(b.Resources, func(r *idem.Resource) bool { return !has(a, r) })
	for _, v := range []*storage.View{a, b} {
		slices.SortFunc(v.Resources, func(x, y *idem.Resource) int { return cmp.Compare(x.Key.Name, y.Key.Name) })
	}
}

// compareFrom compares two structs that say as of when they are.
func (m *model) compareFrom(got, want reflect.Value) string {
	c := &comparison{m: m, gotNow: now(got), wantNow: now(want)}
	c.fields(got, want)
	return c.out.String()
}

func now(v reflect.Value) idem.Instant { return idem.Instant(v.FieldByName("Now").Int()) }

func (c *comparison) differ(got, want string) {
	fmt.Fprintf(&c.out, "  %s: got %s, want %s\n", strings.Join(c.path, "."), got, want)
}

func (c *comparison) inside(name string, f func()) {
	c.path = append(c.path, name)
	f()
	c.path = c.path[:len(c.path)-1]
}

func (c *comparison) fields(got, want reflect.Value) {
	t := got.Type()
	for i := range t.NumField() {
		field := t.Field(i)
		if !field.IsExported() || ignored[field.Name] {
			continue
		}
		g, w := got.Field(i), want.Field(i)
		c.inside(field.Name, func() {
			switch {
			case isFence(want, field.Name):
				if why := c.m.match(g.Int(), w.Int()); why != "" {
					c.differ(fmt.Sprint(g.Int()), fmt.Sprintf("%d: %s", w.Int(), why))
				}
			case field.Name == "RetryIn" || field.Name == "GapIn": // how long is a matter of the clock
				if g.Int() > 0 != (w.Int() > 0) {
					c.differ(time.Duration(g.Int()).String(), time.Duration(w.Int()).String())
				}
			case t == effectAnswerType && field.Name == "Late": // by the lease as the store remembers it, which the test moves behind its back
			default:
				c.value(g, w)
			}
		})
	}
}

func (c *comparison) value(got, want reflect.Value) {
	switch t := got.Type(); {
	case t == instantType:
		if g, w := when(got.Int(), c.gotNow), when(want.Int(), c.wantNow); g != w {
			c.differ(g, w)
		}
	case t == idType:
		if !got.Equal(want) {
			c.differ(c.m.name(got.Interface()), c.m.name(want.Interface()))
		}
	case t.Kind() == reflect.Pointer:
		switch {
		case got.IsNil() && want.IsNil():
		case got.IsNil() || want.IsNil():
			c.differ(presence(got), presence(want))
		default:
			c.value(got.Elem(), want.Elem())
		}
	case t.Kind() == reflect.Struct:
		c.fields(got, want)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			c.differ(fmt.Sprintf("%q", got.Bytes()), fmt.Sprintf("%q", want.Bytes()))
		}
	case t.Kind() == reflect.Slice:
		c.slices(got, want)
	default:
		if !got.Equal(want) {
			c.differ(fmt.Sprint(got.Interface()), fmt.Sprint(want.Interface()))
		}
	}
}

func (c *comparison) slices(got, want reflect.Value) {
	if got.Len() != want.Len() {
		c.differ(fmt.Sprint(got.Len(), " of them"), fmt.Sprint(want.Len(), " of them"))
		return
	}
	got, want = inOrder(got), inOrder(want)
	for i := range got.Len() {
		c.inside(fmt.Sprint(i), func() { c.value(got.Index(i), want.Index(i)) })
	}
}

// inOrder sorts effects, which come in no order that backends agree on.
func inOrder(v reflect.Value) reflect.Value {
	effects, ok := reflect.TypeAssert[[]*idem.Effect](v)
	if !ok {
		return v
	}
	effects = slices.Clone(effects)
	slices.SortFunc(effects, func(a, b *idem.Effect) int {
		ai, bi := a.ID(), b.ID()
		return bytes.Compare(ai[:], bi[:])
	})
	return reflect.ValueOf(effects)
}

func presence(v reflect.Value) string {
	if v.IsNil() {
		return "none"
	}
	return "one"
}

func when(i int64, now idem.Instant) string {
	switch {
	case i == 0:
		return "never"
	case idem.Instant(i) > now:
		return "ahead"
	default:
		return "past"
	}
}

func (m *model) name(v any) string {
	id, ok := v.(idem.ID)
	switch {
	case !ok || id.IsZero():
		return "nobody"
	case m.names[id] != "":
		return m.names[id]
	default:
		return id.String()
	}
}

// match notes that two fences stand for each other, and says why they cannot.
func (m *model) match(got, want int64) string {
	known, isKnown := m.fences[got]
	of, isOf := m.back[want]
	switch {
	case isKnown && known == want:
		return ""
	case isKnown:
		return fmt.Sprintf("it stood for %d before", known)
	case isOf:
		return fmt.Sprintf("that was %d before", of)
	}
	for g, w := range m.fences {
		if (got < g) != (want < w) {
			return fmt.Sprintf("out of order with %d, which stands for %d", g, w)
		}
	}
	m.fences[got], m.back[want] = want, got
	return ""
}

// short is a result in a word or two.
func short(r storage.Result) string {
	var e *idem.Error
	switch {
	case errors.As(r.Err, &e):
		return string(e.Code)
	case r.Err != nil:
		return r.Err.Error()
	}
	switch a := r.Answer.(type) {
	case *idem.ClaimAnswer:
		if a.Reentered {
			return a.Outcome.String() + " again"
		}
		return a.Outcome.String()
	case *idem.ReceiveAnswer:
		return a.Outcome.String()
	case *idem.CheckAnswer:
		return a.Verdict.String()
	case *idem.EffectAnswer:
		return a.Verdict.String()
	case *idem.ExtendAnswer:
		if a.Rearmed {
			return "re-armed"
		}
		return "extended"
	case *idem.EndAnswer:
		if a.Already {
			return a.State.String() + " already"
		}
		return a.State.String()
	default:
		return fmt.Sprintf("%T", r.Answer)
	}
}
