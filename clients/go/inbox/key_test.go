package inbox_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/inbox"
	"github.com/idemsvc/idemsvc/clients/go/inbox/pgxinbox"
)

// The parts of a key are compared byte for byte, and never joined: what looks alike is not
// the same.
func TestKeysAreComparedByteForByte(t *testing.T) {
	t.Parallel()
	_, pool := consumerDB(t)
	long := strings.Repeat("x", 511)
	seen := map[[3]string]bool{}
	for _, k := range [][3]string{ // consumer, source, event ID
		{"a", "b:c", "d"},
		{"a", "b", "c:d"},
		{"a:b", "c", "d"},
		{"a", "bc", "d"},
		{"a", "b", "cd"},
		{"ab", "c", "d"},
		{"a", "b", "Evt"},
		{"a", "b", "evt"},
		{"a", "b", "evt "},
		{"a", "b", "\u00e9"},
		{"a", "b", "e\u0301"},
		{"a", "b", long + "1"},
		{"a", "b", long + "2"},
	} {
		seen[k] = true
		box, err := pgxinbox.New(pool, namespace, k[0])
		if err != nil {
			t.Fatal(err)
		}
		subject := pgxSubjectOf(box)
		e := &idemsvc.Event{Source: k[1], EventId: k[2]}
		for n := range 2 {
			if a, err := subject.process(t.Context(), e, book("x")); err != nil || a.Handled != (n == 0) {
				t.Errorf("%q, time %d: %+v, %v", k, n, a, err)
			}
		}
	}
	booked(t, pool, "x", len(seen))
	other, err := pgxinbox.New(pool, "other", "a")
	if err != nil {
		t.Fatal(err)
	}
	if a, err := pgxSubjectOf(other).process(t.Context(), &idemsvc.Event{Source: "b", EventId: "evt"}, book("other")); err != nil || !a.Handled {
		t.Errorf("another namespace: %+v, %v", a, err)
	}
}

// What is out of bounds is refused by its name, and changes nothing.
func TestBadInputIsRefused(t *testing.T) {
	t.Parallel()
	url, pool := consumerDB(t)
	client := memoryService(t).Client()
	long := strings.Repeat("x", 513)
	for _, bad := range []struct {
		namespace, consumer, says string
		opts                      []inbox.Option
	}{
		{"", consumer, "namespace is empty", nil},
		{namespace, long, "consumer has 513 bytes", nil},
		{namespace, " \t", "consumer is only white space", nil},
		{namespace, consumer, `table's name "Inbox; DROP"`, []inbox.Option{inbox.WithTable("Inbox; DROP")}},
		{namespace, consumer, "no client", []inbox.Option{inbox.Enforce(nil)}},
		{namespace, consumer, "above 0", []inbox.Option{inbox.EnforceOrLocal(client, 0)}},
	} {
		if _, err := pgxinbox.New(pool, bad.namespace, bad.consumer, bad.opts...); err == nil || !strings.Contains(err.Error(), bad.says) {
			t.Errorf("want an error that says %q: %v", bad.says, err)
		}
	}
	box := drivers["pgx"](t, url)
	for _, bad := range []struct{ source, id, says string }{
		{"", "1", "event.source is empty"},
		{"s", "", "event.event_id is empty"},
		{"s", long, "event.event_id has 513 bytes, at most 512"},
		{"s", "a\x00", "event.event_id contains NUL"},
		{"s\xff", "1", "event.source is not valid UTF-8"},
	} {
		a, err := box.process(t.Context(), &idemsvc.Event{Source: bad.source, EventId: bad.id}, book("bad"))
		if err == nil || a.Acknowledge() || !strings.Contains(err.Error(), bad.says) {
			t.Errorf("want an error that says %q: %+v, %v", bad.says, a, err)
		}
	}
	for _, bad := range []struct {
		says   string
		result inbox.Result
	}{
		{"result.body has 65537 bytes", inbox.Result{Body: make([]byte, 65537)}},
		{"result.content_type has 256 bytes", inbox.Result{ContentType: strings.Repeat("x", 256)}},
		{"result.content_type is not valid", inbox.Result{ContentType: "\x00"}},
		{"result.outputs has 65 names", inbox.Result{Outputs: make([]string, 65)}},
		{"result.outputs[1] has to be 1 to 512 bytes", inbox.Result{Outputs: []string{"a", ""}}},
	} {
		_, err := box.process(t.Context(), event("bad"), result(bad.result))
		if err == nil || !strings.Contains(err.Error(), bad.says) {
			t.Errorf("want an error that says %q: %v", bad.says, err)
		}
	}
	s := memoryService(t)
	claim := owners(t, s, s.Client(idemsvc.WithConsumer("another")), "bad", 1)[0]
	if _, err := box.do(t.Context(), claim, book("bad")); err == nil || !strings.Contains(err.Error(), `the claim is "another"'s`) {
		t.Errorf("another consumer's claim: %v", err)
	}
	if _, err := box.Report(t.Context()); err == nil || !strings.Contains(err.Error(), "no client") {
		t.Errorf("report without a client: %v", err)
	}
	for _, limit := range []int{0, 10001} {
		if _, err := box.Purge(t.Context(), time.Hour, limit); err == nil || !strings.Contains(err.Error(), "limit is") {
			t.Errorf("purge of %d: %v", limit, err)
		}
	}
	if _, err := box.Purge(t.Context(), 0, 1); err == nil || !strings.Contains(err.Error(), "olderThan is 0s") {
		t.Errorf("purge of all: %v", err)
	}
	if n := count(t, pool, "SELECT count(*) FROM idemsvc_inbox"); n != 0 {
		t.Errorf("%d markers are left", n)
	}
	// The longest that is allowed comes back as it was.
	most := inbox.Result{Body: make([]byte, 65536), ContentType: strings.Repeat("x", 255), Outputs: []string{strings.Repeat("\"", 512)}}
	for range 2 {
		a, err := box.process(t.Context(), event("most"), result(most))
		if err != nil || len(a.Result) != 65536 || a.ContentType != most.ContentType {
			t.Errorf("%d bytes of %q, %v", len(a.Result), a.ContentType, err)
		}
	}
}

