package demo

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"
)

func samples(t *testing.T) []Payload {
	t.Helper()
	p, err := Load("")
	if err != nil {
		t.Fatal(err)
	}
	return p.List
}

func TestTheSameSeedMakesTheSameStorm(t *testing.T) {
	t.Parallel()
	list := samples(t)
	a, b, c := plan(list, 200, 8, 7), plan(list, 200, 8, 7), plan(list, 200, 8, 8)
	if !reflect.DeepEqual(a, b) {
		t.Error("two storms of one seed differ")
	}
	if reflect.DeepEqual(a.deliveries, c.deliveries) {
		t.Error("two seeds make the same storm")
	}
}

// A storm has the number of events that was asked for, from any number of payloads; each
// is an event of its own, and the states of a resource are numbered from 1.
func TestEventsOfAStorm(t *testing.T) {
	t.Parallel()
	list := samples(t)
	for _, n := range []int{1, 10, len(list), len(list) + 1, 500} {
		s := plan(list, n, 4, 1)
		if len(s.events) != n {
			t.Errorf("%d events of %d", len(s.events), n)
		}
		type name struct{ source, id string }
		ids, versions, kills := map[name]int{}, map[name][]int64{}, 0
		for _, e := range s.events {
			ids[name{e.source, e.id}] = 0
			r := name{e.source, e.resource}
			versions[r] = append(versions[r], e.version)
			if !json.Valid(e.body) {
				t.Errorf("%s is no JSON any more: %s", e.id, e.body)
			}
		}
		for r, v := range versions {
			for i := range v {
				if v[i] != int64(i+1) || i >= maxStates {
					t.Errorf("%v has the states %v", r, v)
				}
			}
		}
		last := time.Duration(0)
		for _, d := range s.deliveries {
			ids[name{d.event.source, d.event.id}]++
			if d.at < last {
				t.Error("deliveries are not in order of time")
			}
			if last = d.at; d.kill > 0 {
				kills++
			}
		}
		if len(ids) != n || (n > 4 && kills != 4) {
			t.Errorf("%d events have %d IDs, and there are %d kills", n, len(ids), kills)
		}
		for id, times := range ids {
			if times < 1 || times > 5 {
				t.Errorf("%v is delivered %d times", id, times)
			}
		}
	}
}

// States of one resource are those side by side in one folder, wherever a walk passes
// other folders in between.
func TestSeriesFollowFolders(t *testing.T) {
	t.Parallel()
	var list []Payload
	for _, x := range []struct{ folder, id string }{{"a", "1"}, {"a/sub", "2"}, {"a", "3"}, {"a", "4"}, {"a", "5"}, {"a", "6"}} {
		list = append(list, Payload{Source: "a", Folder: x.folder, ID: x.id, Body: []byte(`{"id":"` + x.id + `"}`)})
	}
	got := map[string][]string{}
	for _, e := range plan(list, 12, 0, 1).events {
		got[e.resource] = append(got[e.resource], e.id)
		if !bytes.Equal(e.body, []byte(`{"id":"`+e.id+`"}`)) {
			t.Errorf("%s shows %s", e.id, e.body)
		}
	}
	want := map[string][]string{
		"a": {"1", "3", "4", "5"}, "a/2": {"6"}, "a/sub": {"2"},
		"a-2": {"1-2", "3-2", "4-2", "5-2"}, "a/2-2": {"6-2"}, "a/sub-2": {"2-2"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// What a delivery says about itself survives the way over HTTP, whatever it is.
func TestHeadersKeepWhatTheyCarry(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"evt_1", "a b", " é\n\t%2F", "sha256:00", "x=y;z"} {
		want := request{event: event{source: text, id: text, kind: text, resource: text, version: 3, body: []byte("{}")}, attempt: 2}
		r := httpRequest(t, want.headers(), want.body)
		got, err := readRequest(r)
		if err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%q becomes %+v: %v", text, got, err)
		}
		for _, values := range r.Header {
			if slices.ContainsFunc(values, func(v string) bool { return bytes.ContainsAny([]byte(v), "\n\r\x00") }) {
				t.Errorf("%q: a header holds %q", text, values)
			}
		}
	}
	if _, err := readRequest(httpRequest(t, nil, nil)); err == nil {
		t.Error("a request without headers is taken")
	}
}
