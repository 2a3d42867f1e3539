//go:build unix

package docs_test

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idemsvc/idemsvc/internal/docrun"
	"github.com/idemsvc/idemsvc/internal/pgtest"
)

const (
	tourProgram    = "clients/go/examples/tour/main.go"
	defaultAddress = "127.0.0.1:7443"
	publicAddress  = "0.0.0.0:7443"
)

// The headings of the README below which commands stand, and the tests that try them.
const (
	twoCommands  = "Two commands"        // TestTheTwoCommands
	twoMinutes   = "Two minutes with it" // TestTheCommandsOfTheREADME
	inProduction = "In production"       // TestTheCommandsOfTheREADME
)

// No block of the README goes untested: each is known to one of the tests here.
func TestEveryBlockOfTheREADMEIsTested(t *testing.T) {
	t.Parallel()
	readme := readFile(t, "README.md")
	blocks := blocksOf(t, readme)
	for i, b := range blocks {
		ok := false
		switch b.Language {
		case "sh":
			ok = b.Heading == twoCommands || b.Heading == twoMinutes || b.Heading == inProduction
		case "": // what the commands above it print
			ok = i > 0 && blocks[i-1].Language == "sh" && blocks[i-1].Heading == twoMinutes && b.Heading == twoMinutes
		case "go":
			ok = b.Text == readFile(t, tourProgram) || b.Text == goBlockWith(t, readme, "func once(")
		case "sql": // TestAUniqueIndexIsEnoughForOneDatabase
			ok = b.Text == onlyBlock(t, readme, "sql")
		case "mermaid": // TestThePictureOfStates
			ok = b.Text == onlyBlock(t, readme, "mermaid")
		}
		if !ok {
			t.Errorf("README.md, line %d: no test knows this block:\n%s", b.Line, b.Text)
		}
	}
	if goBlockWith(t, readme, "package main") != readFile(t, tourProgram) {
		t.Errorf("the README does not show %s as it is", tourProgram)
	}
}

// The two commands do what they are said to. The tour runs the first one; the second one
// runs this test, so it is only looked at.
func TestTheTwoCommands(t *testing.T) {
	t.Parallel()
	does := map[string]string{"make run": "build/idemsvc serve --data-dir", "make test": "go test -race -count=1 "}
	for _, b := range blocksOf(t, readFile(t, "README.md")) {
		if b.Heading != twoCommands {
			continue
		}
		for line := range strings.Lines(b.Text) {
			command, _, _ := strings.Cut(line, "#")
			command = strings.TrimSpace(command)
			want := does[command]
			if want == "" {
				t.Errorf("nobody knows what «%s» is to do", command)
				continue
			}
			delete(does, command)
			dry := exec.CommandContext(t.Context(), "make", append([]string{"--dry-run"}, strings.Fields(command)[1:]...)...)
			dry.Dir = repository
			if out, err := dry.Output(); err != nil || !strings.Contains(string(out), want) {
				t.Errorf("%s runs\n%s\nwhich is not %s (%v)", command, out, want, err)
			}
		}
	}
	if len(does) > 0 {
		t.Errorf("the README does not name %v", names(does))
	}
}

// killed is what the shell says of a job that was killed, as it would to a person.
var killed = regexp.MustCompile(`(?m)^(?:bash: line \d+: +\d+|\[\d+\][-+]?) +Killed .*\n`)

// The README's tour, and its commands for production, are run in one shell in a fresh
// copy of the repository and print what the README says. Only where the servers listen,
// and the name of the database's role, are others than on the page.
func TestTheCommandsOfTheREADME(t *testing.T) {
	t.Parallel()
	dir, err := docrun.Copy(t.Context(), repository)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	address, public := freeAddress(t), freeAddress(t)
	role, owner, server := databaseRoles(t)
	certificate(t, dir)
	adapt := strings.NewReplacer(publicAddress, public, defaultAddress, address, "idemsvc_runtime", role).Replace
	tour := filepath.Join(dir, tourProgram)
	if err := os.WriteFile(tour, []byte(adapt(readFile(t, tourProgram))), 0o600); err != nil {
		t.Fatal(err)
	}

	var steps []docrun.Step
	for _, s := range docrun.Steps(blocksOf(t, adapt(readFile(t, "README.md")))) {
		switch s.Heading {
		case twoMinutes:
			steps = append(steps, s)
		case inProduction: // the last command serves until it is stopped
			s.Commands = strings.TrimSpace(s.Commands) + " >production.log 2>&1 &\n" +
				"until idemsvc health --address " + public + " --tls-ca cert.pem 2>/dev/null; do sleep 0.2; done\n"
			s.Prints = "…\n" + public + " is ready\n"
			steps = append(steps, s)
		}
	}
	if len(steps) < 4 {
		t.Fatalf("%d steps were found", len(steps))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	shell := docrun.Shell{Dir: dir, Env: append(os.Environ(),
		"PATH="+filepath.Join(dir, "build")+":"+os.Getenv("PATH"), "IDEMSVC_DATA_DIR=",
		"IDEMSVC_LISTEN="+address, "IDEMSVC_ADDRESS="+address, "OWNER_URL="+owner, "SERVER_URL="+server)}
	printed, err := shell.Run(ctx, steps)
	for i, s := range steps {
		switch {
		case i >= len(printed):
			t.Errorf("not reached:\n%s", s.Commands)
		case !docrun.Matches(s.Prints, killed.ReplaceAllString(printed[i], "")):
			t.Errorf("%s\nprints\n%s\nand not\n%s", s.Commands, printed[i], s.Prints)
		}
	}
	if err != nil {
		t.Errorf("the shell ends with %v", err)
	}
	if t.Failed() {
		for _, name := range []string{"server.log", "production.log"} {
			log, _ := os.ReadFile(filepath.Join(dir, name))
			t.Logf("%s:\n%s", name, log)
		}
	}
}

// freeAddress is a loopback address that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	return lis.Addr().String()
}

// databaseRoles makes an empty database, and the role that a server runs as. The URLs are
// those of the database's owner and of that role.
func databaseRoles(t *testing.T) (role, owner, server string) {
	t.Helper()
	owner = pgtest.Database(t, "empty", nil)
	role = "idemsvc_docs_" + strings.ToLower(rand.Text()[:10])
	conn, err := pgx.Connect(t.Context(), owner)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD 'hunter2'", role)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		defer conn.Close(context.Background())
		if _, err := conn.Exec(context.Background(), fmt.Sprintf("DROP OWNED BY %s; DROP ROLE %s", role, role)); err != nil {
			t.Error(err)
		}
	})
	u, err := url.Parse(owner)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(role, "hunter2")
	return role, owner, u.String()
}

// certificate writes a certificate for 127.0.0.1 and its key, under the README's names.
func certificate(t *testing.T, dir string) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	key, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: s.Certificate().Raw}, "key.pem": {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
