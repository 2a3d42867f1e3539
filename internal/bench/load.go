package bench

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

const (
	// chunk is how many events one statement stores. The larger, the fewer times each page
	// of the index is looked at.
	chunk = 500_000
	// loaders is how many statements run at the same time.
	loaders = 2
	// loadRate is a low guess of how many events are stored in a second.
	loadRate = 5000
	// placeholder stands in a model event where others have their number.
	placeholder = "placeholder1"
)

// numbered is the number of an event as it stands in its values: as long as the
// placeholder.
func numbered(n int) string { return fmt.Sprintf("%0*d", len(placeholder), n) }

// kind is one of the kinds of stored events: they differ in what else than their ID they
// can be found by.
type kind struct {
	name  string
	query storage.QueryKind
	// value is what an event is found by, as the terms of the index are made.
	value func(no string) []string
	event func(e *pb.Event, d *pb.Delivery, no string)
	done  func(c *pb.CompleteEventRequest, no string)
}

var kinds = []kind{
	{
		name: "by correlation ID", query: storage.ByCorrelation, value: func(no string) []string { return []string{"cor_" + no} },
		event: func(e *pb.Event, _ *pb.Delivery, no string) { e.CorrelationId = "cor_" + no },
	},
	{
		name: "by request ID", query: storage.ByRequestID, value: func(no string) []string { return []string{"req_" + no} },
		event: func(_ *pb.Event, d *pb.Delivery, no string) { d.RequestId = "req_" + no },
	},
	{
		name: "by resource", query: storage.ByResource, value: func(no string) []string { return []string{"order", no} },
		event: func(e *pb.Event, _ *pb.Delivery, no string) { e.Resource = &pb.Resource{Type: "order", Id: no} },
	},
	{
		name: "by output", query: storage.ByOutput, value: func(no string) []string { return []string{"invoice/" + no} },
		done: func(c *pb.CompleteEventRequest, no string) { c.Outputs = []string{"invoice/" + no} },
	},
}

func sourceOf(k int) string { return fmt.Sprintf("growth%d", k) }

func keyOf(k int, no string) idem.EventKey {
	return idem.EventKey{EventRef: idem.EventRef{Namespace: namespace, Source: sourceOf(k), EventID: "evt_" + no}, Consumer: consumer}
}

// termsOf are the hashes that an event stands under in the index.
func termsOf(k int, no string) []int64 {
	return []int64{idem.Term(namespace, "evt_"+no), idem.Term(namespace, kinds[k].value(no)...)}
}

// load stores as many finished events as the side is to have: the service does one of each
// kind, and SQL multiplies it.
func (x *grown) load(ctx context.Context, say func(string, ...any)) error {
	for k := range kinds {
		if err := x.model(ctx, k); err != nil {
			return err
		}
	}
	columns, err := copied(ctx, x.db, "idemsvc.event", nil)
	if err != nil {
		return err
	}
	// Full pages in the log protect what a crash would throw away here anyway.
	if err := x.set(ctx, "full_page_writes", "off"); err != nil {
		return err
	}
	firsts := make(chan int)
	faults := make(chan error, loaders)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var working sync.WaitGroup
	for range loaders {
		working.Go(func() {
			if err := x.loader(ctx, columns, firsts); err != nil {
				faults <- err
				cancel()
			}
		})
	}
	said := time.Now()
	for first := 0; first < x.events && ctx.Err() == nil; first += chunk {
		if time.Since(said) > 10*time.Second {
			said = time.Now()
			say("storing events: %s of %s", grouped(first), grouped(x.events))
		}
		select {
		case firsts <- first:
		case <-ctx.Done():
		}
	}
	close(firsts)
	working.Wait()
	select {
	case err := <-faults:
		return err
	default:
	}
	return errors.Join(ctx.Err(), x.set(ctx, "full_page_writes", "on"))
}

func (x *grown) set(ctx context.Context, name, value string) error {
	if _, err := x.db.admin.Exec(ctx, "ALTER SYSTEM SET "+name+" = "+value); err != nil {
		return err
	}
	_, err := x.db.admin.Exec(ctx, "SELECT pg_reload_conf()")
	return err
}

// model lets the service do the event that others are made from, and checks that it is to
// be found as they will be.
func (x *grown) model(ctx context.Context, k int) error {
	key := keyOf(k, placeholder)
	req := claimOf(key.EventID)
	req.Event.Source, req.Event.Type = key.Source, "invoice.paid"
	req.Delivery = &pb.Delivery{}
	if f := kinds[k].event; f != nil {
		f(req.GetEvent(), req.GetDelivery(), placeholder)
	}
	calls := x.service.client(0).Idempotency()
	claim, err := granted(calls.ClaimEvent(ctx, req))
	if err != nil {
		return err
	}
	done := completionOf(claim)
	done.Result = []byte("invoice/" + placeholder)
	if f := kinds[k].done; f != nil {
		f(done, placeholder)
	}
	if _, err := calls.CompleteEvent(ctx, done); err != nil {
		return err
	}
	if err := caughtUp(ctx, x.service, 0); err != nil {
		return err
	}
	var created time.Time
	if err := x.db.admin.QueryRow(ctx, "SELECT created_at FROM idemsvc.event WHERE id = $1", [16]byte(key.ID())).Scan(&created); err != nil {
		return err
	}
	rows, err := x.db.admin.Query(ctx, "SELECT DISTINCT term FROM idemsvc.lookup WHERE id = $1 ORDER BY term", [16]byte(key.ID()))
	if err != nil {
		return err
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return err
	}
	minute := storage.FirstSeenTerm(key.Namespace, storage.FirstSeenMinute(idem.InstantOf(created)))
	if want := slices.Sorted(slices.Values(append(termsOf(k, placeholder), minute))); !slices.Equal(found, want) {
		return fmt.Errorf("an event stands under the terms %d of the index, and not under %d: the benchmark no longer knows how it is filled", found, want)
	}
	return nil
}

