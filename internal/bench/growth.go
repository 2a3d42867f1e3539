package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/idemsvc/idemsvc/storage/postgres"
)

// GrowthRun is what claims and look-ups cost beside many stored events and beside none.
type GrowthRun struct {
	Setting
	// Events is how many are stored beside the full side.
	Events int `json:"events"`
	// Skipped says why nothing was measured.
	Skipped string `json:"skipped,omitempty"`
	// Load is how long storing them took, with VACUUM.
	Load time.Duration `json:"load_ns,omitempty"`
	// Bytes of the tables and indexes for each stored event: its record, and its entries in
	// the look-up index, of which each has two.
	EventBytes  float64 `json:"event_bytes,omitempty"`
	LookupBytes float64 `json:"lookup_bytes,omitempty"`
	// JournalBytes are those of the journal for a claim and its completion, unary with 64
	// callers. Stored events are made without one, since no claim reads it.
	JournalBytes float64     `json:"journal_bytes,omitempty"`
	Rows         []GrowthRow `json:"rows,omitempty"`
	Lookups      []LookupRow `json:"lookups,omitempty"`
}

// GrowthRow compares an arm on the full side with the same on the empty one. An event is a
// claim, or a claim and its completion.
type GrowthRow struct {
	Arm string `json:"arm"`
	// Ratio is of the full side's rate to the empty one's.
	Ratio Interval `json:"ratio"`
	// CPURatio is of CPU for an event, PostgreSQL and server together, full to empty, and
	// Goal the most that was aimed at. BuffersRatio has the same goal; -1: not known.
	CPURatio     Interval `json:"cpu_ratio"`
	BuffersRatio float64  `json:"buffers_ratio"`
	Goal         float64  `json:"goal"`
	Full         Cost     `json:"full"`
	Empty        Cost     `json:"empty"`
}

const growthGoal = 1.25

// Growth stores n finished events and measures beside them. It uses a PostgreSQL of its
// own, whatever the options say, in the directory for temporary files.
func Growth(ctx context.Context, o Options, n int) (r *GrowthRun, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	r = &GrowthRun{Events: n}
	if r.Skipped = noRoom(os.TempDir(), n); r.Skipped != "" {
		return r, nil
	}
	ctx, cancel := bounded(ctx, time.Duration(n/loadRate)*time.Second+time.Duration(o.Pairs)*30*time.Second)
	defer cancel()
	g := &growth{Options: o, cluster: &cluster{}}
	defer func() { err = o.cleared(ctx, err, g.close()) }()
	if err := g.open(ctx); err != nil {
		return nil, err
	}
	if err := g.fill(ctx, r); err != nil {
		return nil, err
	}
	return r, g.measure(ctx, r)
}

// growth has a full side and an empty one, in one cluster.
type growth struct {
	Options
	*cluster
	full, empty *grown
}

// grown is one side.
type grown struct {
	stage
	reader *postgres.Store
	events int
}

// few is how many events the empty side has, so that look-ups find some there, too.
const few = 4000

func (g *growth) open(ctx context.Context) error {
	settings := ownSettings()
	settings["shared_buffers"] = fmt.Sprintf("%dMB", min(max(memoryOf("MemTotal:")>>20/8, 256), 4096))
	settings["max_wal_size"] = "4GB"
	settings["maintenance_work_mem"] = "512MB"
	empty, err := g.cluster.open(ctx, "", settings)
	if err != nil {
		return err
	}
	full, err := g.add(ctx, empty, "full")
	if err != nil {
		return err
	}
	if g.empty, err = g.side(ctx, empty); err != nil {
		return err
	}
	g.full, err = g.side(ctx, full)
	return err
}

