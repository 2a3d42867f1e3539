package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/pgtest"
	"github.com/idemsvc/idemsvc/storage/postgres"
)

// afterSlice calls something once the reader behind the journal has written its first slice.
type afterSlice struct {
	f      func()
	writes int
}

func (*afterSlice) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (*afterSlice) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (a *afterSlice) TraceBatchStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	for _, q := range d.Batch.QueuedQueries {
		if q.SQL == postgres.Statements()["follow_hold"] {
			return context.WithValue(ctx, a, true)
		}
	}
	return ctx
}
func (*afterSlice) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (a *afterSlice) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchEndData) {
	if ctx.Value(a) == nil {
		return
	}
	if a.writes++; a.writes == 1 && a.f != nil {
		a.f()
	}
}

// A reader that is in no hurry writes in slices what one in a hurry writes at once. Where it is
// overtaken between them, the other one writes all of it, and nothing is put back.
func TestAPatientReaderWritesInSlices(t *testing.T) {
	t.Parallel()
	const n = 2 * postgres.SliceRows
	for _, overtaken := range []bool{false, true} {
		t.Run(fmt.Sprint("overtaken ", overtaken), func(t *testing.T) {
			t.Parallel()
			after := &afterSlice{}
			url := pgtest.Database(t, "idemsvc", migrate)
			s, pool := openOn(t, url, quiet, func(c *pgxpool.Config) { c.ConnConfig.Tracer = after })
			other, _ := openOn(t, url, quiet)
			var toks []idem.Token
			for i := range n {
				toks = append(toks, grantOf(t, s, claimOf("ns", fmt.Sprint("e", i))))
			}
			must[*idem.ReceiveAnswer](t, s, receiptOf("received"))
			ordered := receiptOf("ordered")
			ordered.Ordering = sequential(claimOf("ns", "ordered"), "r", 1).Ordering
			must[*idem.ReceiveAnswer](t, s, ordered)
			execSQL(t, pool, "UPDATE idemsvc.follower SET read_at = clock_timestamp() - interval '1 day'")
			want := int64(n + 2)
			after.f = func() { // another replica's turn
				if got, err := other.FollowPatiently(t.Context(), 30*time.Minute); err != nil || got != -1 {
					t.Errorf("what is being written was read by another replica: %d entries, %v", got, err)
				}
			}
			if overtaken {
				want = -1
				after.f = func() { // as if other replicas had gone on meanwhile
					for _, tok := range toks {
						must[*idem.EndAnswer](t, other, completeOf(tok, "done"))
					}
					follow(t, other)
				}
			}
			if got, err := s.FollowPatiently(t.Context(), time.Nanosecond); err != nil || got != want {
				t.Fatalf("%d entries were read, %v; want %d", got, err, want)
			}
			if after.writes < 2 {
				t.Errorf("%d slices of %d rows", after.writes, n+2)
			}
			left := scalar[string](t, pool, "SELECT string_agg(DISTINCT CASE WHEN state = 2 THEN 'claimed' ELSE id::text END, ' ') FROM idemsvc.unfinished")
			for name, shall := range map[string]bool{"claimed": !overtaken, uuidOf(receiptOf("received").Key.ID()): true, uuidOf(ordered.Key.ID()): true} {
				if strings.Contains(left, name) != shall {
					t.Errorf("unfinished: %s; %s in it: want %v", left, name, shall)
				}
			}
			if !overtaken {
				if got := scalar[int](t, pool, "SELECT count(*)::int FROM idemsvc.unfinished"); got != n+2 {
					t.Errorf("%d unfinished, want %d", got, n+2)
				}
			}
			for _, key := range []idem.EventKey{keyOf("ns", "e0"), keyOf("ns", fmt.Sprint("e", n-1)), keyOf("ns", "received")} {
				if !scalar[bool](t, pool, "SELECT EXISTS (SELECT FROM idemsvc.lookup WHERE id = $1)", [16]byte(key.ID())) {
					t.Errorf("%s is not to be found by value", key.EventID)
				}
			}
			taken := scalar[int](t, pool, "SELECT count(*)::int FROM idemsvc.unfinished WHERE acquire_at <= clock_timestamp()")
			if taken != 2 {
				t.Errorf("%d events are offered, want the two that were received", taken)
			}
		})
	}
}

func uuidOf(id idem.ID) string {
	x := fmt.Sprintf("%x", id[:])
	return strings.Join([]string{x[:8], x[8:12], x[12:16], x[16:20], x[20:]}, "-")
}
