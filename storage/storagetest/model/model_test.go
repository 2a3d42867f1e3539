package model

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/storagetest"
)

func TestMemory(t *testing.T) {
	Check(t, storagetest.Memory)
}

// TestFindsFaults: a backend with a fault does not pass, and the report says how it came
// to that.
func TestFindsFaults(t *testing.T) {
	setFlag(t, "rapid.nofailfile", "true")
	setFlag(t, "rapid.shrinktime", "2s")
	setFlag(t, "rapid.checks", "1000") // the first that fails is the last
	for _, tt := range []struct {
		name   string
		change func(h storagetest.Harness, c idem.Command) idem.Command
		report string // what the shrunk history must show
	}{
		{"NoFenceTest", withoutFenceTest, "complete grant"},
		{"NoIdentity", withoutIdentity, "claim"},
		{"SweepsTheLiving", sweepsTheLiving, "settle"},
		{"ForgetsWhatWasFetched", withoutFetched, "complete grant"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := storagetest.Memory(t)
			log := &recorder{name: t.Name()}
			log.run(func() { rapid.Check(log, property(t, &faulty{Harness: h, change: tt.change})) })
			report := log.String()
			if !log.Failed() {
				t.Fatal("the fault was not found")
			}
			if !strings.Contains(report, "history:") || !strings.Contains(report, tt.report) {
				t.Errorf("the report does not show %q:\n%s", tt.report, report)
			}
			t.Log(report)
		})
	}
}

func setFlag(t *testing.T, name, value string) {
	t.Helper()
	f := flag.Lookup(name)
	old := f.Value.String()
	if err := f.Value.Set(value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Value.Set(old) })
}

// faulty is a backend that carries out other commands than it was given.
type faulty struct {
	storagetest.Harness
	change func(h storagetest.Harness, c idem.Command) idem.Command
}

func (f *faulty) Backend() storage.Backend {
	return &faultyBackend{Backend: f.Harness.Backend(), faulty: f}
}

type faultyBackend struct {
	storage.Backend
	faulty *faulty
}

func (b *faultyBackend) Apply(ctx context.Context, batch []idem.Command) []storage.Result {
	for i, c := range batch {
		batch[i] = b.faulty.change(b.faulty.Harness, c)
	}
	return b.Backend.Apply(ctx, batch)
}

// withoutFenceTest completes whatever claim is the current one.
func withoutFenceTest(h storagetest.Harness, c idem.Command) idem.Command {
	done, ok := c.(*idem.Complete)
	if !ok {
		return c
	}
	if e := unfinished(h, &done.Token); e != nil {
		done.Token.Fence, done.Token.Nonce = e.Fence, e.Nonce
	}
	return done
}

// unfinished is the record of a token's event, nil where it is finished.
func unfinished(h storagetest.Harness, t *idem.Token) *idem.Event {
	found, err := h.Backend().List(context.Background(), storage.ListQuery{
		Namespace: t.Namespace, States: []idem.State{idem.Received, idem.Processing, idem.FailedRetryable, idem.Held}, Limit: storage.MaxListed,
	})
	if err != nil {
		return nil
	}
	for _, v := range found.Views {
		if v.Event.ID() == t.Event {
			return v.Event
		}
	}
	return nil
}

// withoutFetched completes signals as if nothing had been said of what was fetched.
func withoutFetched(h storagetest.Harness, c idem.Command) idem.Command {
	if done, ok := c.(*idem.Complete); ok && done.Applied != nil {
		if e := unfinished(h, &done.Token); e != nil && e.Signals() {
			done.Applied = nil
		}
	}
	return c
}

// withoutIdentity takes each claim for one of a new claimant.
func withoutIdentity(_ storagetest.Harness, c idem.Command) idem.Command {
	if claim, ok := c.(*idem.Claim); ok {
		claim.Claimant += "-" + claim.Facts.RequestID
		if claim.Facts.Kind == idem.ProviderRetry {
			claim.Claimant += "-again"
		}
	}
	return c
}

// sweepsTheLiving ends a lease that has not come to its end.
func sweepsTheLiving(h storagetest.Harness, c idem.Command) idem.Command {
	if s, ok := c.(*idem.Settle); ok {
		h.Expire(nil, s.Event)
	}
	return c
}

// recorder takes a test's place and keeps what it reports.
type recorder struct {
	name string

	mu     sync.Mutex
	lines  []string
	failed bool
}

var _ rapid.TB = (*recorder)(nil)

// run runs f, which may end its goroutine.
func (r *recorder) run(f func()) {
	var done sync.WaitGroup
	done.Go(f)
	done.Wait()
}

func (r *recorder) write(fail bool, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, text)
	r.failed = r.failed || fail
}

func (r *recorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.lines, "\n")
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func (r *recorder) Helper()                     {}
func (r *recorder) Name() string                { return r.name }
func (r *recorder) Logf(f string, args ...any)  { r.write(false, fmt.Sprintf(f, args...)) }
func (r *recorder) Log(args ...any)             { r.write(false, fmt.Sprint(args...)) }
func (r *recorder) Errorf(f string, a ...any)   { r.write(true, fmt.Sprintf(f, a...)) }
func (r *recorder) Error(args ...any)           { r.write(true, fmt.Sprint(args...)) }
func (r *recorder) Fail()                       { r.write(true, "failed") }
func (r *recorder) FailNow()                    { r.Fail(); runtime.Goexit() }
func (r *recorder) Fatalf(f string, a ...any)   { r.Errorf(f, a...); runtime.Goexit() }
func (r *recorder) Fatal(args ...any)           { r.Error(args...); runtime.Goexit() }
func (r *recorder) Skipf(f string, args ...any) { r.Logf(f, args...); runtime.Goexit() }
func (r *recorder) Skip(args ...any)            { r.Log(args...); runtime.Goexit() }
func (r *recorder) SkipNow()                    { runtime.Goexit() }
