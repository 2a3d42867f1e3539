package postgres

import (
	"reflect"
	"testing"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// fill gives every exported field a value of its own, so that one which an encoding
// forgets is missed.
func fill(v reflect.Value, n *int64) {
	*n++
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Struct:
		for _, f := range v.Fields() {
			if f.CanSet() {
				fill(f, n)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i), n)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.String:
		v.SetString("s" + string(rune('a'+*n%26)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int64, reflect.Int32:
		v.SetInt(1000 + *n)
	case reflect.Uint8:
		v.SetUint(uint64(1 + *n%100)) //nolint:gosec // 1 to 100
	default:
		panic("fill: " + v.Type().String())
	}
}

func filled[T any]() *T {
	var x T
	n := int64(0)
	fill(reflect.ValueOf(&x).Elem(), &n)
	return &x
}

func same(t *testing.T, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read back\n%+v\nwritten\n%+v", got, want)
	}
}

func TestFactsRoundTrip(t *testing.T) {
	want := filled[idem.Facts]()
	var got idem.Facts
	if err := decodeFacts(encodeFacts(want), &got); err != nil {
		t.Fatal(err)
	}
	same(t, &got, want)
}

// What is a column of the event's row is not in its detail.
func TestDetailRoundTrip(t *testing.T) {
	want := filled[idem.Event]()
	want.Ordering.Resource.Namespace, want.Ordering.Resource.Consumer = want.Key.Namespace, want.Key.Consumer
	got := *want
	columns := reflect.ValueOf(idem.Event{})
	keep := map[string]bool{
		"Key": true, "Facts": true, "Version": true, "State": true, "ByExpiry": true, "Fence": true, "Nonce": true, "Lease": true,
		"LeaseUntil": true, "GrantedAt": true, "EndedAt": true, "DueAt": true, "WaitingSince": true, "NotYetSince": true, "CreatedAt": true,
		"Total": true, "Effects": true, "Result": true,
	}
	for i := range columns.NumField() {
		if f := columns.Type().Field(i); f.IsExported() && !keep[f.Name] {
			reflect.ValueOf(&got).Elem().Field(i).SetZero()
		}
	}
	if err := decodeDetail(encodeDetail(want), &got); err != nil {
		t.Fatal(err)
	}
	same(t, &got, want)
}

func TestAttemptRoundTrip(t *testing.T) {
	want := filled[idem.Attempt]()
	got := idem.Attempt{Event: want.Event, Fence: want.Fence, Nonce: want.Nonce, GrantedAt: want.GrantedAt, EndedAt: want.EndedAt, DueAt: want.DueAt}
	if err := decodeAttempt(encodeAttempt(want), &got); err != nil {
		t.Fatal(err)
	}
	same(t, &got, want)
}

func TestEffectRoundTrip(t *testing.T) {
	want := filled[idem.Effect]()
	got := idem.Effect{
		Key: want.Key, Version: want.Version, State: want.State, LeaseUntil: want.LeaseUntil, Result: want.Result,
		Event: want.Event, Fence: want.Fence, Since: want.Since, Bytes: want.Bytes,
	}
	if err := decodeEffect(encodeEffect(want), &got); err != nil {
		t.Fatal(err)
	}
	same(t, &got, want)
}

func TestDeliveryRoundTrip(t *testing.T) {
	want := filled[storage.Delivery]()
	got := storage.Delivery{Event: want.Event, Identity: want.Identity, RecordedAt: want.RecordedAt}
	if err := decodeDelivery(encodeDelivery(want), &got); err != nil {
		t.Fatal(err)
	}
	same(t, &got, want)
}
