package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// LookupRow is how long one way to find events takes, one at a time.
type LookupRow struct {
	Kind  string `json:"kind"`
	Full  Waits  `json:"full"`
	Empty Waits  `json:"empty"`
}

const (
	// asks is how often each look-up is made on each side in each round, quickAsks how often
	// when it has to be quick.
	asks, quickAsks = 40, 10
	// page is how many events a list asks for.
	page = 100
	// effects is how many events have a side effect to be found by.
	effects = 200
)

// lookup is one way to find events. It fails where nothing is found.
type lookup struct {
	name string
	ask  func(ctx context.Context, x *grown) error
}

// allLookups are the ways to find events: those that are calls go through the server, the
// others to the store.
func allLookups(withEffect []string) []lookup {
	list := []lookup{
		{"duplicate (ClaimEvent)", func(ctx context.Context, x *grown) error {
			k, no := x.any()
			req := claimOf("evt_" + no)
			req.Event.Source = sourceOf(k)
			_, err := repeated(x.service.client(0).Idempotency().ClaimEvent(ctx, req))
			return err
		}},
		{"event by source and ID (GetEvent)", func(ctx context.Context, x *grown) error {
			k, no := x.any()
			return x.getEvent(ctx, sourceOf(k), "evt_"+no)
		}},
		{"event by ID alone (GetEvent)", func(ctx context.Context, x *grown) error {
			_, no := x.any()
			return x.getEvent(ctx, "", "evt_"+no)
		}},
	}
	for k := range kinds {
		list = append(list, lookup{kinds[k].name, func(ctx context.Context, x *grown) error {
			parts := kinds[k].value(numbered(rand.IntN(x.events/len(kinds))*len(kinds) + k)) //nolint:gosec // any will do
			q := storage.Query{Namespace: namespace, Kind: kinds[k].query, Value: parts[0]}
			if len(parts) > 1 {
				q.Name = parts[1]
			}
			return found(x.reader.Lookup(ctx, q))
		}})
	}
	list = append(list, lookup{"by effect key", func(ctx context.Context, x *grown) error {
		key := withEffect[rand.IntN(len(withEffect))] //nolint:gosec // any will do
		return found(x.reader.Lookup(ctx, storage.Query{Namespace: namespace, Kind: storage.ByEffectKey, Value: key}))
	}})
	for _, l := range []struct {
		name string
		of   string
	}{
		{"unfinished of a namespace", ""},
		{"unfinished of a consumer", consumer},
	} {
		list = append(list, lookup{l.name, func(ctx context.Context, x *grown) error {
			_, err := x.reader.List(ctx, storage.ListQuery{
				Namespace: namespace, Consumer: l.of, States: []idem.State{idem.Received, idem.Processing, idem.FailedRetryable, idem.Held}, Limit: page,
			})
			return err
		}})
	}
	return list
}

// any is the kind and the number of a stored event.
func (x *grown) any() (k int, no string) {
	n := rand.IntN(x.events) //nolint:gosec // any will do
	return n % len(kinds), numbered(n)
}

func (x *grown) getEvent(ctx context.Context, source, id string) error {
	r, err := x.service.client(0).Operations().GetEvent(ctx, &pb.GetEventRequest{Namespace: namespace, Source: source, EventId: id})
	if err == nil && len(r.GetEvents()) == 0 {
		err = fmt.Errorf("%s was not found", id)
	}
	return err
}

func found(f storage.Found, err error) error {
	if err == nil && len(f.Views) == 0 {
		err = fmt.Errorf("what is stored was not found, %s behind", f.Lag)
	}
	return err
}

// lookups times all of them on both sides, in turn.
func (g *growth) lookups(ctx context.Context) ([]LookupRow, error) {
	g.say("look-ups")
	var withEffect []string
	for range effects {
		id := freshID()
		withEffect = append(withEffect, id)
		for _, x := range []*grown{g.full, g.empty} {
			if _, err := effectOf(ctx, x.service, 0, id); err != nil {
				return nil, err
			}
		}
	}
	list := allLookups(withEffect)
	rows := make([]LookupRow, len(list))
	for i, l := range list {
		waits, err := g.timed(ctx, l)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.name, err)
		}
		rows[i].Kind = l.name
		rows[i].Full.fill(waits[0])
		rows[i].Empty.fill(waits[1])
	}
	return rows, nil
}

// timed is how long a look-up took on the full side and on the empty one, in microseconds.
func (g *growth) timed(ctx context.Context, l lookup) (waits [2][]int64, err error) {
	times := asks
	if g.Quick {
		times = quickAsks
	}
	for round := range g.Pairs + 1 { // the first one warms up
		for _, s := range turned([]int{0, 1}, round) {
			for range times {
				started := time.Now()
				if err := l.ask(ctx, [2]*grown{g.full, g.empty}[s]); err != nil {
					return waits, err
				}
				if round > 0 {
					waits[s] = append(waits[s], time.Since(started).Microseconds())
				}
			}
		}
	}
	return waits, nil
}
