package webhook_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/inbox"
	"github.com/idemsvc/idemsvc/clients/go/inbox/pgxinbox"
	"github.com/idemsvc/idemsvc/clients/go/webhook"
	"github.com/idemsvc/idemsvc/internal/pgtest"
)

// ledger is a consumer's own database, in which work writes a row and the inbox its marker.
type ledger struct {
	pool *pgxpool.Pool
	box  *inbox.Inbox[pgx.Tx]
	fail error // of the work, after its row
	runs atomic.Int64
}

func newLedger(t *testing.T, client *idemsvc.Client) *ledger {
	t.Helper()
	url := pgtest.Database(t, "webhook", func(ctx context.Context, url string) error {
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close(ctx) }()
		box, err := pgxinbox.New(conn, "dev", "billing")
		if err != nil {
			return err
		}
		if err := box.EnsureSchema(ctx); err != nil {
			return err
		}
		_, err = conn.Exec(ctx, "CREATE TABLE invoice (event_id text NOT NULL)") // nothing in it refuses a second row
		return err
	})
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	box, err := pgxinbox.New(pool, "dev", "billing", inbox.Enforce(client))
	if err != nil {
		t.Fatal(err)
	}
	return &ledger{pool: pool, box: box}
}

func (l *ledger) book(item *webhook.Item) inbox.Work[pgx.Tx] {
	return func(ctx context.Context, tx pgx.Tx) (inbox.Result, error) {
		l.runs.Add(1)
		_, err := tx.Exec(ctx, "INSERT INTO invoice VALUES ($1)", item.ID)
		return inbox.Result{Body: []byte("booked " + item.ID)}, errors.Join(err, l.fail)
	}
}

func (l *ledger) work(ctx context.Context, claim *idemsvc.Claim, item *webhook.Item) error {
	_, err := l.box.Do(ctx, claim, l.book(item))
	return err
}

func (l *ledger) local(ctx context.Context, item *webhook.Item, event *idemsvc.Event, opts ...idemsvc.ClaimOption) (*idemsvc.Answer, error) {
	return l.box.Alone(ctx, event, l.book(item), opts...)
}

