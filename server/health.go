package server

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/storage"
)

// LivenessService is the service name under which the health service tells whether the
// process is up, whatever its database does. The empty name and the names of the
// contract's services tell whether it can serve.
const LivenessService = "liveness"

// readiness are the names that follow the storage.
var readiness = []string{"", pb.IdempotencyService_ServiceDesc.ServiceName, pb.OperationsService_ServiceDesc.ServiceName}

// watcher keeps asking the storage whether it can serve.
type watcher struct {
	health   *health.Server
	store    storage.Reader
	log      *slog.Logger
	interval time.Duration
	timeout  time.Duration

	mu    sync.Mutex
	ended bool
	last  error
	known bool
}

func newWatcher(cfg *Config) *watcher {
	w := &watcher{
		health: health.NewServer(), store: cfg.Store, log: cfg.Logger, interval: cfg.HealthInterval, timeout: cfg.HealthTimeout,
	}
	w.set(healthpb.HealthCheckResponse_NOT_SERVING)
	w.health.SetServingStatus(LivenessService, healthpb.HealthCheckResponse_SERVING)
	return w
}

func (w *watcher) set(s healthpb.HealthCheckResponse_ServingStatus) {
	for _, name := range readiness {
		w.health.SetServingStatus(name, s)
	}
}

// run checks until the context ends.
func (w *watcher) run(ctx context.Context) {
	tick := time.NewTicker(w.interval)
	defer tick.Stop()
	for {
		w.note(ctx, w.check(ctx))
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (w *watcher) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	info, err := w.store.Info(ctx)
	if err == nil && info.Schema < info.RequiredSchema {
		err = fmt.Errorf("%w: found version %d, version %d is needed", storage.ErrSchema, info.Schema, info.RequiredSchema)
	}
	return err
}

// note shows what a check found, and logs when it differs from the one before.
func (w *watcher) note(ctx context.Context, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended || ctx.Err() != nil {
		return
	}
	changed := !w.known || (err == nil) != (w.last == nil)
	w.known, w.last = true, err
	switch {
	case !changed:
		return
	case err != nil:
		w.set(healthpb.HealthCheckResponse_NOT_SERVING)
		w.log.WarnContext(ctx, "not ready", "error", err)
	default:
		w.set(healthpb.HealthCheckResponse_SERVING)
		w.log.InfoContext(ctx, "ready")
	}
}

// ready reports whether the server can serve.
func (w *watcher) ready() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.known && w.last == nil && !w.ended
}

// leave says that the server serves no more, for ever.
func (w *watcher) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	w.set(healthpb.HealthCheckResponse_NOT_SERVING)
}
