package memory

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// TestClonesShareNothing fills every field of what is stored and looks for memory that a
// copy shares with its origin: also for fields that are added later.
func TestClonesShareNothing(t *testing.T) {
	t.Parallel()
	event, effect, resource := &idem.Event{}, &idem.Effect{}, &idem.Resource{}
	attempt, entry, delivery := &idem.Attempt{}, &idem.Entry{}, &storage.Delivery{}
	for _, v := range []any{event, effect, resource, attempt, entry, delivery} {
		fill(reflect.ValueOf(v).Elem())
	}
	noneShared(t, "event", event, cloneEvent(event))
	noneShared(t, "effect", effect, cloneEffect(effect))
	noneShared(t, "resource", resource, cloneResource(resource))
	a, e, d := cloneAttempt(attempt), cloneEntry(entry), cloneDelivery(delivery)
	noneShared(t, "attempt", attempt, &a)
	noneShared(t, "entry", entry, &e)
	noneShared(t, "delivery", delivery, &d)
}

// fill gives every slice an element and every pointer a target.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(field)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.String:
		v.SetString("x")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Bool:
		v.SetBool(true)
	default:
	}
}

func noneShared(t *testing.T, path string, a, b any) {
	t.Helper()
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%s: the copy differs", path)
	}
	shared(t, path, reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem())
}

func shared(t *testing.T, path string, a, b reflect.Value) {
	t.Helper()
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			shared(t, path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i))
		}
	case reflect.Slice, reflect.Pointer:
		if a.Pointer() == b.Pointer() {
			t.Errorf("%s is shared with its copy", path)
			return
		}
		if a.Kind() == reflect.Pointer {
			shared(t, path, a.Elem(), b.Elem())
			return
		}
		for i := range a.Len() {
			shared(t, fmt.Sprintf("%s[%d]", path, i), a.Index(i), b.Index(i))
		}
	default:
	}
}
