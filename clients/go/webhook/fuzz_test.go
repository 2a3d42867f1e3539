package webhook_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/idemsvc/idemsvc/clients/go/webhook"
)

// No body and no header, whatever it is, makes an extractor panic or yields an event
// without a key.
func FuzzItems(f *testing.F) {
	names := []string{}
	for _, s := range samples(f) {
		names = append(names, s.Provider)
		f.Add(len(names)-1, []byte(s.Body), header(s), s.Header["Content-Type"])
	}
	for _, x := range payloads(f) {
		for which, name := range names {
			if strings.HasPrefix(x.folder, name) || strings.HasSuffix(x.folder, name) {
				f.Add(which, []byte(x.body), header(sample{Header: x.header}), x.header["Content-Type"])
			}
		}
	}
	for i, body := range []string{
		``, `null`, `[]`, `{}`, `[null]`, `{"id":""}`, `{"id":" "}`, `{"id":{}}`, `{"id":1e999}`, `{"id":"\ud800"}`, "{\"id\":\"\xff\"}", `{"id":"\u0000"}`,
		`{"id":"a"}x`, `{"id":"a",}`, `{"id"`, `{"id":"a\\"}`, `[{"id":"a"}`, `{"id":9007199254740993}`, `{"id":"` + strings.Repeat("x", 600) + `"}`,
		`{"id":"a","created":99999999999999999999}`, `{"entry":[{"changes":[{}]}]}`, `{"notificationItems":[{}]}`, strings.Repeat("[", 20000),
	} {
		f.Add(i, []byte(body), "X-GitHub-Delivery: \x00", "application/json")
	}
	f.Fuzz(func(t *testing.T, which int, body []byte, headers, contentType string) {
		p := testProvider(names[uint(which)%uint(len(names))])
		r := request("", map[string]string{"Content-Type": contentType})
		r.Body = body
		for line := range strings.Lines(headers) {
			if name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); ok {
				r.Header.Set(name, value)
			}
		}
		_ = p.Check(t.Context(), r) // must not panic either
		items, err := p.Items(r)
		if err != nil {
			return
		}
		for _, i := range items {
			sound(t, p, body, i)
			if !bytes.Contains(body, i.Body) {
				t.Errorf("%s: %q is no part of %q", p.Name(), i.Body, body)
			}
		}
	})
}

func header(s sample) string {
	var b strings.Builder
	for name, value := range s.Header {
		b.WriteString(name + ": " + value + "\n")
	}
	return b.String()
}

// A number is taken as it was written, however large it is: of two deliveries that differ in
// their numbers, which are those from n to n+9, keys, resources and sequences differ by just
// that. As floats, numbers above 2^53 would be others, and some of them one.
func FuzzIntegers(f *testing.F) {
	all := samples(f)
	for i := range all {
		for _, n := range []uint64{0, 1<<53 - 1, 1<<53 + 1, 820982911946154508, 1<<63 - 20} {
			f.Add(i, n)
		}
	}
	f.Fuzz(func(t *testing.T, which int, n uint64) {
		s := all[uint(which)%uint(len(all))]
		n = n%(1<<63-20-1<<53) + 1<<53 // above what a float holds, and of one length with its successors
		if n/10 != (n+1)/10 {
			n--
		}
		p := testProvider(s.Provider)
		read := func(n uint64) []*webhook.Item {
			items, err := p.Items(request(number.ReplaceAllString(s.Body, "${1}"+strconv.FormatUint(n, 10)+"${2}"), s.Header))
			if err != nil {
				return nil // not every field may be of that size
			}
			return items
		}
		a, b := read(n), read(n+1)
		if len(a) != len(b) {
			t.Fatalf("%s: %d events and %d", s.Provider, len(a), len(b))
		}
		for i := range a {
			for _, x := range [][2]string{{a[i].ID, b[i].ID}, {a[i].Resource.GetId(), b[i].Resource.GetId()}} {
				hashed := strings.HasPrefix(x[0], "sha256:") || a[i].Quality == webhook.PayloadHash
				if moved := strings.ReplaceAll(x[0], strconv.FormatUint(n, 10), strconv.FormatUint(n+1, 10)); moved != x[1] && !hashed {
					t.Errorf("%s: %q for %d and %q for %d", s.Provider, x[0], n, x[1], n+1)
				}
			}
			if v, w := a[i].Version.GetSequence(), b[i].Version.GetSequence(); v > 1<<53 && (uint64(v) != n || uint64(w) != n+1) {
				t.Errorf("%s: the versions %d and %d for %d and its successor", s.Provider, v, w, n)
			}
		}
	})
}

// number is a whole number of a body that is none in a text.
var number = regexp.MustCompile(`([:\[,]\s*)\d+(\s*[,}\]])`)

// Numbers above 2^53 reach keys and resources at all.
func TestIntegersAreExact(t *testing.T) {
	t.Parallel()
	const n = "9007199254740993"
	for name, want := range map[string]string{
		"hubspot": "16:" + n, "shopify": n, "github": n,
	} {
		x := sampleOf(t, name)
		items, err := testProvider(name).Items(request(number.ReplaceAllString(strings.ReplaceAll(x.Body, "admin_graphql_api_id", "other"), "${1}"+n+"${2}"), x.Header))
		if err != nil || len(items) == 0 || !strings.Contains(items[0].ID+" "+items[0].Resource.GetId(), want) {
			t.Errorf("%s: %+v %v", name, items, err)
		}
	}
}

// What is valid JSON is read as the standard library reads it.
func FuzzStripeLikeTheLibrary(f *testing.F) {
	for _, s := range samples(f) {
		f.Add([]byte(s.Body))
	}
	f.Add([]byte(`{"id":"a","id":"b","type":"x"}`))
	f.Add([]byte(`{"i\u0064":"a","type":"t\n"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var want map[string]any
		if json.Unmarshal(body, &want) != nil || want == nil {
			return
		}
		id, ok := want["id"].(string)
		if !ok || strings.TrimSpace(id) == "" || strings.ContainsRune(id, '\uFFFD') || len(id) > 512 || strings.Contains(id, "\x00") || strings.HasPrefix(id, "sha256:") {
			return
		}
		items, err := testProvider("stripe").Items(request(string(body), nil))
		if err != nil || len(items) != 1 || items[0].ID != id {
			t.Errorf("%q: %q is read as %+v, %v", body, id, items, err)
		}
	})
}
