package postgres_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/pgtest"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/postgres"
)

// TestExplain: no statement of the store scans a table that grows, on a database that
// has just been migrated and on one that is full, planned for its arguments and in
// general. The statements are the ones that a store really sent.
func TestExplain(t *testing.T) {
	t.Parallel()
	sent := &sentStatements{args: map[string][]any{}}
	url := pgtest.Database(t, "idemsvc", migrate)
	exercise(t, url, sent)
	empty := connectTo(t, pgtest.Database(t, "idemsvc", migrate))
	full := fillDatabase(t)

	names := map[string]string{}
	for name, sql := range postgres.Statements() {
		names[sql] = name
	}
	databases := map[string]*pgx.Conn{"empty": empty, "full": full}
	check := func(t *testing.T, sql string) {
		t.Helper()
		args, ok := sent.of(sql)
		if !ok {
			t.Fatalf("the store did not send it while it was exercised:\n%s", sql)
		}
		for _, db := range slices.Sorted(maps.Keys(databases)) {
			t.Run(db+"/planned for its arguments", func(t *testing.T) { checkPlan(t, explain(t, databases[db], sql, args), false) })
			t.Run(db+"/generic plan", func(t *testing.T) { checkPlan(t, explainGeneric(t, databases[db], sql, len(args)), true) })
		}
	}

	t.Run("Statements", func(t *testing.T) {
		all := postgres.Statements()
		files, err := filepath.Glob("queries/*.sql")
		if err != nil || len(files) != len(all) {
			t.Errorf("%d files of statements, %d are exported to tests, %v", len(files), len(all), err)
		}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			switch name {
			case "epoch", "halt", "info": // of tables with one row
				continue
			case "moved", "refill": // after a move to another cluster, all is read once
				continue
			case "apply": // sent with the parts that a batch needs: those forms are among the unlisted
				t.Run(name, func(t *testing.T) {
					n := strings.Count(all[name], "::") // more than it has parameters
					for n > 0 && !strings.Contains(all[name], fmt.Sprintf("$%d:", n)) && !strings.Contains(all[name], fmt.Sprintf("$%d,", n)) {
						n--
					}
					checkPlan(t, explainGeneric(t, full, all[name], n), true)
				})
				continue
			}
			t.Run(name, func(t *testing.T) { check(t, all[name]) })
		}
	})
	t.Run("Unlisted", func(t *testing.T) { // texts that are in no file
		for _, sql := range sent.texts() {
			if names[sql] == "" && strings.Contains(sql, "idemsvc.") && !strings.Contains(sql, "make_partitions") {
				t.Run(strings.Fields(sql)[1], func(t *testing.T) { check(t, sql) })
			}
		}
	})

	// Each look-up is what the reader sends for it.
	for _, l := range lookups {
		t.Run("LookUp/"+l.name, func(t *testing.T) {
			sent := &sentStatements{args: map[string][]any{}}
			pool := poolWith(t, url, func(c *pgxpool.Config) { c.ConnConfig.Tracer = sent })
			store, err := postgres.Open(t.Context(), pool, quiet)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			sent.reset()
			found, err := l.ask(t.Context(), store)
			if err != nil {
				t.Fatal(err)
			}
			if len(found.Views) == 0 {
				t.Error("it found nothing of what the test had stored")
			}
			for _, sql := range sent.texts() {
				args, _ := sent.of(sql)
				if name := names[sql]; name == "begin" || name == "info" || !strings.Contains(sql, "idemsvc.") {
					continue
				}
				for _, db := range slices.Sorted(maps.Keys(databases)) {
					t.Run(names[sql]+"/"+db, func(t *testing.T) {
						checkPlan(t, explain(t, databases[db], sql, args), false)
						checkPlan(t, explainGeneric(t, databases[db], sql, len(args)), true)
					})
				}
			}
		})
	}
}

const explained = "explained" // the namespace of what is looked up

