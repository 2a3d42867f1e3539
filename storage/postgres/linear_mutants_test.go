package postgres_test

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemsvc/idemsvc/internal/pgtest"
	"github.com/idemsvc/idemsvc/internal/wrongrules"
	"github.com/idemsvc/idemsvc/storage/postgres"
	"github.com/idemsvc/idemsvc/storage/postgres/embedded"
	"github.com/idemsvc/idemsvc/storage/storagetest/linear"
	"github.com/idemsvc/idemsvc/storage/storagetest/wire"
)

// edit changes the text of statements on their way to the server.
type edit struct{ pattern, with string }

// seeded is a store with a fault put in on purpose.
type seeded struct {
	name   string
	edits  []edit             // of its statements
	decide wrongrules.Decider // its rules
	early  float64            // the odds of answering a batch before it is committed
	crash  bool               // it shows only when the database crashes
	change func(c *pgxpool.Config)
}

// Patterns of the statements: flattened numbers are parameters with a subscript.
const (
	num    = `\(\$\d+::bigint\[\]\)`
	ofStep = num + `\[l\.o \+ `
	ofEach = num + `\[u\.o \+ `
)

// faults are the faults of the statements and of the wire.
var faults = []seeded{
	{name: "a completion, failure or heartbeat is written whatever the row version, which is what holds the fence", edits: []edit{
		{` AND e\.version = ` + num + `\[\(w\.n - 1\) \* \d+ \+ 1\]`, ""}, {` AND e\.version = ` + ofStep + `1\]`, ""},
	}},
	{name: "a completion, failure or heartbeat is written whatever became of the lease", edits: []edit{
		{ofStep + `2\] = 0 OR \(` + ofStep + `2\] = 1\) = \(l\.lease_until > m\.at\)`, "true"},
	}},
	{name: "a heartbeat shortens a lease", edits: []edit{{`greatest\(e\.lease_until, least\(m\.at \+ ` + ofStep, `(least(m.at + ($$6::bigint[])[l.o + `}}},
	{name: "a completion keeps no result", edits: []edit{{`result = CASE WHEN \(` + ofStep + `4\] & 1\) <> 0 THEN l\.result ELSE e\.result END`, "result = e.result"}}},
	{name: "a grant or other transition is written whatever the event's row version", edits: []edit{{` AND e\.version = ` + ofEach + `2\]`, ""}}},
	{name: "a lane is given whatever the resource's row version", edits: []edit{{` AND r\.version = ` + ofEach + `2\]`, ""}}},
	{name: "an effect is begun whatever its row version", edits: []edit{{` AND f\.version = ` + ofEach + `2\]`, ""}}},
	{name: "an effect is begun that somebody else has begun before", edits: []edit{{`JOIN nf USING \(cmd\) JOIN new USING \(id\)`, "JOIN nf USING (cmd)"}}},
	{name: "a transition is written whatever became of the lease", edits: []edit{{`le\.guard = 0 OR \(le\.guard = 1\) = \(le\.lease_until > moment\.at\)`, "true"}}},
	{name: "a command goes on without all of its rows", edits: []edit{{`WHERE COALESCE\(locked\.n, 0\) = c\.need`, ""}, {`THEN 1 ELSE 0 END\) AS whole`, "THEN 1 ELSE 1 END) AS whole"}}},
	{name: "a lane is forgotten: its owner is not noted", edits: []edit{{`owned = \(` + ofEach + `5\] & 1\) <> 0`, "owned = false"}}},
	{name: "the owner of a lane is not read", edits: []edit{{`AND r\.id = x\.id AND r\.owned OFFSET 0\) r\s+\) o`, "AND false OFFSET 0) r ) o"}}},
	{name: "a lane comes without a fence of its own", edits: []edit{{`lane_fence = CASE WHEN \(` + ofEach + `5\] & 4\) <> 0 THEN d\.fence ELSE r\.lane_fence END`, "lane_fence = greatest(r.lane_fence, 1)"}}},
	{name: "the fence of a grant is used again", edits: []edit{{`env\.base \+ nextval\('idemsvc\.fence'\)`, "env.base + (SELECT last_value FROM idemsvc.fence)"}}},
	{name: "a first claim takes the record of another over", edits: []edit{{
		`ON CONFLICT DO NOTHING\s+RETURNING e\.id, e\.fence`,
		"ON CONFLICT (bucket, id) DO UPDATE SET fence = excluded.fence, nonce = excluded.nonce, lease_until = excluded.lease_until, detail = excluded.detail, state = 2 RETURNING e.id, e.fence",
	}}},
	{name: "the attempts before the last grant are not kept", edits: []edit{{`(granted_at, ended_at, due_at, detail\)) JOIN done USING \(cmd\)`, "$1 JOIN done USING (cmd) WHERE false"}}},
	{name: "who carries which version is not kept", edits: []edit{{`(AS t\(cmd, resource, epoch, value, event\)) JOIN done USING \(cmd\)`, "$1 JOIN done USING (cmd) WHERE false"}}},
	{name: "the journal says nothing of completions, failures and releases", edits: []edit{{`FROM se s WHERE s\.rises\)`, "FROM se s WHERE false)"}}},
	{name: "what a completion has answered of signals is not kept", edits: []edit{{`covered = ` + ofEach + `11\], covered_by = u\.covered_by`, "covered = r.covered, covered_by = r.covered_by"}}},
	{name: "a signal is stored without a number", edits: []edit{{`(` + num + `\[i\.o \+ )3\] = 1 THEN ok\.fence`, "${1}3] = 1 AND ${1}4] <> 1 THEN ok.fence"}}},
	{name: "what an acquisition was granted is not kept", edits: []edit{{`AND e\.nonce = t\.nonce OFFSET 0`, "AND false OFFSET 0"}}},
	{name: "an answer is given before the commit", early: 0.1},
	{name: "a commit does not wait for its log", crash: true, edits: []edit{{`set_config\('synchronous_commit', 'on', true\)`, "set_config('synchronous_commit', 'off', true)"}}, change: func(c *pgxpool.Config) {
		c.ConnConfig.RuntimeParams["synchronous_commit"] = "off"
	}},
}

