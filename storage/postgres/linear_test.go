package postgres_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/internal/pgtest"
	"github.com/idemsvc/idemsvc/storage/postgres/embedded"
	"github.com/idemsvc/idemsvc/storage/storagetest/linear"
	"github.com/idemsvc/idemsvc/storage/storagetest/wire"
)

// linearTime is how long histories are driven, by default and in the long variant. The
// environment can say otherwise: IDEMSVC_LINEAR_TIME, such as 10m.
func linearTime(t *testing.T) time.Duration {
	t.Helper()
	if s := os.Getenv("IDEMSVC_LINEAR_TIME"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	return 5 * time.Minute
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
	if len(v.Page) == 0 {
		return
	}
	path := filepath.Join(t.ArtifactDir(), fmt.Sprintf("history-%d.html", time.Now().UnixNano()))
	if err := os.WriteFile(path, v.Page, 0o600); err == nil {
		t.Logf("the history as a page: %s", path)
	}
}

// P1, P2, P4, P8: whatever goes wrong between three replicas and their one database, there
// is an order of all calls in which the rules give each answer that was given, and leave
// what is stored. Connections are cut and held up at any message of the protocol, sessions
// are terminated, rows and tables are locked by a stranger, transactions are refused at once
// and at their commit, replicas forget all they know, callers leave early, claims are
// swept, and the database is killed.
func TestHistoriesAreLinearizable(t *testing.T) {
	campaign(t)
	t.Parallel()
	span, next := linearTime(t), linearSeed(t)
	srv := cluster(t, embedded.Options{Settings: map[string]string{"fsync": "off"}}) // a killed server loses nothing by that
	r := newRig(t, srv.URL("postgres"), next, nil)
	r.crash = crashing(srv)
	r.moody(t, 0.004)
	trouble := &troubles{every: 10 * time.Millisecond, chances: wire.Chances{Cut: 0.001, Torn: 0.3, Delay: 0.01, Most: 5 * time.Millisecond}}
	sum := tally{}
	for began := time.Now(); time.Since(began) < span; {
		trouble.crash = sum.batches%8 == 2
		list, err := r.batch(t.Context(), seedsFrom(&next, 64), trouble)
		if err != nil {
			t.Fatal(err)
		}
		sum.add(list)
		bad, open, lost := judge(list)
		sum.open += open
		sum.lost += lost
		for _, v := range bad {
			fail(t, v)
		}
		if t.Failed() {
			break
		}
	}
	for _, rep := range r.replicas {
		sum.cuts += rep.proxy.Cuts()
	}
	t.Logf("%s; %d connections cut, %s", &sum, sum.cuts, trouble)
	if sum.histories < 100 || sum.unheard == 0 || sum.cuts == 0 {
		t.Errorf("hardly anything happened")
	}
	if sum.open*20 > sum.histories || sum.lost*10 > sum.histories {
		t.Errorf("too many histories were not judged")
	}
}

// tally counts what has been driven.
type tally struct {
	batches, histories, calls, unheard, open, lost int

	cuts int64
}

func (s *tally) add(list []*linear.History) {
	s.batches++
	s.histories += len(list)
	for _, h := range list {
		s.calls += len(h.Calls)
		for i := range h.Calls {
			if h.Calls[i].Unknown != nil {
				s.unheard++
			}
		}
	}
}

func (s *tally) String() string {
	return fmt.Sprintf("%d histories of %d calls, %d of them without an answer; %d histories left open, %d lost", s.histories, s.calls, s.unheard, s.open, s.lost)
}

// Without trouble nobody is left without an answer but who leaves early.
func TestHistoriesAreLinearizableInPeace(t *testing.T) {
	campaign(t)
	t.Parallel()
	next := linearSeed(t)
	r := newRig(t, pgtest.Database(t, "idemsvc", migrate), next, nil)
	sum := tally{}
	for range 2 {
		list, err := r.batch(t.Context(), seedsFrom(&next, 64), nil)
		if err != nil {
			t.Fatal(err)
		}
		sum.add(list)
		bad, open, lost := judge(list)
		sum.open += open
		sum.lost += lost
		for _, v := range bad {
			fail(t, v)
		}
	}
	t.Log(&sum)
}
