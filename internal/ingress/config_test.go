package ingress

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/idemsvc/idemsvc/internal/yamlfile"
)

// variables is an environment.
func variables(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}
}

// Everything that is wrong with a file is told at once, each with its line, its field and,
// where there is one, the limit. No secret is in what is told.
func TestWhatIsWrongIsToldWithItsLine(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := variables(map[string]string{"S": "do-not-show", "BLANK": " "})
	const good = "sources:\n  - path: /a\n    provider: stripe\n    consumers: [c]\n    secrets: [{env: S}]\n"
	for _, c := range []struct{ file, want string }{
		{"", "line 1: the file is empty"},
		{"a: b: c", "mapping values are not allowed"},
		{"a: 1", "line 1: there is no field a|line 1: sources is missing"},
		{"sources: []", "line 1: sources must be a list of 1 to 256"},
		{good + "---\nsources: []", "line 6: a file holds one document"},
		{"sources:\n  - x", "line 2: a source is no mapping"},
		{"sources:\n  - path: /a", "line 2: provider is missing|line 2: consumers is missing"},
		{good + "    maxbody: 1MiB", "line 6: a source has no field maxbody: is max_body meant?"},
		{good + "    path: /b", "line 6: path stands in line 2 already"},
		{good + "    max_body: 1", "line 6: max_body: \"1\" must be 1024 to 67108864 bytes"},
		{good + "    max_body: 65MiB", "line 6: max_body: \"65MiB\" must be 1024 to 67108864 bytes"},
		{good + "    max_body: 99999999999GiB", "line 6: max_body"},
		{good + "    outage: LOCAL", "line 6: outage: \"LOCAL\" is none of REJECT, SPOOL"},
		{good + "    outage: SPOOL", "line 6: outage: SPOOL needs a spool"},
		{good + "    spool: {dir: x}", "line 6: spool has no use with outage: REJECT"},
		{good + "    outage: SPOOL\n    spool:\n      dir: x\n      max: 1KiB", "line 9: max: \"1KiB\" must be 65536"},
		{good + "    ordering: maybe", "line 6: ordering must be true or false"},
		{good + "    tolerance: -1s", "line 6: tolerance must be a time"},
		{good + "    url: https://shop.example", "line 6: stripe has no use for url"},
		{good + "    unsigned: true", "line 6: unsigned is for cloudevents and generic alone"},
		{good + "    generic: {key: [id]}", "line 6: generic describes a sender that has no provider"},
		{strings.ReplaceAll(good, "/a", "a"), "line 2: path: \"a\" must begin with /"},
		{strings.ReplaceAll(good, "/a", "/a/../b"), "line 2: path"},
		{strings.ReplaceAll(good, "/a", "/healthz"), "line 2: path: /healthz tells whether"},
		{strings.ReplaceAll(good, "/a", "/"+strings.Repeat("a", 512)), "line 2: path has 513 bytes, and may have 512"},
		{strings.ReplaceAll(good, "stripe", "strpe"), "line 3: there is no provider \"strpe\""},
		{strings.ReplaceAll(good, "[c]", "[]"), "line 4: consumers must be a list of 1 to 32"},
		{strings.ReplaceAll(good, "[c]", "[c, c]"), "line 4: consumers: \"c\" is there twice"},
		{strings.ReplaceAll(good, "{env: S}", "do-not-show"), "line 5: secrets: write «env: NAME» or «file: PATH»"},
		{strings.ReplaceAll(good, "{env: S}", "{env: T}"), "line 5: secrets: the variable T is not set"},
		{strings.ReplaceAll(good, "{env: S}", "{env: BLANK}"), "line 5: secrets: the variable BLANK is not set"},
		{strings.ReplaceAll(good, "{env: S}", "{env: S, file: x}"), "line 5: secrets: write"},
		{strings.ReplaceAll(good, "{env: S}", "{file: "+empty+"}"), "line 5: secrets: " + empty + " is empty"},
		{strings.ReplaceAll(good, "{env: S}", "{file: /nowhere}"), "line 5: secrets: open /nowhere"},
		{strings.ReplaceAll(good, "{env: S}", strings.Repeat("{env: S}, ", 9)), "line 5: secrets must be a list of 1 to 8"},
		{strings.ReplaceAll(good, "stripe", "adyen"), "line 3: adyen: a secret is not hexadecimal"},
		{good + strings.TrimPrefix(good, "sources:\n"), "line 6: path: /a is the path of the source in line 2 already"},
		{"sources:\n  - {path: /a, provider: twilio, consumers: [c], secrets: [{env: S}]}", "line 2: twilio needs url"},
		{"sources:\n  - {path: /a, provider: cloudevents, consumers: [c]}", "line 2: cloudevents needs secrets, or «unsigned: true»"},
		{"sources:\n  - {path: /a, provider: generic, consumers: [c], unsigned: true}", "line 2: source is missing"},
		{"sources:\n  - {path: /a, provider: generic, source: x, consumers: [c], secrets: [{env: S}],\n    generic: {key: [id]}}", "line 3: x: the header of the signature is missing"},
	} {
		_, err := Read(strings.NewReader(c.file), env)
		if err == nil {
			t.Errorf("it is right:\n%s", c.file)
			continue
		}
		got := err.Error()
		if bad, ok := errors.AsType[yamlfile.Problems](err); ok && len(bad) != len(strings.Split(c.want, "|")) {
			t.Errorf("%d things are wrong: %s\n%s", len(bad), got, c.file)
		}
		for want := range strings.SplitSeq(c.want, "|") {
			if !strings.Contains(got, want) {
				t.Errorf("%q does not say %q:\n%s", got, want, c.file)
			}
		}
		if strings.Contains(got, "do-not-show") {
			t.Errorf("a secret is shown: %s", got)
		}
	}
}

// Two sources cannot have one spool, and there cannot be too many of them.
func TestSourcesTogether(t *testing.T) {
	t.Parallel()
	env := variables(map[string]string{"S": "s"})
	source := func(path, dir string) string {
		return fmt.Sprintf("  - {path: %s, provider: github, consumers: [c], secrets: [{env: S}], outage: SPOOL, spool: {dir: %s}}\n", path, dir)
	}
	if _, err := Read(strings.NewReader("sources:\n"+source("/a", "x/y")+source("/b", "x/./y")), env); err == nil || !strings.Contains(err.Error(), "line 3: spool: the folder x/y belongs to the source in line 2") {
		t.Errorf("%v", err)
	}
	var many strings.Builder
	many.WriteString("sources:\n")
	for i := range 257 {
		many.WriteString(source(fmt.Sprint("/", i), fmt.Sprint("x/", i)))
	}
	if _, err := Read(strings.NewReader(many.String()), env); err == nil || !strings.Contains(err.Error(), "list of 1 to 256") {
		t.Errorf("%v", err)
	}
}