var lookups = []struct {
	name string
	ask  func(ctx context.Context, s *postgres.Store) (storage.Found, error)
}{
	{"EventRefWithoutConsumer", func(ctx context.Context, s *postgres.Store) (storage.Found, error) {
		return s.Events(ctx, explained, "shop", "whole")
	}},
	{"EventRefWithoutSource", func(ctx context.Context, s *postgres.Store) (storage.Found, error) {
		return s.Events(ctx, explained, "", "whole")
	}},
	{"Resource", byTerm(storage.ByResource, "order", "r1")},
	{"CorrelationID", byTerm(storage.ByCorrelation, "corr-1", "")},
	{"RequestID", byTerm(storage.ByRequestID, "req-1", "")},
	{"Output", byTerm(storage.ByOutput, "out-1", "")},
	{"EffectKey", byTerm(storage.ByEffectKey, "charge", "")},
	{"Consequences", byTerm(storage.ByCause, "shop", "whole")},
	{"ListOfUnfinished", listOf(storage.ListQuery{States: []idem.State{idem.Held, idem.DeadLettered}})},
	{"ListOfExpired", listOf(storage.ListQuery{States: []idem.State{idem.FailedRetryable}})},
	{"ListOfUnfinishedOfConsumer", listOf(storage.ListQuery{States: []idem.State{idem.Held}, Consumer: "mailer", Source: "shop"})},
	{"ListOfStuck", listOf(storage.ListQuery{Stuck: true, StuckAfter: time.Microsecond})},
	{"ListOfResource", listOf(storage.ListQuery{ResourceType: "order", ResourceID: "r1"})},
	{"ListOfCorrelation", listOf(storage.ListQuery{Correlation: "corr-1"})},
	{"ListOfAnHour", listOf(storage.ListQuery{From: idem.InstantOf(time.Now().Add(-30 * time.Minute)), Until: idem.InstantOf(time.Now().Add(30 * time.Minute))})},
}

func byTerm(k storage.QueryKind, value, name string) func(context.Context, *postgres.Store) (storage.Found, error) {
	return func(ctx context.Context, s *postgres.Store) (storage.Found, error) {
		return s.Lookup(ctx, storage.Query{Namespace: explained, Kind: k, Value: value, Name: name})
	}
}

func listOf(q storage.ListQuery) func(context.Context, *postgres.Store) (storage.Found, error) {
	return func(ctx context.Context, s *postgres.Store) (storage.Found, error) {
		q.Namespace = explained
		l, err := s.List(ctx, q)
		return storage.Found{Views: l.Views}, err
	}
}

