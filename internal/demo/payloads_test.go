package demo

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// folder makes files below a folder of the name.
func folder(t *testing.T, name string, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	for file, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func describe(p *Payloads) []string {
	var out []string
	for _, x := range p.List {
		id := x.ID
		if strings.HasPrefix(id, "sha256:") {
			id = "hash"
		}
		out = append(out, fmt.Sprintf("%s %s %s %s %s", x.Folder, x.Source, id, x.Type, x.Body))
	}
	slices.Sort(out)
	return out
}

func TestLoadFindsOutWhatAPayloadIs(t *testing.T) {
	t.Parallel()
	dir := folder(t, "inbox", map[string]string{
		"top.json":                `{"id":"a"}`,
		"stripe/pi/1.json":        ` {"id":"evt_1","type":"pi.created"} `,
		"stripe/pi/2.json":        `{"id":"evt_2","event_type":"pi.paid"}`,
		"stripe/pi/again.json":    `{"id":"evt_2","event_type":"pi.paid"}`,
		"paddle/x.JSON":           `{"notification_id":"ntf_1","event_id":"evt_p","id":"n"}`,
		"shop/number.json":        `{"id":820982911946154508}`,
		"github/captured.json":    `{"headers":{"X-GitHub-Delivery":"guid","X-GitHub-Event":"issues"},"body":{"id":7}}`,
		"hubspot/batch.json":      `[{"eventId":1},{"eventId":2},3]`,
		"shopify/a/test1.json":    `{"id":5,"n":1}`,
		"shopify/b/test2.json":    `{"id":5,"n":2}`,
		"slack/masked.json":       `{"event_id":"","type":""}`,
		"slack/blank.json":        `{"event_id":" \t"}`,
		"slack/null.json":         `{"event_id":null,"id":{"x":1}}`,
		"slack/nul.json":          `{"event_id":"a\u0000b"}`,
		"slack/long.json":         `{"event_id":"` + strings.Repeat("x", maxID+1) + `"}`,
		"readme.md":               `no`,
		"broken/cut.json":         `{"id":`,
		"broken/text.json":        `"text"`,
		"broken/empty.json":       ``,
		"broken/large.json":       `{"id":"` + strings.Repeat("x", maxFileBytes) + `"}`,
		"broken/headersonly.json": `{"headers":{"webhook-id":"h"},"id":"b"}`,
	})
	p, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`inbox inbox a top {"id":"a"}`,
		`stripe/pi stripe evt_1 pi.created {"id":"evt_1","type":"pi.created"}`,
		`stripe/pi stripe evt_2 pi.paid {"id":"evt_2","event_type":"pi.paid"}`,
		`paddle paddle evt_p x {"notification_id":"ntf_1","event_id":"evt_p","id":"n"}`,
		`shop shop 820982911946154508 number {"id":820982911946154508}`,
		`github github guid issues {"id":7}`,
		`hubspot hubspot 1 batch {"eventId":1}`,
		`hubspot hubspot 2 batch {"eventId":2}`,
		`shopify/a shopify hash test1 {"id":5,"n":1}`,
		`shopify/b shopify hash test2 {"id":5,"n":2}`,
		`slack slack hash masked {"event_id":"","type":""}`,
		`slack slack hash blank {"event_id":" \t"}`,
		`slack slack hash null {"event_id":null,"id":{"x":1}}`,
		`slack slack hash nul {"event_id":"a\u0000b"}`,
		`slack slack hash long {"event_id":"` + strings.Repeat("x", maxID+1) + `"}`,
		`broken broken h headersonly {"headers":{"webhook-id":"h"},"id":"b"}`,
	}
	slices.Sort(want)
	if got := describe(p); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	notes := strings.Join(p.Notes, "\n")
	for _, part := range []string{"broken/cut.json: is no JSON: byte 6", "broken/empty.json: is no JSON", "broken/large.json: has more than 1048576 bytes", "1 more files left out"} {
		if !strings.Contains(notes, part) {
			t.Errorf("the notes lack %q:\n%s", part, notes)
		}
	}
}

func TestLoadRefusesWhatItCannotUse(t *testing.T) {
	t.Parallel()
	if _, err := Load(filepath.Join(t.TempDir(), "missing")); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("no folder: %v", err)
	}
	file := folder(t, "f", map[string]string{"a.json": "{}"})
	if _, err := Load(filepath.Join(file, "a.json")); err == nil || !strings.Contains(err.Error(), "is not a folder") {
		t.Errorf("a file: %v", err)
	}
	if _, err := Load(folder(t, "f", map[string]string{"a.json": "{", "b.txt": "{}"})); err == nil ||
		!strings.Contains(err.Error(), "no payload") || !strings.Contains(err.Error(), "a.json: is no JSON") {
		t.Errorf("nothing of use: %v", err)
	}
	large, many := fstest.MapFS{}, fstest.MapFS{}
	for i := range maxTotalBytes/maxFileBytes + 1 {
		large[fmt.Sprintf("%d.json", i)] = &fstest.MapFile{Data: bytes.Repeat([]byte("x"), maxFileBytes)}
	}
	for i := range maxFiles + 1 {
		many[fmt.Sprintf("%d.json", i)] = &fstest.MapFile{Data: []byte("{}")}
	}
	if _, err := load(large, "f"); err == nil || !strings.Contains(err.Error(), "64 MiB") {
		t.Errorf("too much: %v", err)
	}
	if _, err := load(many, "f"); err == nil || !strings.Contains(err.Error(), "10000 files") {
		t.Errorf("too many: %v", err)
	}
}

func TestTheSamplesAreEventsOfTheirOwn(t *testing.T) {
	t.Parallel()
	p, err := Load("")
	if err != nil {
		t.Fatal(err)
	}
	if len(p.List) < 40 || len(p.Notes) > 0 {
		t.Fatalf("%d samples, left out: %q", len(p.List), p.Notes)
	}
	sources := map[string]bool{}
	for _, x := range p.List {
		sources[x.Source] = true
		if strings.HasPrefix(x.ID, "sha256:") || x.Type == "" {
			t.Errorf("%s in %s has no ID or type that its provider gave: %q %q", x.Body, x.Folder, x.ID, x.Type)
		}
	}
	if len(sources) < 8 {
		t.Errorf("only %d providers", len(sources))
	}
}
