package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

const (
	consumerPool = 6
	outsidePool  = 16
	stopTime     = 15 * time.Second
	namespace    = "demo"
)

// task is what a consumer process is told on its standard input. It holds the database's
// URL, which others must not read.
type task struct {
	Database string `json:"database"`
	Schema   string `json:"schema"`
	Outside  string `json:"outside"`
	Service  string `json:"service"` // empty: be naive
}

// Consume is the whole life of a consumer process: it reads its task, serves deliveries,
// prints where, and ends with a signal or with its standard input, after the work that
// it has taken.
func Consume(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) error {
	var t task
	if err := json.NewDecoder(stdin).Decode(&t); err != nil {
		return errors.New("consumers are started by «idemsvc demo» itself")
	}
	ctx, release := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer release()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // whoever started this is gone
		_, _ = io.Copy(io.Discard, stdin)
		cancel()
	}()
	db, err := poolOf(ctx, t.Database, t.Schema, consumerPool)
	if err != nil {
		return err
	}
	defer db.Close()
	handler, finish, err := t.handler(db, slog.New(slog.NewTextHandler(stderr, nil)))
	if err != nil {
		return err
	}
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: handler, ReadHeaderTimeout: handlerTimeout}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	fmt.Fprintf(stdout, "a consumer listens on %s\n", lis.Addr())
	select {
	case err = <-served:
		return err
	case <-ctx.Done():
	}
	sctx, end := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer end()
	err = srv.Shutdown(sctx)
	return errors.Join(err, finish())
}

// handler is the one that the task asks for, and what ends it.
func (t *task) handler(db *pgxpool.Pool, log *slog.Logger) (http.Handler, func() error, error) {
	s := &shop{db: db, outside: t.Outside, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: inFlight}}}
	if t.Service == "" {
		n := &naive{shop: s, log: log}
		return n, func() error { n.finish(); return nil }, nil
	}
	client, err := idemsvc.Dial(t.Service, idemsvc.WithNamespace(namespace), idemsvc.WithConsumer("shop"))
	if err != nil {
		return nil, nil, err
	}
	return &guarded{shop: s, client: client, log: log, turns: make(chan struct{}, atOnce)}, client.Close, nil
}

// poolOf makes connections whose tables are those of the schema.
func poolOf(ctx context.Context, url, schema string, size int) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New("the database URL cannot be read") // pgx's text may show it
	}
	cfg.MaxConns = int32(size) //nolint:gosec // few
	cfg.ConnConfig.RuntimeParams["search_path"] = schema
	return pgxpool.NewWithConfig(ctx, cfg)
}