// rows is how often an event was booked.
func (l *ledger) rows(t *testing.T, id string) (n int) {
	t.Helper()
	if err := l.pool.QueryRow(t.Context(), "SELECT count(*) FROM invoice WHERE event_id = $1", id).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (l *ledger) once(t *testing.T, id string) {
	t.Helper()
	if n := l.rows(t, id); n != 1 {
		t.Errorf("%s was booked %d times", id, n)
	}
}

// report tells the service until nothing is left, and returns of how many events.
func (l *ledger) report(t *testing.T) (told int) {
	t.Helper()
	until(t, "all is reported", func() bool {
		r, err := l.box.Report(t.Context())
		if len(r.Differs)+len(r.Errs) > 0 {
			t.Fatalf("%+v", r)
		}
		told += r.Told
		return err == nil && r.Left == 0
	})
	return told
}

// newLocal is a handler whose marker decides while its service is away.
func newLocal(t *testing.T, p *webhook.Provider, o *outage, log *logged, opts ...webhook.Option) (*webhook.Handler, *ledger) {
	t.Helper()
	client, err := idemsvc.Dial(o.addr, idemsvc.WithNamespace("dev"), idemsvc.WithConsumer("billing"), idemsvc.WithEndTimeout(200*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	books := newLedger(t, client)
	h, err := webhook.New(client, p, func(ctx context.Context, c *idemsvc.Claim, item *webhook.Item) error {
		if strings.HasPrefix(item.ID, "outage") {
			o.away()
		}
		return books.work(ctx, c, item)
	}, append([]webhook.Option{
		webhook.WithClaimTimeout(2 * time.Second), webhook.WithClaimOptions(idemsvc.WithLease(2 * time.Second)), webhook.Local(books.local),
		webhook.WithLogger(slog.New(slog.NewJSONHandler(log, nil))),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h, books
}

// Work that was committed while the service went away is found by its marker, answered with
// success and what it left, and told later.
func TestCommittedBeforeTheOutage(t *testing.T) {
	t.Parallel()
	o, log, p := newOutage(t), &logged{}, testProvider("stripe")
	h, books := newLocal(t, p, o, log)
	for range 2 {
		r := signed(t, p, invoice("outage_1", 1, 1), nil)
		hr := httptest.NewRequest(r.Method, "/", bytes.NewReader(r.Body))
		hr.Header = r.Header
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, hr); w.Code != 200 || w.Body.String() != "booked outage_1" {
			t.Errorf("answered %d %q", w.Code, w.Body)
		}
	}
	if answers(log, "local") != 2 {
		t.Errorf("%v", log.lines("answered"))
	}
	o.start()
	if told := books.report(t); told != 1 {
		t.Errorf("the service was told of %d events", told)
	}
	books.once(t, "outage_1")
	processed(t, o.dial(), "outage_1")
}

// Work that was claimed and failed while the service went away has had its turn.
func TestFailedBeforeTheOutage(t *testing.T) {
	t.Parallel()
	o, log, p := newOutage(t), &logged{}, testProvider("stripe")
	h, books := newLocal(t, p, o, log)
	books.fail = errors.New("the ledger is closed")
	if code := deliverTo(t, h, p, invoice("outage_1", 1, 1)); code != 503 || books.runs.Load() != 1 || books.rows(t, "outage_1") != 0 {
		t.Errorf("answered %d after %d turns", code, books.runs.Load())
	}
}

// Without the service a failure is repeated, and an event that it would order is refused
// although others of the request are done: nobody here knows what is newer.
func TestWhatAMarkerCannotDecide(t *testing.T) {
	t.Parallel()
	o, log, p := newOutage(t), &logged{}, arrays()
	h, books := newLocal(t, p, o, log, webhook.WithOrdering(), webhook.WithClaimTimeout(100*time.Millisecond))
	o.away()
	books.fail = errors.New("the ledger is closed")
	if code := deliverTo(t, h, p, `[{"id":"f1"}]`); code != 503 || books.rows(t, "f1") != 0 {
		t.Errorf("a failure was answered %d", code)
	}
	books.fail = nil
	array := `[{"id":"f1"},{"id":"o1","parcel":"a","rev":1},{"id":"f2","parcel":"a"}]`
	if code := deliverTo(t, h, p, array); code != 503 || books.rows(t, "o1") != 0 {
		t.Errorf("an array with an ordered event was answered %d", code)
	}
	books.once(t, "f1")
	books.once(t, "f2")
	o.start()
	books.report(t)
	until(t, "the next try succeeds", func() bool { return deliverTo(t, h, p, array) == 200 })
	for _, id := range []string{"f1", "o1", "f2"} {
		books.once(t, id)
	}
}

// A service that refuses is not away.
func TestARefusalIsNoAbsence(t *testing.T) {
	t.Parallel()
	o, log, p := newOutage(t), &logged{}, testProvider("stripe")
	_, books := newLocal(t, p, o, log)
	client, err := idemsvc.Dial(o.addr, idemsvc.WithNamespace("somebody else's"), idemsvc.WithConsumer("billing"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	h, err := webhook.New(client, p, books.work, webhook.Local(books.local), webhook.WithClaimTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = h.Close() }()
	if code := deliverTo(t, h, p, invoice("evt_1", 1, 1)); code == 200 || books.rows(t, "evt_1") != 0 {
		t.Errorf("answered %d", code)
	}
}

// A function that goes wrong is a failed try.
func TestALocalFunctionThatGoesWrong(t *testing.T) {
	t.Parallel()
	for what, alone := range map[string]webhook.LocalFunc{
		"panics": func(context.Context, *webhook.Item, *idemsvc.Event, ...idemsvc.ClaimOption) (*idemsvc.Answer, error) {
			panic("no")
		},
		"nothing": func(context.Context, *webhook.Item, *idemsvc.Event, ...idemsvc.ClaimOption) (*idemsvc.Answer, error) {
			return nil, nil
		},
	} {
		o, log, p := newOutage(t), &logged{}, testProvider("stripe")
		client := o.dial()
		o.away()
		h, err := webhook.New(client, p, (&counts{n: map[string]int{}}).work, webhook.Local(alone),
			webhook.WithClaimTimeout(50*time.Millisecond), webhook.WithLogger(slog.New(slog.NewJSONHandler(log, nil))))
		if err != nil {
			t.Fatal(err)
		}
		if code := deliverTo(t, h, p, invoice("evt_1", 1, 1)); code != 503 || answers(log, "not now") != 1 {
			t.Errorf("%s: answered %d: %s", what, code, log.text())
		}
		_ = h.Close()
	}
}

// What Local does not go with is told when the handler is made.
func TestMistakesWithLocal(t *testing.T) {
	t.Parallel()
	s := newScene(t, testProvider("stripe"))
	alone := func(context.Context, *webhook.Item, *idemsvc.Event, ...idemsvc.ClaimOption) (*idemsvc.Answer, error) {
		return nil, nil
	}
	for why, opts := range map[string][]webhook.Option{
		"no function": {webhook.Local(nil)},
		"and a spool": {webhook.Local(alone), webhook.Spool(t.TempDir())},
	} {
		if _, err := webhook.New(s.client, s.p, s.work, opts...); err == nil {
			t.Errorf("%s: it was made", why)
		}
	}
	if _, err := webhook.NewReceiver(s.client, s.p, webhook.Local(alone)); err == nil {
		t.Error("a receiver was made")
	}
}
