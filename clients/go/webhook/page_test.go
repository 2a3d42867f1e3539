package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

const providersPage = "../../../docs/providers.md"

const providersHead = `<!-- Made from clients/go/webhook/providers.json by «IDEM_UPDATE=1 go test ./clients/go/webhook -run TestProvidersPage»: change that. -->

# Webhook providers

How each provider names, signs, orders and repeats what it sends, as the [middleware](guides/webhooks.md) takes it. The table
behind this page is [one file](../clients/go/webhook/providers.json) for clients of every language.

Read the lines of a provider like this:

- **Key**: what tells its events apart, the first of several that is there. PROVIDER_ID is its own ID; COMPOSITE is put together
  from several fields, because it gives none, and is weaker; PAYLOAD_HASH is the weakest: two honest events with equal content
  are one. Several parts are joined with their lengths, so that no two lists of parts are one key.
- **Order**: the hint at the order of events about one resource. No provider guarantees the order of arrival.
- **Differs between tries**: what the fingerprint leaves out, so that a retry does not look like another event.
- **Keep for**: how long an event must be remembered at least, so that the last retry or resend still is a duplicate.
- **Not confirmed**: believed, but not found in the provider's own words.

Values are written as a path in the event (` + "`data.object.id`; `*`" + ` is every member), ` + "`body:path`" + ` in the whole body, ` + "`header:Name`" + `,
` + "`form:Field`, or `=literal`" + `. A question mark at the end: may be missing.

A key that is a header (GitHub, Shopify, Bitbucket, Linear, GitLab) is not covered by the signature: whoever can read a delivery
can send it again under another key, so keep TLS up to the handler. Signatures without a time stop no replay by themselves: the
record of what was processed does.
`