// exercise lets a store send each of its statements.
func exercise(t *testing.T, url string, tracer pgx.QueryTracer) {
	t.Helper()
	o := quiet
	o.Policies = func(k idem.EventKey, typ string) *idem.Policy {
		p := idem.DefaultPolicy()
		if typ == "once" {
			p.MaxAttempts = 1
		}
		p.KeepEffects, p.KeepVersions = p.KeepEvents, p.KeepEvents
		return p
	}
	s, _ := openOn(t, url, o, func(c *pgxpool.Config) { c.ConnConfig.Tracer = tracer })
	pool := openPool(t, url) // for what the test does itself
	ns := explained
	c := lane(claimOf(ns, "whole"), "r1", 1)
	c.Facts.Correlation, c.Facts.RequestID = "corr-1", "req-1"
	c.Payload, c.Facts.PayloadHash = []byte("{}"), []byte("hash")
	tok := grantOf(t, s, c)
	must[*idem.ExtendAnswer](t, s, &idem.Extend{Token: tok, Lease: time.Hour})
	var many []idem.Command
	for range postgres.SliceRows {
		many = append(many, claimOf("many", randomID().String()))
	}
	for _, r := range s.Apply(t.Context(), many) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	if _, err := s.FollowPatiently(t.Context(), time.Nanosecond); err != nil { // while they are open
		t.Fatal(err)
	}
	begin := &idem.BeginEffect{
		Token: &tok, Key: idem.EffectKey{Scope: idem.EventScope, Namespace: ns, Consumer: "mailer", Event: tok.Event, Key: "charge"},
		BeginID: "b1", RequestHash: []byte("h"), Target: "bank", Lease: time.Hour, Nonce: randomID(),
	}
	e := must[*idem.EffectAnswer](t, s, begin)
	must[*idem.EffectAnswer](t, s, &idem.ReportEffect{Token: e.Token, State: idem.EffectDone, Result: []byte("ok")})
	done := completeOf(tok, "ok")
	done.Outputs = []string{"out-1"}
	must[*idem.EndAnswer](t, s, done)
	must[*idem.ClaimAnswer](t, s, claimOf(ns, "whole")) // a duplicate
	must[*idem.CheckAnswer](t, s, &idem.Check{By: randomID(), Ordering: *lane(claimOf(ns, "x"), "r2", 5).Ordering})

	signed := claimOf(ns, "signed")
	signed.Key.Source, signed.Facts.Signature = "signing", idem.Verified
	grantOf(t, s, signed)

	next := lane(claimOf(ns, "seq"), "r3", 1)
	next.Ordering.Mode = idem.Sequential
	grantOf(t, s, next)

	news := lane(claimOf(ns, "news"), "r5", 1)
	news.Ordering.Mode, news.Ordering.Version = idem.Signal, idem.Version{}
	must[*idem.EndAnswer](t, s, completeOf(grantOf(t, s, news), "fetched"))

	// Granted again after a failure, by a later delivery; then its lease is over.
	again := claimOf(ns, "again")
	again.Facts.Kind = idem.ProviderFirst
	first := grantOf(t, s, again)
	must[*idem.EndAnswer](t, s, failOf(first))
	execSQL(t, pool, "UPDATE idemsvc.event SET due_at = clock_timestamp() - interval '1 s' WHERE id = $1", [16]byte(again.Key.ID()))
	second := claimOf(ns, "again")
	second.Facts.Kind = idem.ProviderRetry
	grantOf(t, s, second)
	execSQL(t, pool, "UPDATE idemsvc.event SET lease_until = clock_timestamp() - interval '1 s' WHERE id = $1", [16]byte(again.Key.ID()))

	acquireAll(t, s, ns)

	hold := claimOf(ns, "held")
	hold.Stale = idem.Hold
	grantOf(t, s, hold)
	dead := claimOf(ns, "dead")
	dead.Facts.CauseSource, dead.Facts.CauseEventID = "shop", "whole"
	dead.Facts.Type = "once"
	must[*idem.EndAnswer](t, s, failOf(grantOf(t, s, dead)))
	execSQL(t, pool, "UPDATE idemsvc.event SET lease_until = clock_timestamp() - interval '1 s' WHERE id = $1", [16]byte(hold.Key.ID()))

	run := storage.ReplayRun{Namespace: ns, RequestID: "run", Request: randomID(), Events: []idem.ID{tok.Event}}
	if _, err := s.StoreReplayRun(t.Context(), run); err != nil {
		t.Fatal(err)
	}

	delivery := storage.Delivery{Event: tok.Event, Key: c.Key, Identity: randomID(), Outcome: idem.OutcomeAlreadyProcessed}
	forged := delivery
	forged.Identity, forged.Disposition = randomID(), idem.DispositionRejected
	if err := s.RecordDeliveries(t.Context(), []storage.Delivery{delivery, forged}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	execSQL(t, pool, "UPDATE idemsvc.unfinished SET due_at = clock_timestamp() WHERE id = ANY ($1)", [][16]byte{again.Key.ID(), hold.Key.ID()})
	if _, err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f, err := s.Facts(t.Context(), []idem.EventRef{c.Key.EventRef}); err != nil || f[c.Key.EventRef] == nil {
		t.Errorf("facts %v, %v", f, err)
	}
	if list, err := s.Survey(t.Context(), 100); err != nil || len(list) == 0 {
		t.Errorf("survey %v, %v", list, err)
	}
	if _, ok, err := s.Payload(t.Context(), c.Key.EventRef); err != nil || !ok {
		t.Fatalf("payload: %v, %v", ok, err)
	}
	// Past their retention: an event with a payload, an effect and a resource of no event.
	past := claimOf(ns, "past")
	past.Payload, past.Facts.PayloadHash, past.Facts.PayloadSize = []byte("{}"), []byte("hash"), 2
	must[*idem.EndAnswer](t, s, completeOf(grantOf(t, s, past), "ok"))
	once := idem.EffectKey{Scope: idem.NamespaceScope, Namespace: ns, Key: "past"}
	must[*idem.EffectAnswer](t, s, &idem.RecordEffect{Key: once, RequestHash: []byte("h"), Result: []byte("ok")})
	rest := lane(claimOf(ns, "x"), "past", 5).Ordering
	must[*idem.CheckAnswer](t, s, &idem.Check{By: randomID(), Ordering: *rest})
	for _, id := range []idem.ID{past.Key.ID(), once.ID(), rest.Resource.ID()} {
		harness{s, pool}.Later(t, id, beyond)
	}
	retain(t, s)
	apply(t, s, ns, 0, attemptsRule("3"))
	if _, err := s.Policies(t.Context(), ns, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := s.PolicyHistory(t.Context(), ns, 0, 10); err != nil {
		t.Fatal(err)
	}
	execSQL(t, pool, "UPDATE idemsvc.event SET due_at = clock_timestamp() - interval '1 s' WHERE due_at IS NOT NULL")
	execSQL(t, pool, "UPDATE idemsvc.unfinished SET due_at = clock_timestamp() - interval '1 s' WHERE due_at IS NOT NULL")
	for _, l := range lookups {
		if _, err := l.ask(t.Context(), s); err != nil {
			t.Fatal(l.name, err)
		}
	}
}

// acquireAll receives events and acquires them in every way.
func acquireAll(t *testing.T, s *postgres.Store, ns string) {
	t.Helper()
	lanes := []idem.ID{}
	for i, name := range []string{"plain", "ordered", "newer"} {
		c := &idem.Receive{Key: keyOf(ns, "inbox-"+name), Facts: idem.Facts{PayloadHash: []byte(name)}, Payload: []byte(name)}
		if i > 0 {
			c.Ordering = lane(claimOf(ns, "x"), "inbox", int64(i)).Ordering
			lanes = append(lanes, c.Ordering.Resource.ID())
		}
		must[*idem.ReceiveAnswer](t, s, c)
	}
	if _, err := s.Follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	group := storage.Group{Namespace: ns, Consumer: "mailer"}
	taken, err := s.Take(t.Context(), storage.TakeQuery{Wanted: []storage.Wanted{{Group: group, Max: 10}}, Lanes: lanes[:1]})
	if err != nil || len(taken.Due) != 2 || len(taken.Next) != 2 {
		t.Fatalf("taken: %d due, %d next, %v", len(taken.Due), len(taken.Next), err)
	}
	c := acquisitionOf("worker", taken.Due[0])
	if a := must[*idem.ClaimAnswer](t, s, c); a.Outcome != idem.OutcomeClaimed {
		t.Fatal(a.Outcome)
	}
	if err := s.Rest(t.Context(), []storage.Rest{{Event: taken.Due[1].ID(), In: time.Minute}}); err != nil {
		t.Fatal(err)
	}
	again, err := s.Take(t.Context(), storage.TakeQuery{Again: []idem.ID{c.Acquisition}})
	if err != nil || len(again.Again[c.Acquisition]) != 1 {
		t.Fatalf("again: %v, %v", again.Again, err)
	}
	refs := []idem.EventRef{keyOf(ns, "inbox-plain").EventRef, keyOf(ns, "inbox-newer").EventRef}
	if payloads, err := s.Payloads(t.Context(), refs); err != nil || string(payloads[refs[0]]) != "plain" || string(payloads[refs[1]]) != "newer" {
		t.Fatalf("payloads: %v, %v", payloads, err)
	}
	if err := s.ForgetAcquisitions(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// acquisitionOf is the claim by which a call acquires an event.
func acquisitionOf(claimant string, e *idem.Event) *idem.Claim {
	c := &idem.Claim{
		Key: e.Key, Facts: e.Facts, Ordering: e.Ordering, Claimant: claimant, Nonce: randomID(), Lease: 10 * time.Minute,
		AcceptReplay: true, Acquisition: idem.Digest("acquisition", claimant),
	}
	c.Facts.Kind = idem.ConsumerRequeue
	return c
}

// fillDatabase opens a database with 50,000 events, thousands of live leases and
// statistics.
func fillDatabase(t *testing.T) *pgx.Conn {
	t.Helper()
	s, pool := openStore(t, quiet)
	ns := "full"
	c := lane(claimOf(ns, "seed"), "seed", 1)
	c.Payload, c.Facts.PayloadHash = []byte("{}"), []byte("hash")
	tok := grantOf(t, s, c)
	must[*idem.EffectAnswer](t, s, &idem.BeginEffect{
		Token: &tok, Key: idem.EffectKey{Scope: idem.EventScope, Namespace: ns, Consumer: "mailer", Event: tok.Event, Key: "charge"},
		BeginID: "b1", RequestHash: []byte("h"), Target: "bank", Lease: time.Hour, Nonce: randomID(),
	})
	for _, sql := range []string{
		`CREATE TEMP TABLE n AS SELECT i, gen_random_uuid() AS id FROM generate_series(1, 50000) i`,
		`INSERT INTO idemsvc.event (bucket, id, created_at, namespace, consumer, source, event_id, facts, version, fence, nonce, lease_until, lease_us,
			granted_at, due_at, total, effects, state, by_expiry, detail)
		 SELECT get_byte(uuid_send(n.id), 0), n.id, clock_timestamp(), 'full' || i % 10, 'c' || i % 7, 'shop', 'e' || i, e.facts, 2, i, gen_random_uuid(),
			clock_timestamp() + interval '1 hour', e.lease_us, clock_timestamp(), NULL, 1, 0, CASE WHEN i % 10 = 0 THEN 2 ELSE 3 END, false, e.detail
		 FROM n, idemsvc.event e WHERE e.event_id = 'seed'`,
		`INSERT INTO idemsvc.resource (bucket, id, namespace, consumer, type, name, version, kind, mode, owned, owner, owner_fence, lane_fence)
		 SELECT get_byte(uuid_send(n.id), 0), n.id, 'full', 'c', 'order', 'r' || i, 1, 1, 1, i % 5 = 0, n.id, 1, 1 FROM n WHERE i <= 20000`,
		`INSERT INTO idemsvc.effect (bucket, id, namespace, scope, consumer, key, version, event)
		 SELECT get_byte(uuid_send(n.id), 0), n.id, 'full', 1, 'c', 'k' || i, 1, n.id FROM n WHERE i <= 20000`,
		`INSERT INTO idemsvc.attempt (bucket, event, fence, nonce, detail) SELECT get_byte(uuid_send(n.id), 0), n.id, i, n.id, '\x01' FROM n WHERE i <= 20000`,
		`INSERT INTO idemsvc.member SELECT get_byte(uuid_send(n.id), 0), n.id, 0, i, get_byte(uuid_send(n.id), 0), n.id FROM n WHERE i <= 20000`,
		`INSERT INTO idemsvc.lookup SELECT clock_timestamp(), i, n.id FROM n WHERE i <= 20000`,
		`INSERT INTO idemsvc.delivery SELECT clock_timestamp(), n.id, n.id, '\x01' FROM n WHERE i <= 20000`,
		`INSERT INTO idemsvc.payload SELECT clock_timestamp(), n.id, '\x01', '\x01' FROM n WHERE i <= 20000`,
		`INSERT INTO idemsvc.unfinished SELECT get_byte(uuid_send(n.id), 0), n.id, 1, CASE WHEN i % 10 < 7 THEN 2 ELSE i % 10 END, clock_timestamp(),
			clock_timestamp() + (i - 500) * interval '1 s', 'full' || i % 10, 'c' || i % 7 FROM n WHERE i <= 20000`,
		`INSERT INTO idemsvc.unfinished SELECT get_byte(uuid_send(n.id), 0), n.id, 1, 1, clock_timestamp(), clock_timestamp(), 'full', 'c' || i % 7, clock_timestamp(),
			CASE WHEN i % 3 = 0 THEN clock_timestamp() END, NULL, CASE WHEN i % 2 = 0 THEN n.id END, 0, i FROM n WHERE i > 20000`,
		`INSERT INTO idemsvc.acquired SELECT n.id, clock_timestamp(), ARRAY[n.id] FROM n WHERE i <= 20000`,
		`INSERT INTO idemsvc.journal (at, xid, epoch, heads, body, hash)
		 SELECT clock_timestamp() - interval '1 s', pg_current_xact_id()::text::bigint, 1, '', '\x01', '\x01' FROM n`,
	} {
		if strings.HasPrefix(sql, "CREATE TEMP") {
			sql = strings.Replace(sql, "TEMP TABLE n", "TABLE n", 1)
		}
		execSQL(t, pool, sql)
	}
	if _, err := s.Follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	execSQL(t, pool, "DROP TABLE n")
	vacuum(t, pool, "VACUUM (ANALYZE)")
	return connectTo(t, pool.Config().ConnString())
}

// sentStatements remembers the texts that a pool sent, each with its longest arguments.
type sentStatements struct {
	mu   sync.Mutex
	args map[string][]any
}

var _ pgx.BatchTracer = (*sentStatements)(nil)

func (s *sentStatements) add(sql string, args []any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := args[:0:0]
	for _, a := range args {
		if _, mode := a.(pgx.QueryExecMode); !mode {
			kept = append(kept, a)
		}
	}
	if old, ok := s.args[sql]; !ok || len(fmt.Sprint(kept)) > len(fmt.Sprint(old)) {
		s.args[sql] = kept
	}
}

func (s *sentStatements) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.args)
}

func (s *sentStatements) of(sql string) ([]any, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	args, ok := s.args[sql]
	return args, ok
}

func (s *sentStatements) texts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.args))
}