// copied makes the list of a table's columns, and of what each is copied as from the model m,
// by what is given in g; some may have a value of their own.
func copied(ctx context.Context, db *database, table string, own map[string]string) (columns [2]string, err error) {
	rows, err := db.admin.Query(ctx, `SELECT attname, format_type(atttypid, NULL) FROM pg_attribute
		WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum`, table)
	if err != nil {
		return columns, err
	}
	var names, values []string
	var name, kind string
	_, err = pgx.ForEachRow(rows, []any{&name, &kind}, func() error {
		column := pgx.Identifier{name}.Sanitize()
		value := "m." + column
		switch {
		case own[name] != "":
			value = own[name]
		case name == "bucket":
			value = "get_byte(uuid_send(g.id), 0)"
		case name == "id":
			value = "g.id"
		case kind == "text":
			value = fmt.Sprintf("replace(%s, '%s', g.no)", value, placeholder)
		case kind == "bytea":
			value = fmt.Sprintf("decode(replace(encode(%s, 'hex'), '%s', g.hex), 'hex')", value, hex.EncodeToString([]byte(placeholder)))
		}
		names, values = append(names, column), append(values, value)
		return nil
	})
	return [2]string{strings.Join(names, ", "), strings.Join(values, ", ")}, err
}

// loader stores chunks until there are no more.
func (x *grown) loader(ctx context.Context, columns [2]string, firsts <-chan int) error {
	cfg, err := pgx.ParseConfig(x.db.url)
	if err != nil {
		return err
	}
	cfg.RuntimeParams["synchronous_commit"] = "off"
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	events := fmt.Sprintf(`INSERT INTO idemsvc.event (%s) SELECT %s
		FROM unnest($1::uuid[], $2::text[], $3::text[]) AS g(id, no, hex), idemsvc.event m
		WHERE m.bucket = $4 AND m.id = $5`, columns[0], columns[1])
	const lookups = `INSERT INTO idemsvc.lookup (at, term, id) SELECT m.created_at, g.term, g.id
		FROM unnest($1::bigint[], $2::uuid[]) AS g(term, id), idemsvc.event m
		WHERE m.bucket = $3 AND m.id = $4`
	for first := range firsts {
		last := min(first+chunk, x.events)
		for k := range kinds {
			list, entries := rowsOf(k, first, last)
			model := keyOf(k, placeholder).ID()
			tag, err := conn.Exec(ctx, events, list.ids, list.numbers, list.hexes, model.Bucket(), [16]byte(model))
			if err == nil && tag.RowsAffected() != int64(len(list.ids)) {
				err = errors.New("events were not stored")
			}
			if err != nil {
				return err
			}
			if _, err := conn.Exec(ctx, lookups, entries.terms, entries.ids, model.Bucket(), [16]byte(model)); err != nil {
				return err
			}
		}
	}
	return nil
}

// eventRows and indexRows are what a chunk stores, each in the order of its index.
type (
	eventRows struct {
		ids            [][16]byte
		numbers, hexes []string
	}
	indexRows struct {
		terms []int64
		ids   [][16]byte
	}
)

// rowsOf makes the rows of a kind's events with numbers from first to below last.
func rowsOf(k, first, last int) (eventRows, indexRows) {
	type row struct {
		id [16]byte
		no string
	}
	type entry struct {
		term int64
		id   [16]byte
	}
	var rows []row
	var entries []entry
	for n := first; n < last; n++ {
		if n%len(kinds) != k {
			continue
		}
		no := numbered(n)
		id := [16]byte(keyOf(k, no).ID())
		rows = append(rows, row{id, no})
		// A thousand share the minute of their first delivery.
		minute := storage.FirstSeenTerm(keyOf(k, no).Namespace, idem.Instant(n/1000)*idem.Instant(time.Minute/time.Microsecond))
		for _, t := range append(termsOf(k, no), minute) {
			entries = append(entries, entry{t, id})
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return bytes.Compare(a.id[:], b.id[:]) })
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.term, b.term) })
	var events eventRows
	for _, r := range rows {
		events.ids, events.numbers = append(events.ids, r.id), append(events.numbers, r.no)
		events.hexes = append(events.hexes, hex.EncodeToString([]byte(r.no)))
	}
	var index indexRows
	for _, e := range entries {
		index.terms, index.ids = append(index.terms, e.term), append(index.ids, e.id)
	}
	return events, index
}
