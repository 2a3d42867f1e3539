package webhook_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// No body and no header, whatever it is, makes an extractor panic or yields an event
// without a key.
func FuzzItems(f *testing.F) {
	names := []string{}
	for _, s := range samples(f) {
		names = append(names, s.Provider)
		f.Add(len(names)-1, []byte(s.Body), header(s), s.Header["Content-Type"])
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
			if strings.TrimSpace(i.ID) == "" || len(i.ID) > 512 || strings.Contains(i.ID, "\x00") {
				t.Errorf("%s: the key %q of %q", p.Name(), i.ID, body)
			}
			if i.Quality == 0 || i.Attempt < 0 {
				t.Errorf("%s: %+v", p.Name(), i)
			}
			if res := i.Resource; res != nil && (strings.TrimSpace(res.GetId()) == "" || strings.TrimSpace(res.GetType()) == "" || len(res.GetId()) > 512 || len(res.GetType()) > 512) {
				t.Errorf("%s: the resource %v of %q", p.Name(), res, body)
			}
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
