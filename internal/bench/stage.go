package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

// stage is a database, who works on it, and what they use.
type stage struct {
	*cluster
	db      *database
	service *service
	echo    *service // nil: not needed
	river   *river   // nil: not needed
	pools   []*pgxpool.Pool
}

// by is the process that answers an arm's callers; 0: PostgreSQL itself.
func (g *stage) by(a *arm) int {
	switch a.way {
	case overServer:
		return g.service.pid()
	case overEcho:
		return g.echo.pid()
	case overRiver:
		return g.river.pid()
	default:
		return 0
	}
}

// slot lets an arm work for a while. What the server writes behind its answers is waited
// for and counted: it must not fall on the next arm.
func (g *stage) slot(ctx context.Context, a *arm, d time.Duration) (r run, err error) {
	if a.beside != nil {
		stop, fault := a.beside(ctx, g)
		if fault != nil {
			return run{}, fmt.Errorf("beside %s: %w", a, fault)
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	before, err := used(ctx, g.db, g.postmaster, g.by(a))
	if err != nil {
		return run{}, err
	}
	events, seconds, err := work(ctx, a, d)
	if err != nil {
		return run{}, err
	}
	if a.way == overServer {
		if err := caughtUp(ctx, g.service, a.behind); err != nil {
			return run{}, err
		}
	}
	after, err := used(ctx, g.db, g.postmaster, g.by(a))
	return run{events, seconds, after.minus(before), memory(g.by(a)), a.whole != nil}, err
}

// caughtUp waits until what the server writes behind its answers is written: records of
// deliveries come after a pause, and a look-up by ID lets the index catch up first.
func caughtUp(ctx context.Context, v *service, behind time.Duration) error {
	if behind > 0 {
		if err := pause(ctx, behind); err != nil {
			return err
		}
	}
	for range 2 { // the first may have met a step that was under way
		_, err := v.clients[0].Operations().GetEvent(ctx, &pb.GetEventRequest{Namespace: namespace, EventId: "nothing"})
		if !errors.Is(err, idemsvc.ErrNotFound) {
			return fmt.Errorf("a look-up of what does not exist: %w", err)
		}
	}
	return nil
}
