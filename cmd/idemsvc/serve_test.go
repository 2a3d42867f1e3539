package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/internal/pgtest"
	"github.com/idemsvc/idemsvc/storage/postgres"
)

func TestServeEphemeral(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, in := io.Pipe()
	var log lockedBuffer
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"serve", "--ephemeral", "--listen", "127.0.0.1:0"}, environment(nil), strings.NewReader(""), in, &log)
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	addr := addressIn(line)
	if err != nil || addr == "" || !strings.Contains(log.String(), "NOT DURABLE") || !strings.Contains(line, "NOT DURABLE") {
		t.Fatalf("%q %v\n%s", line, err, &log)
	}
	c := dial(t, addr)
	if err := process(ctx, c, "evt_1"); err != nil {
		t.Fatal(err)
	}
	wantDuplicate(t, c, "evt_1")
	vars := map[string]string{"IDEMSVC_ADDRESS": addr}
	if o := idemsvcRun(t, vars, "health"); o.code != exitOK {
		t.Errorf("%+v", o)
	}
	if o := idemsvcRun(t, vars, "health", "--liveness"); o.code != exitOK {
		t.Errorf("%+v", o)
	}
	o := idemsvcRun(t, vars, "event", "show", "evt_1", "--payload")
	first, _, _ := strings.Cut(o.stdout, "\n")
	if o.code != exitOK || !strings.HasPrefix(first, "evt_1 from stripe (invoice.paid) came") ||
		!strings.Contains(first, "billing processed it in 1 attempt") || !strings.HasSuffix(first, "nothing is owed, nothing to do.") || !strings.Contains(o.stdout, "result of evt_1") {
		t.Errorf("%+v", o)
	}
	if o := idemsvcRun(t, vars, "event", "show", "dev", "evt_1", "--json"); o.code != exitOK || !strings.Contains(o.stdout, `"event_id"`) {
		t.Errorf("%+v", o)
	}
	if o := idemsvcRun(t, vars, "health", "--json"); o.code != exitOK || !strings.Contains(o.stdout, `"ready": true`) {
		t.Errorf("%+v", o)
	}
	if o := idemsvcRun(t, vars, "event", "show", "nothing"); o.code != exitNotFound {
		t.Errorf("%+v", o)
	}
	if o := idemsvcRun(t, vars, "event", "show", "foreign", "evt_1"); o.code != exitRefused {
		t.Errorf("%+v", o)
	}
	stop()
	if got := <-code; got != exitOK {
		t.Errorf("ended with %d\n%s", got, &log)
	}
	if o := idemsvcRun(t, vars, "health", "--timeout", "500ms"); o.code != exitUnavailable {
		t.Errorf("%+v", o)
	}
}

// A server of its own PostgreSQL that is killed has everything when it comes back.
func TestTheOwnDatabaseSurvivesKill(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	p := startProgram(t, "--data-dir", dir)
	if err := process(t.Context(), dial(t, p.addr), "evt_1"); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.wait()
	again := startProgram(t, "--data-dir", dir)
	wantDuplicate(t, dial(t, again.addr), "evt_1")
}

// A server that is stopped under load answers nothing that it then forgets.
func TestSIGTERMUnderLoadLosesNothing(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	p := startProgram(t, "--data-dir", dir)
	c := dial(t, p.addr, idemsvc.WithMaxRepeats(0))
	var mu sync.Mutex
	var answered []string
	loaded := make(chan struct{}) // closed once the load runs
	var stopping atomic.Bool
	var callers sync.WaitGroup
	for i := range 16 {
		callers.Go(func() {
			for n := 0; ; n++ {
				id := fmt.Sprintf("evt-%d-%d", i, n)
				if err := process(t.Context(), c, id); err != nil {
					if _, ok := errors.AsType[*idemsvc.Error](err); !ok {
						t.Error(err)
					}
					if stopping.Load() {
						return
					}
					time.Sleep(10 * time.Millisecond) // not ready yet, or too busy for a moment
					continue
				}
				mu.Lock()
				if answered = append(answered, id); len(answered) == 100 {
					close(loaded)
				}
				mu.Unlock()
			}
		})
	}
	select {
	case <-loaded:
	case <-time.After(time.Minute):
		t.Error("the load does not run")
	}
	stopping.Store(true)
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	callers.Wait()
	if err := p.wait(); err != nil {
		t.Fatalf("%v\n%s", err, p.stderr)
	}
	again := dial(t, startProgram(t, "--data-dir", dir).addr)
	for _, id := range answered {
		wantDuplicate(t, again, id)
	}
}