func (g *growth) side(ctx context.Context, db *database) (*grown, error) {
	x := &grown{stage: stage{cluster: g.cluster, db: db}}
	var err error
	if x.service, err = serve(ctx, g.Program, db.url); x.service != nil {
		g.later(x.service.close)
	}
	if err != nil {
		return nil, err
	}
	pool, err := poolOf(ctx, db.url, appAdmin, 4, postgres.Tune)
	if err != nil {
		return nil, err
	}
	g.later(func() error { pool.Close(); return nil })
	// Look-ups that no call offers yet are asked of the store itself; the server does its
	// background work.
	x.reader, err = postgres.Open(ctx, pool, postgres.Options{Follow: -1, Sweep: -1})
	if err != nil {
		return nil, err
	}
	g.later(func() error { x.reader.Close(); return nil })
	return x, nil
}

// fill stores events on both sides.
func (g *growth) fill(ctx context.Context, r *GrowthRun) error {
	started := time.Now()
	for _, x := range []*grown{g.empty, g.full} {
		x.events = few
		if x == g.full {
			x.events = max(r.Events, few)
		}
		if err := x.load(ctx, g.say); err != nil {
			return err
		}
		if err := liveClaims(ctx, x.service, live); err != nil {
			return err
		}
	}
	g.say("VACUUM, ANALYZE, CHECKPOINT")
	for _, x := range []*grown{g.empty, g.full} {
		for _, sql := range []string{"VACUUM (ANALYZE) idemsvc.event", "VACUUM (ANALYZE) idemsvc.lookup", "CHECKPOINT"} {
			if _, err := x.db.admin.Exec(ctx, sql); err != nil {
				return err
			}
		}
	}
	r.Load = time.Since(started)
	const size = `SELECT pg_total_relation_size('idemsvc.event')::float8,
		(SELECT sum(pg_total_relation_size(relid)) FROM pg_partition_tree('idemsvc.lookup'))::float8`
	if err := g.full.db.admin.QueryRow(ctx, size).Scan(&r.EventBytes, &r.LookupBytes); err != nil {
		return err
	}
	r.EventBytes /= float64(g.full.events)
	r.LookupBytes /= float64(g.full.events)
	return nil
}

// arms of one side.
func (x *grown) arms() []*arm {
	return []*arm{x.served("claim", 64, claimLong), x.served("unary", 64, unaryEvent), x.served("batch", 16, batchEvent)}
}

func (x *grown) served(family string, callers int, step func(context.Context, *service, int) (int, error)) *arm {
	return &arm{family: family, callers: callers, way: overServer, step: func(ctx context.Context, i int) (int, error) { return step(ctx, x.service, i) }}
}

// growthTurns is how often buffers are counted.
const growthTurns = 3

func (g *growth) measure(ctx context.Context, r *GrowthRun) (err error) {
	r.Setting = Setting{Machine: machine(g.dir), Database: g.settings, Pairs: g.Pairs, Duration: g.Duration}
	sides := [2]*grown{g.full, g.empty}
	arms := [2][]*arm{g.full.arms(), g.empty.arms()}
	runs := map[*arm][]run{}
	var turns [][]placed
	for round := range g.Pairs + 1 { // the first one warms up
		if round > 0 {
			g.say("round %d of %d", round, g.Pairs)
		}
		for k := range arms[0] {
			for _, i := range turned([]int{0, 1}, round) {
				done, err := sides[i].slot(ctx, arms[i][k], g.Duration)
				if err != nil {
					return err
				}
				if round > 0 {
					runs[arms[i][k]] = append(runs[arms[i][k]], done)
				}
			}
			if round < growthTurns && !g.Quick {
				turns = append(turns, []placed{{&g.full.stage, arms[0][k]}, {&g.empty.stage, arms[1][k]}})
			}
		}
	}
	if len(turns) > 0 {
		g.say("counting buffers")
		if err := g.autovacuum(ctx, g.full.db, "off"); err != nil {
			return err
		}
	}
	pages, err := buffers(ctx, turns, 2*g.Duration)
	if err != nil {
		return err
	}
	if r.JournalBytes, err = g.empty.journal(ctx, g.Duration); err != nil {
		return err
	}
	for k := range arms[0] {
		r.Rows = append(r.Rows, g.row(arms[0][k], arms[1][k], runs, pages))
	}
	r.Lookups, err = g.lookups(ctx)
	return err
}