func (s *sentStatements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	s.add(d.SQL, d.Args)
	return ctx
}
func (s *sentStatements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (s *sentStatements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	for _, q := range d.Batch.QueuedQueries {
		s.add(q.SQL, q.Arguments)
	}
	return ctx
}
func (s *sentStatements) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (s *sentStatements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// explain is a statement's plan for its arguments, in a transaction that began like
// every batch.
func explain(t *testing.T, conn *pgx.Conn, sql string, args []any) planNode {
	t.Helper()
	return planOf(t, conn, func(ctx context.Context, tx pgx.Tx) ([]byte, error) {
		var plan []byte
		err := tx.QueryRow(ctx, "EXPLAIN (FORMAT JSON) "+sql, args...).Scan(&plan)
		return plan, err
	})
}

// explainGeneric is a statement's plan whatever its arguments.
func explainGeneric(t *testing.T, conn *pgx.Conn, sql string, n int) planNode {
	t.Helper()
	return planOf(t, conn, func(ctx context.Context, tx pgx.Tx) ([]byte, error) {
		if _, err := tx.Exec(ctx, "SET LOCAL plan_cache_mode = force_generic_plan"); err != nil {
			return nil, err
		}
		if _, err := tx.Prepare(ctx, "generic", sql); err != nil {
			return nil, err
		}
		defer func() { _ = conn.Deallocate(ctx, "generic") }()
		execute := "EXECUTE generic"
		if n > 0 {
			execute += "(" + strings.TrimSuffix(strings.Repeat("NULL, ", n), ", ") + ")"
		}
		var plan []byte
		err := tx.QueryRow(ctx, "EXPLAIN (FORMAT JSON) "+execute, pgx.QueryExecModeSimpleProtocol).Scan(&plan)
		return plan, err
	})
}

func planOf(t *testing.T, conn *pgx.Conn, ask func(context.Context, pgx.Tx) ([]byte, error)) planNode {
	t.Helper()
	ctx := t.Context()
	tx, err := conn.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(ctx) }()
	if _, err := tx.Exec(ctx, postgres.Statements()["begin"]); err != nil {
		t.Fatal(err)
	}
	plan, err := ask(ctx, tx)
	if err != nil {
		t.Fatal(err)
	}
	var out []struct{ Plan planNode }
	if err := json.Unmarshal(plan, &out); err != nil {
		t.Fatal(err)
	}
	return out[0].Plan
}

type planNode struct {
	Type     string     `json:"Node Type"`
	Relation string     `json:"Relation Name"`
	Index    string     `json:"Index Name"`
	Cond     string     `json:"Index Cond"`
	Recheck  string     `json:"Recheck Cond"`
	Filter   string     `json:"Filter"`
	Name     string     `json:"Subplan Name"`
	CTE      string     `json:"CTE Name"`
	Plans    []planNode `json:"Plans"`
}

func (n planNode) walk(f func(planNode)) {
	f(n)
	for _, p := range n.Plans {
		p.walk(f)
	}
}

func (n planNode) text(depth int) string {
	s := strings.Repeat("  ", depth) + strings.TrimSpace(n.Name+" "+n.Type+" "+n.Relation+" "+n.CTE+" "+n.Index)
	if n.Cond != "" {
		s += " cond " + n.Cond
	}
	if n.Filter != "" {
		s += " filter " + n.Filter
	}
	s += "\n"
	for _, p := range n.Plans {
		s += p.text(depth + 1)
	}
	return s
}

// growing are the tables that grow with use, and their partitions.
var growing = []string{"acquired", "event", "resource", "effect", "attempt", "member", "journal", "lookup", "unfinished", "payload", "delivery"}

func grows(relation string) bool {
	table, _, _ := strings.Cut(relation, "_")
	return slices.Contains(growing, table)
}

// checkPlan: tables that grow are read through an index and by a condition on it. The
// list of unfinished work may also be walked in the order of an index.
//
// A plan for known arguments may take what it likes of a partition that it knows to be
// empty; a generic one is kept while partitions fill.
func checkPlan(t *testing.T, plan planNode, generic bool) {
	t.Helper()
	today := time.Now().UTC().Format("20060102")
	filled := func(relation string) bool {
		_, day, partition := strings.Cut(relation, "_")
		return generic || !partition || day == today
	}
	bad := ""
	plan.walk(func(n planNode) {
		switch {
		case n.Type == "Seq Scan" && grows(n.Relation):
			bad += "\nscans " + n.Relation
		case (n.Type == "Index Scan" || n.Type == "Index Only Scan") && grows(n.Relation) && n.Cond == "" && n.Relation != "unfinished" && filled(n.Relation):
			bad += "\nreads all of " + n.Relation + " through " + n.Index
		case n.Type == "Bitmap Index Scan" && n.Cond == "":
			bad += "\nreads all of index " + n.Index
		case (n.Type == "Index Scan" || n.Type == "Index Only Scan") && n.Relation == "event" && n.Index != "event_pkey":
			bad += "\nreads event through " + n.Index
		}
	})
	if bad != "" {
		t.Errorf("%s\n%s", bad, plan.text(0))
	}
}
