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
	pools   []*pgxpool.Pool
}

// by is who answers an arm's callers; nil: PostgreSQL itself.
func (g *stage) by(a *arm) *service {
	switch a.way {
	case overServer:
		return g.service
	case overEcho:
		return g.echo
	default:
		return nil
	}
}

// slot lets an arm work for a while. What the server writes behind its answers is waited
// for and counted: it must not fall on the next arm.
func (g *stage) slot(ctx context.Context, a *arm, d time.Duration) (run, error) {
	before, err := used(ctx, g.db, g.postmaster, g.by(a).pid())
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
	after, err := used(ctx, g.db, g.postmaster, g.by(a).pid())
	return run{events, seconds, after.minus(before), memory(g.by(a).pid())}, err
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

// buffers is how many pages the database's sessions look at for an event. A session tells
// only now and then, and when it ends: so all are ended before and after. What new ones
// cost is in a short window as in a long one, and their difference is without it.
func (g *stage) buffers(ctx context.Context, a *arm, d time.Duration) (float64, error) {
	short, few, err := g.window(ctx, a, d/4)
	if err != nil {
		return 0, err
	}
	long, many, err := g.window(ctx, a, d)
	if err != nil {
		return 0, err
	}
	return slope(few, short, many, long), nil
}

func slope(few, short, many, long int64) float64 {
	if many <= few || long <= short {
		return -1
	}
	return float64(long-short) / float64(many-few)
}

// window is how many pages were looked at for how many events, by sessions that began and
// ended in it.
func (g *stage) window(ctx context.Context, a *arm, d time.Duration) (blocks, events int64, err error) {
	if err := g.renew(ctx); err != nil {
		return 0, 0, err
	}
	before, err := g.db.blocks(ctx)
	if err != nil {
		return 0, 0, err
	}
	events, _, err = work(ctx, a, d)
	if err == nil && a.way == overServer {
		err = caughtUp(ctx, g.service, a.behind)
	}
	if err == nil {
		err = g.renew(ctx)
	}
	if err != nil {
		return 0, 0, err
	}
	after, err := g.db.blocks(ctx)
	return after - before, events, err
}

// renew ends all sessions and lets the server find that out.
func (g *stage) renew(ctx context.Context) error {
	for _, p := range g.pools {
		p.Reset()
	}
	return renewed(ctx, g.db, g.service)
}