func TestTokensAreMadeUsedAndRevoked(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens.json")
	vars := map[string]string{"IDEMSVC_TOKENS": file}
	made := idemsvcRun(t, vars, "token", "create", "--name", "billing", "--namespaces", "dev,test")
	token := strings.TrimSpace(made.stdout)
	if made.code != exitOK || token == "" {
		t.Fatalf("%+v", made)
	}
	p := startProgram(t, "--ephemeral", "--tokens", file)
	c := dial(t, p.addr, idemsvc.WithToken(token))
	if err := process(t.Context(), c, "evt_1"); err != nil {
		t.Fatal(err)
	}
	if err := process(t.Context(), dial(t, p.addr), "evt_1"); !errors.Is(err, idemsvc.ErrUnauthenticated) {
		t.Errorf("without a token: %v", err)
	}
	if o := idemsvcRun(t, map[string]string{"IDEMSVC_ADDRESS": p.addr, "IDEMSVC_TOKEN": token}, "event", "show", "evt_1"); o.code != exitRefused {
		t.Errorf("a consumer looks things up: %+v", o)
	}
	listed := idemsvcRun(t, vars, "token", "list")
	if listed.code != exitOK || !strings.Contains(listed.stdout, "billing") || strings.Contains(listed.stdout, token) {
		t.Errorf("%+v", listed)
	}
	id := strings.Fields(strings.Split(listed.stdout, "\n")[1])[0]
	if o := idemsvcRun(t, vars, "token", "revoke", "tok_none"); o.code != exitNotFound {
		t.Errorf("%+v", o)
	}
	if o := idemsvcRun(t, vars, "token", "revoke", id); o.code != exitOK {
		t.Errorf("%+v", o)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	end := time.Now().Add(20 * time.Second)
	for time.Now().Before(end) {
		if err := process(t.Context(), c, "evt_2"); errors.Is(err, idemsvc.ErrUnauthenticated) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Error("the token still works")
}

func TestTokensForScripts(t *testing.T) {
	t.Parallel()
	vars := map[string]string{"IDEMSVC_TOKENS": filepath.Join(t.TempDir(), "tokens.json")}
	for _, args := range [][]string{{"token", "list"}, {"token", "revoke", "tok_1"}} {
		if o := idemsvcRun(t, vars, args...); o.code != exitNotFound || !strings.Contains(o.stderr, "token create") {
			t.Errorf("%q: %+v", args, o)
		}
	}
	var made tokenJSON
	o := idemsvcRun(t, vars, "token", "create", "--name", "a", "--namespaces", "x,y", "--role", "reader", "--ttl", "1h", "--json")
	if o.code != exitOK || o.stderr != "" || json.Unmarshal([]byte(o.stdout), &made) != nil || made.Token == "" || made.Role != "reader" || made.ExpiresAt == nil {
		t.Fatalf("%+v", o)
	}
	var listed, revoked []tokenJSON
	o = idemsvcRun(t, vars, "token", "list", "--json")
	if o.code != exitOK || json.Unmarshal([]byte(o.stdout), &listed) != nil || len(listed) != 1 || listed[0].ID != made.ID || len(listed[0].Namespaces) != 2 || strings.Contains(o.stdout, made.Token) {
		t.Errorf("%+v", o)
	}
	o = idemsvcRun(t, vars, "token", "revoke", made.ID, "--json")
	if o.code != exitOK || json.Unmarshal([]byte(o.stdout), &revoked) != nil || len(revoked) != 1 || revoked[0].ID != made.ID {
		t.Errorf("%+v", o)
	}
	if o = idemsvcRun(t, vars, "token", "list", "--json"); o.code != exitOK || o.stdout != "[]\n" {
		t.Errorf("%+v", o)
	}
	for _, args := range [][]string{{"--name", " "}, {"--name", "a", "--namespaces", strings.Repeat("n", 513)}, {"--name", "a", "--ttl", "5ms"}} {
		if o := idemsvcRun(t, vars, append([]string{"token", "create", "--namespaces", "n"}, args...)...); o.code != exitUsage || o.stdout != "" {
			t.Errorf("%q: %+v", args, o)
		}
	}
}

func TestMigrationsForScripts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, args := range [][]string{{"migrate", "status"}, {"migrate", "new-epoch"}} {
		if o := idemsvcRun(t, map[string]string{"IDEMSVC_DATA_DIR": dir}, args...); o.code != exitNotFound || !strings.Contains(o.stderr, "there is no database in "+dir) {
			t.Errorf("%q: %+v", args, o)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("asking has made %v %v", left, err)
	}
	vars := map[string]string{"IDEMSVC_DATABASE_URL": pgtest.Database(t, "empty", nil)}
	for _, c := range []struct{ args, want string }{
		{"migrate up", `{"applied":[{"version":1,"name":"authority"}`},
		{"migrate up", `{"applied":[],"schema":`},
		{"migrate status", `,"current":true}`},
		{"migrate print", `[{"version":1,"name":"authority","sql":"`},
		{"migrate new-epoch", `{"epoch":`},
	} {
		o := idemsvcRun(t, vars, append(strings.Fields(c.args), "--json")...)
		var got bytes.Buffer
		if err := json.Compact(&got, []byte(o.stdout)); err != nil || o.code != exitOK || !strings.Contains(got.String(), c.want) {
			t.Errorf("%s: %.200s %s", c.args, o.stdout, o.stderr)
		}
	}
}

// Callers of a server in memory move its clock.
func TestTheClockOfAnEphemeralServer(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "--ephemeral")
	c := dial(t, p.addr)
	first, err := c.Claim(t.Context(), &idemsvc.Event{Source: "stripe", EventId: "evt_1"})
	if err != nil || first.Claim == nil {
		t.Fatalf("%v %v", first, err)
	}
	if a, err := c.Claim(t.Context(), &idemsvc.Event{Source: "stripe", EventId: "evt_1"}); err != nil || a.Claim != nil {
		t.Fatalf("it is claimed twice: %v %v", a, err)
	}
	if _, err := pb.NewTestingServiceClient(c.Conn()).AdvanceClock(t.Context(), &pb.AdvanceClockRequest{By: durationpb.New(24 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if a, err := c.Claim(t.Context(), &idemsvc.Event{Source: "stripe", EventId: "evt_1"}); err != nil || a.Claim == nil {
		t.Fatalf("a day later: %v %v", a, err)
	}
}

func TestStoppedBeforeItIsReady(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	var log lockedBuffer
	code := make(chan int, 1)
	go func() {
		args := []string{"serve", "--listen", "127.0.0.1:0", "--database-url", "postgres://me@127.0.0.1:1/db", "--start-timeout", "1h"}
		code <- run(ctx, args, environment(nil), strings.NewReader(""), io.Discard, &log)
	}()
	for !strings.Contains(log.String(), "is tried again") {
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	if got := <-code; got != exitFailed || !strings.HasSuffix(log.String(), "idemsvc serve: stopped before it was ready\n") {
		t.Errorf("%d\n%s", got, &log)
	}
}

func TestAnAddressInUse(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lis.Close() }()
	addr := lis.Addr().String()
	o := idemsvcRun(t, nil, "serve", "--data-dir", filepath.Join(dir, "data"), "--listen", addr)
	if o.code != exitFailed || !strings.Contains(o.stderr, "another program listens on "+addr) {
		t.Errorf("%+v", o)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("it has made %v %v before it looked", left, err)
	}
}

// A second server on one directory is told what is the matter; the first one goes on.
func TestTheOwnDatabaseIsTheOnly(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	p := startProgram(t, "--data-dir", dir)
	for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"migrate", "status"}} {
		o := idemsvcRun(t, nil, append(args, "--data-dir", dir)...)
		if o.code != exitFailed || !strings.Contains(o.stderr, "data directory is in use") || !strings.Contains(o.stderr, "--data-dir") {
			t.Errorf("%q: %+v", args, o)
		}
	}
	if err := process(t.Context(), dial(t, p.addr), "evt_1"); err != nil {
		t.Error(err)
	}
}

func TestTheDatabaseIsMigratedFirst(t *testing.T) {
	t.Parallel()
	vars := map[string]string{"IDEMSVC_DATABASE_URL": pgtest.Database(t, "empty", nil)}
	if o := idemsvcRun(t, vars, "serve", "--listen", "127.0.0.1:0"); o.code != exitFailed || !strings.Contains(o.stderr, "idemsvc migrate up") {
		t.Errorf("%+v", o)
	}
	if o := idemsvcRun(t, vars, "migrate", "status"); o.code != exitFailed || !strings.Contains(o.stdout, "schema 0,") {
		t.Errorf("%+v", o)
	}
	if o := idemsvcRun(t, vars, "migrate", "up"); o.code != exitOK || !strings.Contains(o.stdout, "applied 0001_") {
		t.Errorf("%+v", o)
	}
	if o := idemsvcRun(t, vars, "migrate", "up"); o.code != exitOK || !strings.Contains(o.stdout, "nothing to do") {
		t.Errorf("%+v", o)
	}
	if o := idemsvcRun(t, vars, "migrate", "status"); o.code != exitOK {
		t.Errorf("%+v", o)
	}
	if o := idemsvcRun(t, vars, "migrate", "new-epoch"); o.code != exitOK || !strings.Contains(o.stdout, "has begun") {
		t.Errorf("%+v", o)
	}
	if o := idemsvcRun(t, vars, "migrate", "print"); o.code != exitOK || !strings.Contains(o.stdout, postgres.Migrations()[0].SQL) {
		t.Errorf("%+v", o)
	}
}

func TestAnUnreachableDatabaseIsUnavailable(t *testing.T) {
	t.Parallel()
	vars := map[string]string{"IDEMSVC_DATABASE_URL": "postgres://me:hunter2@127.0.0.1:1/db"}
	o := idemsvcRun(t, vars, "serve", "--listen", "127.0.0.1:0", "--start-timeout", "0s")
	if o.code != exitUnavailable || strings.Contains(o.stderr, "hunter2") {
		t.Errorf("%+v", o)
	}
}
