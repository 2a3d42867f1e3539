package webhook_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/idemsvc/idemsvc/clients/go/webhook"
)

// payloadsDir names a folder of recorded deliveries that are not part of the project: a
// folder for each provider, of bodies or of {"headers", "body"} in JSON. Tests and fuzzers
// take them, too.
const payloadsDir = "IDEMSVC_TEST_PAYLOADS"

// payload is a recorded delivery.
type payload struct {
	file   string
	folder string // of its provider
	body   string
	header map[string]string
}

// payloads are the recorded deliveries; none unless a folder is named.
func payloads(t testing.TB) (out []payload) {
	t.Helper()
	root := os.Getenv(payloadsDir)
	if root == "" {
		return nil
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Dir(path) == filepath.Clean(root) {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		folder, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
		p := payload{file: rel, folder: folder, body: string(b), header: map[string]string{"Content-Type": "application/json"}}
		var captured struct {
			Headers map[string]string
			Body    json.RawMessage
		}
		if json.Unmarshal(b, &captured) == nil && len(captured.Headers) > 0 && len(captured.Body) > 0 {
			p.body, p.header = string(captured.Body), captured.Headers
			var text string
			if json.Unmarshal(captured.Body, &text) == nil {
				p.body = text
			}
		}
		out = append(out, p)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) == 0 {
		t.Fatalf("%s=%s holds no payloads", payloadsDir, root)
	}
	return out
}

// sound fails unless an event is one that the contract takes, and its key can be told apart
// from every other.
func sound(t *testing.T, p *webhook.Provider, body []byte, i *webhook.Item) {
	t.Helper()
	if strings.TrimSpace(i.ID) == "" || len(i.ID) > 512 || strings.Contains(i.ID, "\x00") {
		t.Errorf("%s: the key %q of %q", p.Name(), i.ID, body)
	}
	if i.Quality == 0 || i.Attempt < 0 {
		t.Errorf("%s: %+v", p.Name(), i)
	}
	joined := i.Quality == webhook.Composite || p.Name() == "cloudevents" || p.Name() == "shopify" || p.Name() == "google-pubsub"
	if n := parts(i.ID); joined && !strings.HasPrefix(i.ID, "sha256:") && n < 2 {
		t.Errorf("%s: the key %q is of several parts and does not tell their lengths", p.Name(), i.ID)
	}
	if r := i.Resource; r != nil && (strings.TrimSpace(r.GetId()) == "" || strings.TrimSpace(r.GetType()) == "" || len(r.GetId()) > 512 || len(r.GetType()) > 512) {
		t.Errorf("%s: the resource %v of %q", p.Name(), r, body)
	}
}

// parts is of how many parts with their lengths a key is; 0 if it is none of those.
func parts(key string) (n int) {
	for key != "" {
		length, rest, ok := strings.Cut(key, ":")
		size, err := strconv.Atoi(length)
		if !ok || err != nil || strconv.Itoa(size) != length || size < 0 || size > len(rest) {
			return 0
		}
		key = rest[size:]
		n++
	}
	return n
}

// No recorded delivery, read as any provider's, yields an event without a key.
func TestRecordedPayloads(t *testing.T) {
	t.Parallel()
	all := payloads(t)
	if all == nil {
		t.Skipf("%s names no folder", payloadsDir)
	}
	of := map[string]int{}
	for _, name := range webhook.Names() {
		p, err := webhook.Named(name, shared(name))
		if name == "cloudevents" {
			p, err = webhook.CloudEvents(), nil
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range all {
			r := request(x.body, x.header)
			items, err := p.Items(r)
			if err != nil {
				continue
			}
			for _, i := range items {
				sound(t, p, r.Body, i)
			}
			if strings.HasPrefix(x.folder, name) || strings.HasSuffix(x.folder, name) {
				of[name] += len(items)
			}
		}
	}
	t.Logf("%d payloads; events of each provider in its own: %v", len(all), of)
}
