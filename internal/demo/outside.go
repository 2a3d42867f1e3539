package demo

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// The other side takes this long before it acts, and about half of it before it answers.
const (
	leastLatency = 4 * time.Millisecond
	mostLatency  = 20 * time.Millisecond
)

// outside stands for the world: a mail service, a payment service, the provider's API.
// What they do is rows in their tables. As real ones, they do again what they are asked
// again, unless the request has an idempotency key that they know.
type outside struct {
	db  *pgxpool.Pool
	srv *http.Server
	url string
}

// outsideCall is the body of a request.
type outsideCall struct {
	Source string `json:"source"`
	Event  string `json:"event"`
}

func openOutside(ctx context.Context, db *pgxpool.Pool) (*outside, error) {
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	o := &outside{db: db, url: "http://" + lis.Addr().String()}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /lookup", o.answer(func(context.Context, outsideCall, string) error { return nil }))
	mux.HandleFunc("POST /email", o.answer(o.effect("emails")))
	mux.HandleFunc("POST /charge", o.answer(o.effect("charges")))
	o.srv = &http.Server{Handler: mux, ReadHeaderTimeout: handlerTimeout}
	go func() { _ = o.srv.Serve(lis) }() // until it is closed
	return o, nil
}

func (o *outside) close() error { return o.srv.Close() }

// answer acts on a request, in the time that other people's services take. The caller's
// death does not stop it.
func (o *outside) answer(act func(ctx context.Context, call outsideCall, key string) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var call outsideCall
		if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		ctx := context.WithoutCancel(r.Context())
		latency := leastLatency + time.Duration(rand.Int64N(int64(mostLatency-leastLatency))) //nolint:gosec // a latency
		time.Sleep(latency)
		if err := act(ctx, call, r.Header.Get("Idempotency-Key")); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		time.Sleep(latency / 2)
		w.WriteHeader(http.StatusOK)
	}
}

// effect adds a row to the table, once for each key.
func (o *outside) effect(table string) func(context.Context, outsideCall, string) error {
	always := `INSERT INTO ` + table + ` (source, event) VALUES ($1, $2)`
	once := `WITH k AS (
			INSERT INTO outside_keys (key) VALUES ($3) ON CONFLICT (key) DO UPDATE SET met = outside_keys.met + 1 RETURNING met
		)
		INSERT INTO ` + table + ` (source, event) SELECT $1, $2 FROM k WHERE met = 0`
	return func(ctx context.Context, call outsideCall, key string) error {
		if call.Source == "" || call.Event == "" {
			return errors.New("source and event are required")
		}
		if key == "" {
			_, err := o.db.Exec(ctx, always, call.Source, call.Event)
			return err
		}
		_, err := o.db.Exec(ctx, once, call.Source, call.Event, key)
		return err
	}
}
