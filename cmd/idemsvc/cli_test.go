package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what the tests compare with")

// golden compares with a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != got {
		t.Errorf("%s differs, run the tests of this package with -update and look at the change: %v\n%s", path, err, got)
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	c := &cli{}
	var all strings.Builder
	all.WriteString(idemsvcRun(t, nil, "help").stdout)
	for _, cmd := range c.commands() {
		o := idemsvcRun(t, nil, append(strings.Fields(cmd.name), "--help")...)
		if o.code != exitOK || o.stderr != "" || o.stdout != idemsvcRun(t, nil, append([]string{"help"}, strings.Fields(cmd.name)...)...).stdout {
			t.Errorf("%s: %+v", cmd.name, o)
		}
		all.WriteString("\n--------\n\n" + strings.TrimSuffix(o.stdout, exitHelp))
	}
	golden(t, "help.txt", all.String())
	golden(t, "settings.md", idemsvcRun(t, nil, "settings").stdout)
	for _, args := range [][]string{{}, {"nonsense"}, {"token"}, {"token", "nonsense"}, {"serve", "extra"}, {"version", "extra"}, {"event", "show"}, {"token", "create"}} {
		if o := idemsvcRun(t, nil, args...); o.code != exitUsage {
			t.Errorf("%q: %+v", args, o)
		}
	}
	if o := idemsvcRun(t, nil, "version"); o.code != exitOK || !strings.HasPrefix(o.stdout, "idemsvc ") {
		t.Errorf("%+v", o)
	}
}

// Every setting is complete, and its default is one that is accepted.
func TestTheTableOfSettings(t *testing.T) {
	t.Parallel()
	for _, cmd := range (&cli{}).commands() {
		s, do := cmd.prepare()
		if do == nil || cmd.brief == "" || strings.HasSuffix(cmd.brief, ".") {
			t.Errorf("%s is not complete", cmd.name)
		}
		if _, err := s.parse(nil, environment(nil)); err != nil {
			t.Errorf("%s: defaults: %v", cmd.name, err)
		}
		seen := map[string]bool{}
		for _, x := range s {
			if x.flag == "" || x.set == nil || !strings.HasSuffix(x.doc, ".") || seen[x.flag] || (x.env != "" && seen[x.env]) {
				t.Errorf("%s: setting %q is not complete or appears twice", cmd.name, x.flag)
			}
			if x.env != "" && !strings.HasPrefix(x.env, "IDEMSVC_") {
				t.Errorf("%s: %s", cmd.name, x.env)
			}
			if cmd.name == "serve" && x.env != "IDEMSVC_"+strings.ToUpper(strings.ReplaceAll(x.flag, "-", "_")) {
				t.Errorf("%s and --%s differ", x.env, x.flag)
			}
			seen[x.flag], seen[x.env] = true, true
		}
	}
}

func TestSettingsAreReadInTheirOrder(t *testing.T) {
	t.Parallel()
	vars := map[string]string{"IDEMSVC_LISTEN": "127.0.0.1:1", "IDEMSVC_LOG_LEVEL": "warn", "IDEMSVC_EPHEMERAL": "true", "IDEMSVC_DATABASE_URL": "postgres://u:hunter2@h/d?password=hunter2"}
	cfg := &serveConfig{}
	s := cfg.settings()
	rest, err := s.parse([]string{"--listen", "127.0.0.1:2", "positional", "--log-format=json"}, environment(vars))
	if err != nil || len(rest) != 1 || cfg.listen != "127.0.0.1:2" || cfg.logLevel != "warn" || cfg.logFormat != "json" || !cfg.ephemeral || cfg.poolSize != 10 {
		t.Errorf("%+v %v %v", cfg, rest, err)
	}
	for _, x := range s.logged() {
		if strings.Contains(x.(interface{ String() string }).String(), "hunter2") { //nolint:errcheck,forcetypeassert // slog.Attr
			t.Errorf("%v shows a secret", x)
		}
	}
	secret := setting{secret: true, text: "host=h password=hunter2"}
	if strings.Contains(secret.shown(), "hunter2") {
		t.Error(secret.shown())
	}
}

func TestAllProblemsAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	o := idemsvcRun(t, map[string]string{"IDEMSVC_LOG_LEVEL": "loud"}, "serve", "--pool-size", "many", "--drain-timeout", "1")
	for _, want := range []string{"IDEMSVC_LOG_LEVEL", "--pool-size", "--drain-timeout"} {
		if o.code != exitUsage || !strings.Contains(o.stderr, want) {
			t.Errorf("%s is not named: %+v", want, o)
		}
	}
	o = idemsvcRun(t, nil, "serve", "--listen", "0.0.0.0:0", "--ephemeral", "--tls-cert", "x", "--memory-limit", "3", "--namespaces", "")
	for _, want := range []string{"--ephemeral", "--tls-key", "--memory-limit", "--namespaces"} {
		if o.code != exitUsage || !strings.Contains(o.stderr, want) {
			t.Errorf("%s is not named: %+v", want, o)
		}
	}
}

// Without TLS and tokens nobody but this machine is served.
func TestItFailsClosed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, listen := range []string{"0.0.0.0:0", "[::]:0", ":0", "example.com:0", "192.0.2.1:0"} {
		for _, args := range [][]string{{}, {"--tokens", filepath.Join(dir, "t.json")}} {
			o := idemsvcRun(t, nil, append([]string{"serve", "--data-dir", dir, "--listen", listen}, args...)...)
			if o.code != exitUsage || !strings.Contains(o.stderr, "--insecure-non-loopback") {
				t.Errorf("%s %v: %+v", listen, args, o)
			}
		}
	}
	if o := idemsvcRun(t, nil, "serve", "--ephemeral", "--insecure-non-loopback", "--listen", "0.0.0.0:0"); o.code != exitUsage {
		t.Errorf("%+v", o)
	}
	if o := idemsvcRun(t, nil, "serve", "--ephemeral", "--listen", "127.0.0.1:0", "--tokens", filepath.Join(dir, "none.json")); o.code != exitUsage || !strings.Contains(o.stderr, "token create") {
		t.Errorf("%+v", o)
	}
}

func TestTextOfOthersIsSafeForTerminals(t *testing.T) {
	t.Parallel()
	if got := safe("a\x1b[2Jb\u202ec"); strings.ContainsAny(got, "\x1b\u202e") {
		t.Errorf("%q", got)
	}
	var out bytes.Buffer
	(settings{{flag: "f", env: "E", def: "d", doc: "a|b."}}).markdown(&out)
	if !strings.Contains(out.String(), "| `--f` | `E` | `d` | a\\|b. |") {
		t.Error(out.String())
	}
}
