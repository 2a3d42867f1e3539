package linear

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/idemsvc/idemsvc/idem"
)

// comparison walks through what was answered and what the rules say, field by field.
type comparison struct {
	stale bool // leases of the answer's record may lag behind
	path  []string
	diff  string
}

// compareAnswers says where an answer differs from the rules', nothing where it does not.
func compareAnswers(got, want idem.Answer) string {
	if reflect.TypeOf(got) != reflect.TypeOf(want) {
		return fmt.Sprintf("answered with %T, want %T", got, want)
	}
	c := &comparison{}
	switch a := want.(type) {
	case *idem.ClaimAnswer:
		c.stale = a.Reentered
	case *idem.EndAnswer, *idem.ExtendAnswer:
		// A replica tells the lease as it remembers it: another may have extended it. What
		// it wrote does not rest on that.
		c.stale = true
	}
	c.value(reflect.ValueOf(got).Elem(), reflect.ValueOf(want).Elem())
	return c.diff
}

// compareValues compares two parts of what is stored.
func compareValues(got, want any) string {
	c := &comparison{}
	c.value(addressable(got), addressable(want))
	return c.diff
}

// addressable is a value whose parts have addresses.
func addressable(v any) reflect.Value {
	p := reflect.New(reflect.TypeOf(v)).Elem()
	p.Set(reflect.ValueOf(v))
	return p
}

var (
	bytesType   = reflect.TypeFor[[]byte]()
	eventType   = reflect.TypeFor[idem.Event]()
	effectType  = reflect.TypeFor[idem.EffectAnswer]()
	claimType   = reflect.TypeFor[idem.ClaimAnswer]()
	effectsType = reflect.TypeFor[[]*idem.Effect]()
)

func (c *comparison) differ(got, want reflect.Value) {
	if c.diff == "" {
		c.diff = fmt.Sprintf("%s: got %s, want %s", strings.Join(c.path, "."), text(got), text(want))
	}
}

func text(v reflect.Value) string {
	switch {
	case !v.IsValid():
		return "nothing"
	case v.Kind() == reflect.Pointer && v.IsNil():
		return "none"
	case v.Kind() == reflect.Pointer:
		return text(v.Elem())
	case v.Type() == bytesType:
		return fmt.Sprintf("%q", v.Bytes())
	}
	return fmt.Sprintf("%+v", v.Interface())
}

func (c *comparison) value(got, want reflect.Value) {
	if c.diff != "" {
		return
	}
	switch {
	case got.Kind() == reflect.Pointer:
		if got.IsNil() || want.IsNil() {
			if got.IsNil() != want.IsNil() {
				c.differ(got, want)
			}
			return
		}
		if got.Pointer() != want.Pointer() {
			c.value(got.Elem(), want.Elem())
		}
	case got.Kind() == reflect.Struct:
		c.fields(got, want)
	case got.Type() == bytesType:
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			c.differ(got, want)
		}
	case got.Kind() == reflect.Slice:
		c.slices(got, want)
	case !got.Equal(want):
		c.differ(got, want)
	}
}

func (c *comparison) fields(got, want reflect.Value) {
	t := got.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		c.path = append(c.path, f.Name)
		switch {
		case t == eventType && f.Name == "LeaseUntil":
			c.lease(got.Field(i), want.Field(i))
		case t == claimType && f.Name == "GapIn": // as of the decision, which has no moment of its own in the answer
			if (got.Field(i).Int() == 0) != (want.Field(i).Int() == 0) {
				c.differ(got.Field(i), want.Field(i))
			}
		case t == effectType && f.Name == "Late": // by the lease as the replica remembers it, which is ended by hand here
		default:
			c.value(got.Field(i), want.Field(i))
		}
		c.path = c.path[:len(c.path)-1]
	}
}

func (c *comparison) lease(got, want reflect.Value) {
	g, w := got.Int(), want.Int()
	if lags := c.stale && g < w; g != w && !lags {
		c.differ(got, want)
	}
}

func (c *comparison) slices(got, want reflect.Value) {
	if got.Len() != want.Len() {
		c.differ(reflect.ValueOf(fmt.Sprint(got.Len(), " of them")), reflect.ValueOf(fmt.Sprint(want.Len(), " of them")))
		return
	}
	if got.Type() == effectsType { // in no order that stores agree on
		got, want = inOrder(got), inOrder(want)
	}
	for i := range got.Len() {
		c.path = append(c.path, fmt.Sprint(i))
		c.value(got.Index(i), want.Index(i))
		c.path = c.path[:len(c.path)-1]
	}
}

func inOrder(v reflect.Value) reflect.Value {
	list, _ := reflect.TypeAssert[[]*idem.Effect](v)
	list = slices.Clone(list)
	sortEffects(list)
	return reflect.ValueOf(list)
}

// final compares what is stored with what the rules leave.
func (m *model) final(s *state, op *opFinal) string {
	found := map[idem.ID]bool{}
	for i := range op.views {
		v := &op.views[i]
		id := v.Event.ID()
		found[id] = true
		e := s.events[id]
		if e == nil {
			return "a record is stored that nobody made: " + v.Event.Key.EventID
		}
		for _, part := range []struct {
			what      string
			got, want any
		}{
			{"event", v.Event, idem.Settled(e, v.Now, m.policy)},
			{"attempts", v.Attempts, s.attempts[id]},
			{"effects", v.Effects, s.effectsOf(id)},
		} {
			if diff := compareValues(part.got, part.want); diff != "" {
				return fmt.Sprintf("what is stored in the end of %s: %s %s", v.Event.Key.EventID, part.what, diff)
			}
		}
		for _, r := range v.Resources {
			want := s.resources[r.Key.ID()]
			if want == nil && r.Version == 0 {
				continue // a placeholder
			}
			if diff := compareValues(r, want); diff != "" {
				return fmt.Sprintf("what is stored in the end of %s: %s", r.Key.Name, diff)
			}
		}
	}
	for _, id := range op.ids {
		if !found[id] && s.events[id] != nil {
			return "no record is stored of " + s.events[id].Key.EventID
		}
	}
	return ""
}