// The page about providers says what the table says.
func TestProvidersPage(t *testing.T) {
	t.Parallel()
	all, err := table()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	out.WriteString(providersHead)
	for _, r := range all {
		writeProvider(&out, r)
	}
	got := out.String()
	if os.Getenv("IDEM_UPDATE") != "" {
		if err := os.WriteFile(providersPage, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(providersPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("docs/providers.md differs from providers.json; its first line says how to make it")
	}
}

func writeProvider(out *strings.Builder, r *recipe) {
	fmt.Fprintf(out, "\n## %s\n\n", r.Title)
	if r.Like != "" {
		fmt.Fprintf(out, "Like %s, where nothing else is said.\n\n", titleOf(r.Like))
	}
	line := func(what, format string, args ...any) {
		if s := fmt.Sprintf(format, args...); s != "" {
			fmt.Fprintf(out, "- **%s**: %s\n", what, s)
		}
	}
	line("Source", "`%s`", r.Name)
	id := &r.Identity
	var keys []string
	for _, k := range id.Key {
		keys = append(keys, fmt.Sprintf("%s (%s)", code(k.Of, " + "), k.Quality))
	}
	if id.HashKey {
		keys = append(keys, "a hash of the event (PAYLOAD_HASH)")
	}
	line("Key", "%s", strings.Join(append(keys, list0(id.Code)...), "; else "))
	line("Events in a request", "%s", code(list0(id.Items), ""))
	var kinds, resources []string
	for _, k := range id.Type {
		kinds = append(kinds, code(k, " + "))
	}
	for _, x := range id.Resource {
		resources = append(resources, code(x.ID, " + ")+" of type "+code([]string{x.Type}, ""))
	}
	line("Type", "%s", strings.Join(kinds, "; else "))
	line("Resource", "%s", strings.Join(resources, "; else "))
	line("Occurred at", "%s", times(id.OccurredAt))
	line("Order", "%s", strings.Join(slices.Concat(list0(times(id.Order)), list0(id.WeakOrder)), " – "))
	if id.Attempt != nil {
		line("Try", "`%s`, %d for the first", id.Attempt.Of, id.Attempt.First)
	}
	line("Differs between tries", "%s", code(id.Volatile, ", "))
	line("Signature", "%s", signature(&r.Authenticity))
	answer := fmt.Sprintf("%d for what is settled, new and duplicate alike", r.Answer.Success)
	if r.Answer.Stop != 0 {
		answer += fmt.Sprintf("; %d for what failed for good", r.Answer.Stop)
	}
	line("Answer", "%s; it takes %s for success", answer, r.Answer.Accepted)
	patience := "not known, 10 s are assumed"
	if r.Delivery.Patience > 0 {
		patience = fmt.Sprintf("%g s", float64(r.Delivery.Patience)/1000)
	}
	line("Patience", "%s", patience)
	line("Retries", "%s", r.Delivery.Retries)
	line("Keep for", "%d days", r.Delivery.Retention)
	line("Mind", "%s", strings.Join(r.Notes, " "))
	line("Not confirmed", "%s", strings.Join(r.Unconfirmed, "; "))
	line("Facts from", "%s", strings.Join(r.Sources, "; "))
}

func titleOf(name string) string {
	r, err := recipeOf(name)
	if err != nil {
		return name
	}
	return r.Title
}

// list0 is a list of what is not empty.
func list0(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

func code(values []string, between string) string {
	out := make([]string, 0, len(values))
	for _, v := range values {
		out = append(out, "`"+v+"`")
	}
	return strings.Join(out, between)
}

func times(rules []timeRule) string {
	var out []string
	for _, r := range rules {
		s := code([]string{r.Of}, "")
		if r.Ranks != nil {
			words := make([]string, 0, len(r.Ranks))
			for w := range r.Ranks {
				words = append(words, w)
			}
			slices.SortFunc(words, func(a, b string) int {
				return slices.Compare([]string{fmt.Sprint(r.Ranks[a]), a}, []string{fmt.Sprint(r.Ranks[b]), b})
			})
			for i, w := range words {
				words[i] = fmt.Sprintf("%s %d", w, r.Ranks[w])
			}
			s += " by rank (" + strings.Join(words, ", ") + ")"
		} else {
			s += " (" + r.Unit + ")"
		}
		out = append(out, s)
	}
	return strings.Join(out, "; else ")
}

func signature(a *authenticity) string {
	var s string
	switch a.Scheme {
	case "hmac", "ecdsa-p256":
		name := "ECDSA P-256 with SHA-256"
		if a.Scheme == "hmac" {
			name = "HMAC-" + strings.ToUpper(a.Hash)
		}
		s = fmt.Sprintf("%s of `%s` in the header `%s`, %s, key as %s", name, a.Signed, a.Headers[0], a.Encoding, a.Key)
		if a.Prefix != "" {
			s += fmt.Sprintf(", after `%s`", a.Prefix)
		}
		if a.List != nil {
			s += fmt.Sprintf(", in a list by `%s`: signatures `%s`, time `%s`", a.List.Separator, a.List.Signature, a.List.Timestamp)
		}
		if a.Timestamp != "" {
			s += fmt.Sprintf(", time in `%s`", a.Timestamp)
		}
	case "token":
		s = fmt.Sprintf("a shared token in the header `%s`; it covers nothing", a.Headers[0])
	default:
		s = a.Describes
	}
	if a.Tolerance > 0 {
		s += fmt.Sprintf(". Older or newer than %d s: late", a.Tolerance)
	} else {
		s += ". No time is signed"
	}
	return s
}

// The table has no field that nobody reads, and says what every provider needs.
func TestTheTableIsWhole(t *testing.T) {
	t.Parallel()
	var file struct {
		Providers []json.RawMessage `json:"providers"`
	}
	if err := json.Unmarshal(recipes, &file); err != nil {
		t.Fatal(err)
	}
	for _, raw := range file.Providers {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		if err := d.Decode(&recipe{}); err != nil {
			t.Errorf("%s: %v", raw[:min(40, len(raw))], err)
		}
	}
	all, err := table()
	if err != nil {
		t.Fatal(err)
	}
	units := []string{unitSeconds, unitMillis, unitRFC3339, unitHTTP, unitJakarta, unitSequence}
	for _, r := range all {
		if _, err := compile(&r.Identity); err != nil {
			t.Errorf("%s: %v", r.Name, err)
		}
		if len(r.Identity.Key) == 0 && r.Identity.Code == "" || r.Title == "" || r.Answer.Success < 200 || r.Answer.Accepted == "" || r.Delivery.Retries == "" || r.Delivery.Retention < 1 || len(r.Sources) == 0 || r.Authenticity.Scheme == "" {
			t.Errorf("%s is not complete: %+v", r.Name, r)
		}
		kinds := map[bool]bool{}
		for _, o := range r.Identity.Order {
			kinds[o.Ranks != nil || o.Unit == unitSequence] = true
		}
		if len(kinds) > 1 {
			t.Errorf("%s orders by sequences and by times: a resource takes one of the two", r.Name)
		}
		for _, rule := range slices.Concat(r.Identity.Order, r.Identity.OccurredAt) {
			if rule.Ranks == nil && !slices.Contains(units, rule.Unit) {
				t.Errorf("%s: the unit %q is not known", r.Name, rule.Unit)
			}
		}
		if len(r.Authenticity.Headers) == 0 && slices.Contains([]string{"hmac", "token", "ecdsa-p256"}, r.Authenticity.Scheme) {
			t.Errorf("%s has no header", r.Name)
		}
	}
}
