package bench

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// Reading a table of 100 pages once for an event looks at 100 pages, whichever session
// does it.
func TestBuffersAreCounted(t *testing.T) {
	t.Parallel()
	at := pgtest.Database(t, "empty", nil)
	admin, err := poolOf(t.Context(), at, appAdmin, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	// One row, with more than half a page, to a page.
	for _, sql := range []string{
		"CREATE TABLE wide (n integer, padding text)", "ALTER TABLE wide ALTER COLUMN padding SET STORAGE PLAIN",
		"INSERT INTO wide SELECT n, repeat('x', 5000) FROM generate_series(1, 100) n", "SELECT pg_stat_force_next_flush()",
	} {
		if _, err := admin.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	pool, err := poolOf(t.Context(), at, appDirect, 4, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	a := &arm{family: "scan", callers: 4, step: func(ctx context.Context, _ int) (int, error) {
		for range 20 { // so that what a new session learns hardly counts
			if _, err := pool.Exec(ctx, "SELECT count(n) FROM wide"); err != nil {
				return 0, err
			}
		}
		return 20, nil
	}}
	s := &stage{cluster: &cluster{}, db: &database{at, admin}}
	s.pools = append(s.pools, pool)
	found, err := buffers(t.Context(), [][]placed{{{s, a}}}, 200*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if n := found[a]; n < 100 || n > 200 {
		t.Errorf("%v buffers", n)
	}
}

// An arm without a server, and one that has no figure.
func TestWhatIsNotKnownIsSaid(t *testing.T) {
	t.Parallel()
	if n := known(map[*arm]float64{}, &arm{}); n != -1 || figure(n, 1) != "?" || figure(0, 1) != "0.0" {
		t.Errorf("%v", n)
	}
}
