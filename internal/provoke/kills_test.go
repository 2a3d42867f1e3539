package provoke_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/idemtest"
	"github.com/idemsvc/idemsvc/clients/go/webhook"
	"github.com/idemsvc/idemsvc/internal/provoke"
)

// asReceiver makes the test binary behave as a receiver of the named kind, which is told
// the other things by the variables below.
const (
	asReceiver = "RUN_AS_RECEIVER"
	hereVar    = "RECEIVER_ADDRESS"
	serviceVar = "RECEIVER_SERVICE"
	workVar    = "RECEIVER_WORK" // file that gets a line for each event worked on
)

// The kinds.
const (
	guarded   = "guarded"   // by the middleware
	hasty     = "hasty"     // notes the event first, and takes what is noted for being worked on
	stillborn = "stillborn" // ends before it listens
)

// receive is the receiver. It does not return.
func receive(kind string) {
	var h http.Handler
	switch kind {
	case guarded:
		client, err := idemsvc.Dial(os.Getenv(serviceVar), idemsvc.WithNamespace(idemtest.Namespace), idemsvc.WithConsumer(idemtest.Consumer), idemsvc.WithInsecure())
		if err != nil {
			panic(err)
		}
		if h, err = webhook.New(client, webhook.GitHub("secret"), func(_ context.Context, _ *idemsvc.Claim, item *webhook.Item) error {
			return note(item.ID)
		}, webhook.WithClaimOptions(idemsvc.WithLease(time.Second))); err != nil {
			panic(err)
		}
	case hasty:
		h = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			id := r.Header.Get("X-GitHub-Delivery")
			done, err := os.ReadFile(os.Getenv(workVar))
			switch {
			case err == nil && strings.Contains(string(done), "done "+id):
			case err == nil && strings.Contains(string(done), id):
				w.WriteHeader(http.StatusConflict)
			case note(id) == nil:
				time.Sleep(20 * time.Millisecond) // the work, long enough to die in
				_ = note("done " + id)
			}
		})
	default:
		fmt.Fprintln(os.Stderr, "there is no database")
		os.Exit(3)
	}
	lis, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", os.Getenv(hereVar))
	if err != nil {
		panic(err)
	}
	panic((&http.Server{Handler: h, ReadHeaderTimeout: time.Minute}).Serve(lis))
}

// note appends a line to the file of work.
func note(line string) error {
	f, err := os.OpenFile(os.Getenv(workVar), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	_, err = fmt.Fprintln(f, line)
	return err
}

// unused is an address of this machine that nothing listens at.
func unused(t *testing.T) string {
	t.Helper()
	// On Linux, each of these is this machine: nobody else will take the port meanwhile.
	for _, host := range []string{fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254)), "127.0.0.1"} {
		lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", host+":0")
		if err == nil {
			_ = lis.Close()
			return lis.Addr().String()
		}
	}
	t.Fatal("there is no address")
	return ""
}

// command starts the test binary as a receiver at the address, through a shell that stays
// its parent, as wrappers do.
func command(t *testing.T, kind, here, service, work string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	vars := fmt.Sprintf("%s=%s %s=%s %s=%s %s=%s", asReceiver, kind, hereVar, here, serviceVar, service, workVar, work)
	return []string{"sh", "-c", vars + ` "$0"; exit $?`, self}
}

// The middleware passes when its process is killed: whatever was answered stays answered,
// and all that was begun is worked on.
func TestTheMiddlewareSurvivesKills(t *testing.T) {
	t.Parallel()
	service := idemtest.New(t, idemtest.WithLoopback())
	here, work := unused(t), filepath.Join(t.TempDir(), "work")
	results := run(t, provoke.Options{
		URL: "http://" + here, Provider: "github", Secret: "secret", Command: command(t, guarded, here, service.Addr(), work),
	})
	if len(results) != 7 || len(failed(results)) > 0 {
		t.Error(results)
	}
	// 15 of the other cases, one to see how long it takes, and 8 that the receiver was killed at.
	f, err := os.Open(work)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	events := map[string]bool{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		events[lines.Text()] = true
	}
	if len(events) != 24 {
		t.Errorf("%d events were worked on", len(events))
	}
	if conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", here); err == nil {
		_ = conn.Close()
		t.Error("the receiver runs on")
	}
}

// A receiver that takes what it began for what it did leaves events that died with it
// undone for good.
func TestAReceiverThatForgetsItsDeadFails(t *testing.T) {
	t.Parallel()
	here, work := unused(t), filepath.Join(t.TempDir(), "work")
	results := run(t, provoke.Options{
		URL: "http://" + here, Provider: "github", Secret: "secret", Patience: 100 * time.Millisecond, Command: command(t, hasty, here, "-", work),
	})
	if last := results[len(results)-1]; last.Pass || !strings.Contains(last.Saw, "not settled") {
		t.Error(last)
	}
}

// What cannot be started, or would not be what is provoked, is told with its reason.
func TestTheReceiverDoesNotStart(t *testing.T) {
	t.Parallel()
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	for here, want := range map[string]string{
		unused(t):             "exit status 3); the last that was said:\nthere is no database",
		taken.Addr().String(): "something listens at " + taken.Addr().String(),
	} {
		err := provoke.Run(t.Context(), provoke.Options{
			URL: "http://" + here, Provider: "github", Secret: "secret", Command: command(t, stillborn, here, "-", "-"),
		}, func(r provoke.Result) { t.Error(r) })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