// all are these, and the wrong rules that the exploration of the rules must notice too.
func all() []seeded {
	return slices.Concat(faults, rules(func(string) bool { return true }))
}

// ofTheInbox are the wrong rules that every run tries on PostgreSQL: nothing but they shows
// that receipts, acquisitions and decisions by request are looked at.
var ofTheInbox = []string{
	"a receipt is not stored where a signal waits already", "a claim that is acquired takes no lane", "a decision forgets its request",
}

// rules are the wrong rules of some names.
func rules(want func(name string) bool) (list []seeded) {
	for _, r := range wrongrules.All() {
		if want(r.Name) {
			list = append(list, seeded{name: "rule: " + r.Name, decide: r.Decide})
		}
	}
	return list
}

// open makes a rig with the fault in it.
func (s *seeded) open(t *testing.T, seed uint64) *rig {
	t.Helper()
	var srv *embedded.Server
	var url string
	if s.crash {
		srv = cluster(t, embedded.Options{Settings: map[string]string{"fsync": "off", "wal_writer_delay": "10s", "wal_writer_flush_after": "1GB"}})
		url = srv.URL("postgres")
	} else {
		url = pgtest.Database(t, "idemsvc", migrate)
	}
	r := newRig(t, url, seed, func(o *postgres.Options, p *wire.Proxy, c *pgxpool.Config) {
		if s.decide != nil {
			*o = o.Deciding(s.decide)
		}
		if s.change != nil {
			s.change(c)
		}
		s.mustMatch(t)
		if len(s.edits) > 0 {
			p.Rewrite(s.rewrite)
		}
	})
	if srv != nil {
		r.crash = crashing(srv)
	}
	return r
}

// mustMatch demands that there is something to change.
func (s *seeded) mustMatch(t *testing.T) {
	t.Helper()
	for _, e := range s.edits {
		if !matchesSome(regexp.MustCompile(e.pattern)) {
			t.Fatalf("%s: no statement has %s", s.name, e.pattern)
		}
	}
}

