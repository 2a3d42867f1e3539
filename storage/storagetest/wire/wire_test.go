package wire_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/idemsvc/idemsvc/internal/pgtest"
	"github.com/idemsvc/idemsvc/storage/storagetest/wire"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

func connect(t *testing.T, p *wire.Proxy, url string) *pgx.Conn {
	t.Helper()
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	cfg.DialFunc = p.Dial
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func count(t *testing.T, url string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM x").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func insert(conn *pgx.Conn) error {
	b := &pgx.Batch{}
	b.Queue("INSERT INTO x VALUES (1)")
	b.Queue("INSERT INTO x VALUES (2)")
	return conn.SendBatch(context.Background(), b).Close()
}

func table(t *testing.T) (p *wire.Proxy, url string) {
	t.Helper()
	url = pgtest.Database(t, "empty", nil)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), "CREATE TABLE x (i integer)"); err != nil {
		t.Fatal(err)
	}
	p = wire.Through(1)
	t.Cleanup(p.Close)
	return p, url
}

// A batch whose connection is cut has been carried out whole or not at all, and both
// happen, as the cut moves along the messages.
func TestCutAtEachMessage(t *testing.T) {
	for _, side := range []wire.Side{wire.ToServer, wire.ToClient} {
		t.Run(map[wire.Side]string{wire.ToServer: "ToServer", wire.ToClient: "ToClient"}[side], func(t *testing.T) {
			p, url := table(t)
			stored, lost := 0, 0
			for n := 0; ; n++ {
				if n == 100 {
					t.Fatal("the cut is never past the batch")
				}
				conn := connect(t, p, url)
				if err := insert(conn); err != nil { // prepares what comes again
					t.Fatal(err)
				}
				before := count(t, url)
				p.CutAt(wire.Cut{Side: side, After: n, Torn: n%2 == 1})
				err := insert(conn)
				if !p.Heal() {
					if err != nil {
						t.Fatal(err)
					}
					break
				}
				if err == nil {
					t.Errorf("cut after %d messages: no error", n)
				}
				deadline := time.Now().Add(5 * time.Second)
				for time.Now().Before(deadline) && open(t, url) > 0 { // the server has noticed
					time.Sleep(5 * time.Millisecond)
				}
				switch count(t, url) - before {
				case 0:
					lost++
				case 2:
					stored++
				default:
					t.Errorf("cut after %d messages: half a batch", n)
				}
			}
			if side == wire.ToClient && stored == 0 || side == wire.ToServer && lost == 0 {
				t.Errorf("%d batches were stored, %d were lost", stored, lost)
			}
			if p.Cuts() == 0 || p.Broken() < p.Cuts() {
				t.Errorf("%d cuts, %d broken connections", p.Cuts(), p.Broken())
			}
		})
	}
}

// open are the other sessions on the database.
func open(t *testing.T, url string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	err = conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()").Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestEarlyAnswerIsLost(t *testing.T) {
	p, url := table(t)
	conn := connect(t, p, url)
	if err := insert(conn); err != nil {
		t.Fatal(err)
	}
	p.Trouble(wire.Chances{Early: 1})
	if err := insert(conn); err != nil {
		t.Fatalf("an early answer: %v", err)
	}
	if n := count(t, url); n != 2 || p.Early() != 1 {
		t.Errorf("%d rows, %d early answers", n, p.Early())
	}
	again := connect(t, p, url)
	b := &pgx.Batch{}
	b.Queue("INSERT INTO x VALUES (1 / $1)", 0)
	if err := again.SendBatch(t.Context(), b).Close(); !isState(err, "22012") {
		t.Errorf("a batch that fails is answered with %v", err)
	}
}

func isState(err error, state string) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == state
}

func TestRewrite(t *testing.T) {
	p, url := table(t)
	p.Rewrite(func(sql string) string {
		return strings.ReplaceAll(sql, "INTO x VALUES (2)", "INTO x SELECT generate_series(1, 10)")
	})
	if err := insert(connect(t, p, url)); err != nil {
		t.Fatal(err)
	}
	if n := count(t, url); n != 11 || p.Changed() != 1 {
		t.Errorf("%d rows, %d statements changed", n, p.Changed())
	}
}

func TestDownAndLatency(t *testing.T) {
	p, url := table(t)
	conn := connect(t, p, url)
	p.Latency(50 * time.Millisecond)
	began := time.Now()
	if err := insert(conn); err != nil || time.Since(began) < 50*time.Millisecond {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	p.Latency(0)
	p.Down(true)
	if err := insert(conn); err == nil {
		t.Error("a connection outlived the proxy's being down")
	}
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	cfg.DialFunc = p.Dial
	if _, err := pgx.ConnectConfig(t.Context(), cfg); !errors.Is(err, wire.ErrDown) {
		t.Errorf("got %v, want ErrDown", err)
	}
	p.Down(false)
	if err := insert(connect(t, p, url)); err != nil {
		t.Error(err)
	}
}

// Other processes come by a socket.
func TestListen(t *testing.T) {
	_, url := table(t)
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	network, address := pgconn.NetworkAddress(cfg.Host, cfg.Port)
	p := wire.New(1, wire.To(network, address))
	t.Cleanup(p.Close)
	dir, err := os.MkdirTemp("", "wire-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := p.Listen(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), "postgres://"+cfg.User+"@/"+cfg.Database+"?host="+dir+"&port=5432")
	if err != nil {
		t.Fatal(err)
	}
	if err := insert(conn); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p.Broken() != 0 {
		t.Errorf("%d broken connections after a good-bye", p.Broken())
	}
}
