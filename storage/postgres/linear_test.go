package postgres_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/pgtest"
	"github.com/idemsvc/idemsvc/storage/postgres/embedded"
	"github.com/idemsvc/idemsvc/storage/storagetest/linear"
	"github.com/idemsvc/idemsvc/storage/storagetest/wire"
)

// How many histories a plain run of the tests drives, and how long at most.
const (
	linearHistories = 768
	linearMost      = 45 * time.Second
)

// linearTime is for how long histories are driven where the environment says so, as in
// IDEMSVC_LINEAR_TIME=10m; 0 where it does not.
func linearTime(t *testing.T) time.Duration {
	t.Helper()
	s := os.Getenv("IDEMSVC_LINEAR_TIME")
	if s == "" {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// linearSeed is where the seeds of a run begin: printed, and given again by
// IDEMSVC_LINEAR_SEED.
func linearSeed(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if s := os.Getenv("IDEMSVC_LINEAR_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = n
	}
	t.Logf("seed %d", seed)
	return seed
}

// seedsFrom are the seeds of the next histories.
func seedsFrom(next *uint64, n int) []uint64 {
	list := make([]uint64, n)
	for i := range list {
		*next++
		list[i] = *next
	}
	return list
}

// fail reports a history at fault, with porcupine's page of it beside the test's output.
func fail(t *testing.T, v linear.Verdict) {
	t.Helper()
	t.Error(v.Text)
	name := filepath.Join(t.ArtifactDir(), fmt.Sprintf("history-%d", time.Now().UnixNano()))
	for _, file := range []struct {
		ext, what string
		body      []byte
	}{
		{".html", "the history as a page", v.Page},
		{".gob", "the history, for IDEMSVC_LINEAR_HISTORY", v.Kept},
	} {
		if len(file.body) == 0 {
			continue
		}
		if err := os.WriteFile(name+file.ext, file.body, 0o600); err == nil {
			t.Logf("%s: %s", file.what, name+file.ext)
		}
	}
}

// P1, P2, P4, P8: whatever goes wrong between three replicas and their one database, there
// is an order of all calls in which the rules give each answer that was given, and leave
// what is stored. Connections are cut and held up at any message of the protocol, sessions
// are terminated, rows and tables are locked by a stranger, transactions are refused at once
// and at their commit, replicas forget all they know, callers leave early, claims are
// swept, and the database is killed.
func TestHistoriesAreLinearizable(t *testing.T) {
	t.Parallel()
	span, most, next := linearTime(t), linearHistories, linearSeed(t)
	if span == 0 {
		span = linearMost
	} else {
		most = math.MaxInt
	}
	srv := cluster(t, embedded.Options{Settings: map[string]string{"fsync": "off"}}) // a killed server loses nothing by that
	r := newRig(t, srv.URL("postgres"), next, nil)
	r.crash = crashing(srv)
	r.moody(t, 0.004)
	trouble := &troubles{every: 10 * time.Millisecond, chances: wire.Chances{Cut: 0.001, Torn: 0.3, Delay: 0.01, Most: 5 * time.Millisecond}}
	sum := tally{}
	for began := time.Now(); time.Since(began) < span && sum.histories < most && !t.Failed(); {
		trouble.crash = sum.batches%8 == 0
		sum.judge(t, r, seedsFrom(&next, 64), trouble)
	}
	for _, rep := range r.replicas {
		sum.cuts += rep.proxy.Cuts()
	}
	t.Logf("%s; %d connections cut, %s", &sum, sum.cuts, trouble)
	if sum.unheard == 0 || sum.cuts == 0 || trouble.crashed.Load() == 0 || sum.received == 0 || sum.acquired == 0 {
		t.Errorf("hardly anything happened")
	}
	if sum.open*10 > sum.histories {
		t.Errorf("too many histories were not judged")
	}
}

// tally counts what has been driven.
type tally struct {
	batches, histories, calls, unheard, open int
	// First receipts, claims that were acquired, signals that others carried, and decisions
	// that a request had made before.
	received, acquired, carried, repeated int

	cuts int64
}

// judge drives a batch of histories and judges them.
func (s *tally) judge(t *testing.T, r *rig, seeds []uint64, trouble *troubles) {
	t.Helper()
	list, err := r.batch(t.Context(), seeds, trouble)
	if err != nil {
		t.Fatal(err)
	}
	s.add(list)
	bad, open := judge(list)
	s.open += open
	for _, v := range bad {
		fail(t, v)
	}
}

func (s *tally) add(list []*linear.History) {
	s.batches++
	s.histories += len(list)
	for _, h := range list {
		s.calls += len(h.Calls)
		for i := range h.Calls {
			s.count(&h.Calls[i])
		}
		for i := range h.Final {
			if !h.Final[i].Event.CarriedBy.IsZero() {
				s.carried++
			}
		}
	}
}

func (s *tally) count(c *linear.Call) {
	if c.Unknown != nil {
		s.unheard++
	}
	switch a := c.Answer.(type) {
	case *idem.ReceiveAnswer:
		if a.Fresh {
			s.received++
		}
	case *idem.ClaimAnswer:
		if claim, ok := c.Command.(*idem.Claim); ok && a.Granted && !claim.Acquisition.IsZero() {
			s.acquired++
		}
	case *idem.EndAnswer:
		if r, ok := c.Command.(*idem.Resolve); ok && a.Already && r.RequestID != "" {
			s.repeated++
		}
	}
}

func (s *tally) String() string {
	return fmt.Sprintf("%d histories of %d calls, %d of them without an answer; %d events received, %d acquired, %d carried, %d decisions repeated; %d histories left open",
		s.histories, s.calls, s.unheard, s.received, s.acquired, s.carried, s.repeated, s.open)
}

// Without trouble nobody is left without an answer but who leaves early.
func TestHistoriesAreLinearizableInPeace(t *testing.T) {
	t.Parallel()
	next := linearSeed(t)
	r := newRig(t, pgtest.Database(t, "idemsvc", migrate), next, nil)
	sum := tally{}
	for range 2 {
		sum.judge(t, r, seedsFrom(&next, 64), nil)
	}
	t.Log(&sum)
}