func matchesSome(re *regexp.Regexp) bool {
	for _, sql := range postgres.Statements() {
		if re.MatchString(sql) {
			return true
		}
	}
	return false
}

func (s *seeded) rewrite(sql string) string {
	for _, e := range s.edits {
		sql = regexp.MustCompile(e.pattern).ReplaceAllString(sql, e.with)
	}
	return sql
}

// killer says what notices the fault, and after how many histories; nothing for none.
func (s *seeded) killer(t *testing.T, seed uint64, most int) (what string, histories int) {
	t.Helper()
	r := s.open(t, seed)
	trouble := &troubles{every: 20 * time.Millisecond, chances: wire.Chances{Early: s.early}, crash: s.crash}
	for histories < most {
		list, err := r.batch(t.Context(), seedsFrom(&seed, 32), trouble)
		if err != nil {
			t.Fatal(err)
		}
		histories += len(list)
		mustBeSQL(t, list)
		if what := refusedBySchema(list); what != "" {
			return what, histories
		}
		bad, _ := judge(list)
		if len(bad) > 0 {
			return "no order of the calls: " + bad[0].Why, histories
		}
	}
	changed := int64(0)
	for _, rep := range r.replicas {
		changed += rep.proxy.Changed()
	}
	if len(s.edits) > 0 && changed == 0 {
		t.Errorf("no statement has been changed")
	}
	return "", histories
}

// mustBeSQL demands that the server understood what was changed.
func mustBeSQL(t *testing.T, list []*linear.History) {
	t.Helper()
	for _, h := range list {
		for i := range h.Calls {
			if pg, ok := errors.AsType[*pgconn.PgError](h.Calls[i].Unknown); ok && strings.HasPrefix(pg.Code, "42") {
				t.Fatalf("the changed statement is none: %v", pg)
			}
		}
	}
}

// refusedBySchema tells of a write that the schema, or a check within the statement, did
// not let through.
func refusedBySchema(list []*linear.History) string {
	for _, h := range list {
		for i := range h.Calls {
			pg, ok := errors.AsType[*pgconn.PgError](h.Calls[i].Unknown)
			switch {
			case !ok:
			case strings.HasPrefix(pg.Code, "23"):
				return "the schema: " + pg.ConstraintName
			case pg.Code == "22012":
				return "the statement's own check that all was written"
			}
		}
	}
	return ""
}

// How many histories may pass before a fault must have been noticed: one of the statements or
// of the wire, and a wrong rule, of which some show only where much comes together.
const (
	mostUnnoticed     = 4000
	mostUnnoticedRule = 20000
)

// A store with a fault does not pass: each fault put in on purpose is noticed, every time.
// What noticed it is in docs/proof.md. The other wrong rules, which the exploration of the rules
// notices in every run, are tried on PostgreSQL by the long runs.
func TestSeededFaultsAreNoticed(t *testing.T) {
	t.Parallel()
	seed := linearSeed(t)
	list := slices.Concat(faults, rules(func(name string) bool { return slices.Contains(ofTheInbox, name) }))
	if heavy() {
		list = all()
	}
	for i, s := range list {
		seed := seed + uint64(i)<<20 // histories of their own
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			most := mostUnnoticed
			if s.decide != nil {
				most = mostUnnoticedRule
			}
			what, n := s.killer(t, seed, most)
			if what == "" {
				t.Errorf("nothing was noticed in %d histories", n)
				return
			}
			t.Logf("after %d histories: %s", n, what)
		})
	}
}

// A fault that no longer fits the statements, or that docs/proof.md does not tell of, is
// told of by every run, not by the long ones alone.
func TestSeededFaultsFitTheStatements(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/proof.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all() {
		s.mustMatch(t)
		if !strings.Contains(string(page), "| "+strings.TrimPrefix(s.name, "rule: ")+" |") {
			t.Errorf("docs/proof.md does not tell of the fault: %s", s.name)
		}
	}
}