// journal is how many bytes of journal an event takes.
func (x *grown) journal(ctx context.Context, d time.Duration) (float64, error) {
	const size = "SELECT sum(pg_total_relation_size(relid))::bigint FROM pg_partition_tree('idemsvc.journal')"
	var before, after int64
	if err := x.db.admin.QueryRow(ctx, size).Scan(&before); err != nil {
		return 0, err
	}
	events, _, err := work(ctx, x.served("unary", 64, unaryEvent), d)
	if err != nil {
		return 0, err
	}
	err = x.db.admin.QueryRow(ctx, size).Scan(&after)
	return float64(after-before) / float64(max(events, 1)), err
}

// row compares an arm of the full side with the empty side's.
func (g *growth) row(full, empty *arm, runs map[*arm][]run, pages map[*arm]float64) GrowthRow {
	w := GrowthRow{
		Arm: full.String(), Goal: growthGoal, BuffersRatio: -1,
		Full: g.full.cost(runs[full], known(pages, full)), Empty: g.empty.cost(runs[empty], known(pages, empty)),
	}
	var rates, cpus ratios
	for i := range runs[full] {
		rates.add(runs[full][i].rate(), runs[empty][i].rate())
		cpus.add(runs[full][i].cpu(), runs[empty][i].cpu())
	}
	w.Ratio, w.CPURatio = intervalOf(rates), intervalOf(cpus)
	if w.Full.Buffers > 0 && w.Empty.Buffers > 0 {
		w.BuffersRatio = w.Full.Buffers / w.Empty.Buffers
	}
	return w
}

// Text writes the report for people.
func (r *GrowthRun) Text(out io.Writer) error {
	if r.Skipped != "" {
		_, err := fmt.Fprintf(out, "growth: skipped: %s\n", r.Skipped)
		return err
	}
	r.text(out)
	fmt.Fprintf(out, "%s events were stored in %s: %.0f bytes each for the record with its key, %.0f for two entries in the look-up index.\n"+
		"The journal takes %.0f bytes for a claim and its completion with 64 callers.\n\n",
		grouped(r.Events), r.Load.Round(time.Second), r.EventBytes, r.LookupBytes, r.JournalBytes)
	t := &table{out: out}
	t.line("arm", "CPU ratio", "to", "goal", "reached", "buffers ratio", "reached", "events/s", "PG CPU µs", "server CPU µs", "WAL bytes", "buffers")
	for _, w := range r.Rows {
		t.line(w.Arm, figure(w.CPURatio.Median, 2), figure(w.CPURatio.High, 2), fmt.Sprintf("≤ %.2f", w.Goal), reached(w.CPURatio.High <= w.Goal),
			figure(w.BuffersRatio, 2), reached(w.BuffersRatio > 0 && w.BuffersRatio <= w.Goal),
			against(w.Full.PerSecond, w.Empty.PerSecond, 0), against(w.Full.Postgres, w.Empty.Postgres, 0), against(w.Full.Server, w.Empty.Server, 0),
			against(w.Full.WAL, w.Empty.WAL, 0), against(w.Full.Buffers, w.Empty.Buffers, 1))
	}
	if err := t.flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nCPU ratio: CPU of PostgreSQL and server for an event, beside the stored events to beside none. Columns with a slash: full / empty.\n"+
		"claim: ClaimEvent alone. The others: with its completion.\n\nLook-ups, one at a time, in ms:\n\n")
	t = &table{out: out}
	t.line("look-up", "p50 full", "empty", "p99 full", "empty")
	for _, w := range r.Lookups {
		t.line(w.Kind, milliseconds(w.Full.P50), milliseconds(w.Empty.P50), milliseconds(w.Full.P99), milliseconds(w.Empty.P99))
	}
	return t.flush()
}

// grouped is a number with its thousands apart.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}
