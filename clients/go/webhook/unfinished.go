package webhook

import (
	"context"
	"errors"
	"sync"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

// maxUnfinished bounds what is remembered of work that the service could not be told of.
const maxUnfinished = 10000

// unfinished are claims whose work is done although the service was away when it was to
// be told. Before such an event is claimed again it is told now, so that nothing is done
// twice. This process alone remembers: if it dies too, the claim's end decides.
type unfinished struct {
	mu     sync.Mutex
	claims map[string]*idemsvc.Claim
}

func (u *unfinished) add(id string, c *idemsvc.Claim) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.claims == nil {
		u.claims = map[string]*idemsvc.Claim{}
	}
	if len(u.claims) >= maxUnfinished {
		for old := range u.claims { // any: the service decides about it by its policy
			delete(u.claims, old)
			break
		}
	}
	u.claims[id] = c
}

// finish completes what is unfinished among the tasks. The error says that the service is
// still away.
func (u *unfinished) finish(ctx context.Context, tasks []*task) error {
	for _, t := range tasks {
		u.mu.Lock()
		c := u.claims[t.item.ID]
		u.mu.Unlock()
		if c == nil {
			continue
		}
		if _, err := c.Complete(ctx); err != nil && away(err) && !errors.Is(err, idemsvc.ErrOpenEffects) {
			return err
		}
		u.mu.Lock()
		delete(u.claims, t.item.ID)
		u.mu.Unlock()
	}
	return nil
}