// The table is made by many at once, under any name, and making it again changes nothing.
func TestTheTableIsMadeOnce(t *testing.T) {
	t.Parallel()
	url, pool := consumerDB(t)
	if _, err := pool.Exec(t.Context(), "CREATE SCHEMA app"); err != nil {
		t.Fatal(err)
	}
	box := drivers["sql"](t, url, inbox.WithTable("app.seen"))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := box.EnsureSchema(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if a, err := box.process(t.Context(), event("evt_1"), book("evt_1")); err != nil || !a.Handled {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := pool.Exec(t.Context(), box.Schema()); err != nil {
		t.Errorf("the schema as one script: %v", err)
	}
	if n := count(t, pool, "SELECT count(*) FROM app.seen"); n != 1 {
		t.Errorf("%d markers", n)
	}
	if n := count(t, pool, "SELECT count(*) FROM pg_indexes WHERE schemaname = 'app' AND tablename = 'seen'"); n != 3 {
		t.Errorf("%d indexes", n)
	}
}

// A purge goes in steps, leaves what is young, another consumer's, or still to be reported.
func TestPurge(t *testing.T) {
	onEachDriver(t, func(t *testing.T, pool *pgxpool.Pool, open func(...inbox.Option) subject) {
		t.Helper()
		box := open()
		for _, id := range []string{"1", "2", "3", "4", "5", "young"} {
			if a, err := box.process(t.Context(), event(id), book(id)); err != nil || !a.Handled {
				t.Fatalf("%+v, %v", a, err)
			}
		}
		for _, sql := range []string{
			"UPDATE idemsvc_inbox SET changed_at = changed_at - interval '40 days' WHERE event_id <> 'young'",
			"UPDATE idemsvc_inbox SET report = NULL WHERE event_id IN ('1', '2')",
			"INSERT INTO idemsvc_inbox VALUES ('x', 'dev', 's', 'e', 'another', 0, 0, '2020-01-01', '2020-01-01')",
		} {
			if _, err := pool.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		const keep = 35 * 24 * time.Hour
		withService := open(inbox.Enforce(memoryService(t).Client()))
		for _, step := range []struct {
			box         subject
			limit, want int
		}{{withService, 10, 2}, {box, 2, 2}, {box, 2, 1}, {box, 2, 0}} {
			if n, err := step.box.Purge(t.Context(), keep, step.limit); err != nil || n != step.want {
				t.Errorf("removed %d, want %d: %v", n, step.want, err)
			}
		}
		if n := count(t, pool, "SELECT count(*) FROM idemsvc_inbox"); n != 2 {
			t.Errorf("%d markers are left, want the young one and the other consumer's", n)
		}
	})
}

// A marker that another transaction is about to set is waited for as long as the context
// allows.
func TestWaitingEndsWithTheContext(t *testing.T) {
	onEachDriver(t, func(t *testing.T, pool *pgxpool.Pool, open func(...inbox.Option) subject) {
		t.Helper()
		box := open()
		a, err := box.process(t.Context(), event("evt_1"), func(ctx context.Context, exec statements) (inbox.Result, error) {
			short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
			defer cancel()
			if a, err := box.process(short, event("evt_1"), book("evt_1")); err == nil || a.Acknowledge() {
				t.Errorf("%+v, %v", a, err)
			}
			return book("evt_1")(ctx, exec)
		})
		acknowledged(t, "evt_1", true, a, err)
		booked(t, pool, "evt_1", 1)
	})
}
