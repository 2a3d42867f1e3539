package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what the tests compare with")

// golden compares with a file.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != got {
		t.Errorf("%s differs, run the tests of this package with -update and look at the change: %v\n%s", path, err, got)
	}
}

// The pages about the command line and its settings are what the program says of itself.
func TestThePagesAreUpToDate(t *testing.T) {
	t.Parallel()
	c := &cli{}
	page := strings.Builder{}
	page.WriteString(cliPage)
	for code, meaning := range exitMeanings {
		fmt.Fprintf(&page, "| %d | %s |\n", code, meaning)
	}
	for _, cmd := range c.commands() {
		o := idemsvcRun(t, nil, append(strings.Fields(cmd.name), "--help")...)
		if o.code != exitOK || o.stderr != "" || o.stdout != idemsvcRun(t, nil, append([]string{"help"}, strings.Fields(cmd.name)...)...).stdout {
			t.Errorf("%s: %+v", cmd.name, o)
		}
		fmt.Fprintf(&page, "\n## idemsvc %s\n\n```\n%s```\n", cmd.name, o.stdout)
	}
	golden(t, "../../docs/cli.md", page.String())
	golden(t, "../../docs/settings.md", settingsPage+idemsvcRun(t, nil, "settings").stdout)
	golden(t, "../../docs/policies.md", policiesPage())
}

const generated = "<!-- Made by «go test ./cmd/idemsvc -run TestThePagesAreUpToDate -update»: change the program instead. -->\n\n"

const cliPage = generated + `# The command line

Results go to the standard output: text for people, whose wording may change, or with ` + "`--json`" + ` JSON for scripts, to whose
fields later versions only add. Everything else, errors and the server's log among it, goes to the standard error as text.
Scripts act on the exit code.

Flags may stand anywhere; what follows ` + "`--`" + ` is no flag. Most may be given by the environment, which a flag overrides; a variable
that is empty counts as not set. [settings.md](settings.md) has those of the server as a table.

| exit code | meaning |
| --- | --- |
`

const settingsPage = generated + `# The settings of «idemsvc serve»

A flag overrides its variable of the environment, which overrides the default; an empty variable counts as not set. Before
anything is started, all that cannot be read is reported at once, and then all that does not go together. The server logs what
is in force when it starts, without secrets.
Times are written such as 1m30s or 250ms. Beside these, GOGC and GOMEMLIMIT are obeyed, and IDEMSVC_PG_BIN names the folder of
the programs for a PostgreSQL of its own.

`

func TestHelp(t *testing.T) {
	t.Parallel()
	overview := idemsvcRun(t, nil, "help")
	for _, args := range [][]string{{"--help"}, {"-h"}} {
		if o := idemsvcRun(t, nil, args...); o != overview || o.code != exitOK {
			t.Errorf("%q: %+v", args, o)
		}
	}
	if o := idemsvcRun(t, nil); o.code != exitUsage || o.stdout != overview.stdout {
		t.Errorf("%+v", o)
	}
	for _, cmd := range (&cli{}).commands() {
		if !strings.Contains(overview.stdout, "\n  "+cmd.name+" ") {
			t.Errorf("%s is not in\n%s", cmd.name, overview.stdout)
		}
	}
	for _, args := range [][]string{{"help", "token"}, {"token", "--help"}, {"token", "-h"}} {
		if o := idemsvcRun(t, nil, args...); o.code != exitOK || !strings.Contains(o.stdout, "token revoke") || strings.Contains(o.stdout, "serve") {
			t.Errorf("%q: %+v", args, o)
		}
	}
	if o := idemsvcRun(t, nil, "help", helpExitCodes); o.code != exitOK || !strings.Contains(o.stdout, "\n  5  access was refused") {
		t.Errorf("%+v", o)
	}
}

func TestMistakesOnTheCommandLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"nonsense", `there is no command "nonsense"`},
		{"srve", "is «serve» meant?"},
		{"token", "use one of «token create», «token list», «token revoke»"},
		{"token nonsense", `"token nonsense" is no command`},
		{"help nonsense", `there is no command "nonsense"`},
		{"serve extra", `unexpected argument "extra"`},
		{"serve -- --json", `unexpected argument "--json"`},
		{"version extra", `unexpected argument "extra"`},
		{"event show", "name an event"},
		{"token create", "--tokens is required"},
		{"token list", "--tokens is required"},
		{"serve --databse-url x", "there is no flag --databse-url: is --database-url meant?"},
		{"serve --nonsense", "there is no flag --nonsense"},
		{"serve --listen", "--listen needs a value: HOST:PORT"},
		{"serve --listen --ephemeral", "--listen needs a value: HOST:PORT"},
		{"serve --ephemeral=perhaps", `--ephemeral: "perhaps" is neither true nor false`},
		{"serve --log-level loud", `--log-level: "loud" is none of debug, info, warn, error`},
		{"completion csh", "bash, zsh or fish"},
		{"serve --listen foo", "--listen: address foo: missing port"},
		{"serve --listen 127.0.0.1:99999", `--listen: "99999" is not a port`},
	} {
		o := idemsvcRun(t, nil, strings.Fields(c.args)...)
		if o.code != exitUsage || !strings.Contains(o.stderr, c.want) || o.stdout != "" {
			t.Errorf("%s: %+v", c.args, o)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"version", "--version"} {
		if o := idemsvcRun(t, nil, args); o.code != exitOK || !strings.HasPrefix(o.stdout, "idemsvc "+version()+", schema ") {
			t.Errorf("%+v", o)
		}
	}
	var v versionJSON
	if o := idemsvcRun(t, nil, "version", "--json"); json.Unmarshal([]byte(o.stdout), &v) != nil || v.Version != version() || v.Schema < 1 || v.Arch == "" {
		t.Errorf("%+v", o)
	}
	of := func(v string) *debug.BuildInfo { return &debug.BuildInfo{Main: debug.Module{Version: v}} }
	for _, c := range []struct {
		stamp string
		info  *debug.BuildInfo
		want  string
	}{
		{"1.2.3", of("v9.9.9"), "1.2.3"}, {"", of("v1.4.0"), "1.4.0"}, {"", of("(devel)"), unstamped}, {"", of(""), unstamped}, {"", nil, unstamped},
	} {
		if got := versionOf(c.stamp, c.info); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
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
	o := idemsvcRun(t, map[string]string{"IDEMSVC_LOG_LEVEL": "loud"}, "serve", "--pool-size", "many", "--drain-timeout", "1", "--memory-limit", "3", "--nonsense")
	for _, want := range []string{"IDEMSVC_LOG_LEVEL", "--pool-size", "--drain-timeout", "--memory-limit", "--nonsense"} {
		if o.code != exitUsage || !strings.Contains(o.stderr, want) {
			t.Errorf("%s is not named: %+v", want, o)
		}
	}
	o = idemsvcRun(t, nil, "serve", "--listen", "0.0.0.0:0", "--ephemeral", "--tls-cert", "x", "--namespaces", "", "--database-url", "postgres://h/d")
	for _, want := range []string{"--ephemeral serves", "--tls-key", "--database-url has", "--namespaces"} {
		if o.code != exitUsage || !strings.Contains(o.stderr, want) {
			t.Errorf("%s is not named: %+v", want, o)
		}
	}
}

func TestLimitsOfMemory(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"off": 0, "16777216": 16 << 20, "512MiB": 512 << 20, "2GiB": 2 << 30, "16384KiB": 16 << 20, "1TiB": 1 << 40} {
		var got int64
		if err := byteLimit(&got)(text); err != nil || got != want {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "3", "15MiB", "1GB", "-1GiB", "9223372036854775807KiB", "99999999999999999999"} {
		if err := byteLimit(new(int64))(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	var auto int64
	if err := byteLimit(&auto)("auto"); err != nil || auto < 0 {
		t.Errorf("%d %v", auto, err)
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
