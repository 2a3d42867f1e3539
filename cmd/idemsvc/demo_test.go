package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idemsvc/idemsvc/internal/demo"
	"github.com/idemsvc/idemsvc/internal/pgtest"
)

// The demo shows what it claims: the naive handler suffers from all four faults, the one
// that asks idemsvc from none, by the tables that both leave behind.
func TestDemo(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t, "empty", nil)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, "demo", "--quick", "--json")
	cmd.Env = append(os.Environ(), asProgram+"=1", "IDEMSVC_DEMO_DATABASE_URL="+url)
	said := &lockedBuffer{}
	cmd.Stderr = said
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it ends its children
	cmd.WaitDelay = time.Minute
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, said)
	}
	var r demo.Report
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	naive, guarded := faults(t, conn, "demo_naive"), faults(t, conn, "demo_idemsvc")
	for what, n := range naive {
		if n == 0 {
			t.Errorf("the naive handler has no %s", what)
		}
	}
	for what, n := range guarded {
		if n != 0 {
			t.Errorf("with idemsvc there are %d %s", n, what)
		}
	}
	for name, c := range map[string]struct {
		demo.Column
		faults map[string]int64
	}{"naive": {r.Naive, naive}, "idemsvc": {r.Guarded, guarded}} {
		if c.RowsDoubled != c.faults["rows doubled"] || c.Lost != c.faults["lost"] ||
			c.StaleOverwritten != c.faults["stale overwritten"] || c.EffectsTwice != c.faults["mails twice"]+c.faults["charges twice"] {
			t.Errorf("%s: the report says %+v, and the tables %v", name, c.Column, c.faults)
		}
		if c.Events != quickEvents || c.Deliveries <= quickEvents || c.Killed < quickKills/2 {
			t.Errorf("%s: that was no storm: %+v", name, c.Column)
		}
	}
	if o := idemsvcRun(t, map[string]string{"IDEMSVC_DEMO_DATABASE_URL": url}, "demo", "--quick"); o.code != exitFailed {
		t.Errorf("a database that was used is taken: %+v", o)
	}
}

// faults counts them one by one, in the tables of one handler.
func faults(t *testing.T, conn *pgx.Conn, schema string) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	for what, sql := range map[string]string{
		"rows doubled":  "SELECT count(*) - count(DISTINCT (source, event)) FROM ledger",
		"mails twice":   "SELECT count(*) - count(DISTINCT (source, event)) FROM emails",
		"charges twice": "SELECT count(*) - count(DISTINCT (source, event)) FROM charges",
		"lost": `SELECT count(*) FROM sent WHERE (source, event) NOT IN (SELECT source, event FROM ledger)
			OR (source, event) NOT IN (SELECT source, event FROM emails)
			OR (version = 1 AND (source, event) NOT IN (SELECT source, event FROM charges))`,
		"stale overwritten": `SELECT count(DISTINCT (l.source, l.resource)) FROM ledger AS l WHERE NOT EXISTS (
			SELECT FROM resources AS r WHERE r.source = l.source AND r.resource = l.resource AND r.version >= l.version)`,
	} {
		var n int64
		if _, err := conn.Exec(t.Context(), "SET search_path TO "+schema); err != nil {
			t.Fatal(err)
		}
		if err := conn.QueryRow(t.Context(), sql).Scan(&n); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		out[what] = n
	}
	return out
}

func TestDemoRefusesWhatItCannotUse(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"extra"}, {"--payloads", "testdata/missing"}, {"--payloads", "testdata/help.txt"}, {"--events", "0"}, {"--seed", "x"}} {
		if o := idemsvcRun(t, nil, append([]string{"demo"}, args...)...); o.code != exitUsage || o.stdout != "" {
			t.Errorf("%q: %+v", args, o)
		}
	}
	// A consumer is told its task by the demo, not by people.
	if o := idemsvcRun(t, nil, "demo", "consumer"); o.code != exitFailed {
		t.Errorf("%+v", o)
	}
}
