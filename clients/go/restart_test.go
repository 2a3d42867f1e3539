package idemsvc_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

// load is work that goes on while replicas come and go. Each kind of it has callers of
// its own.
type load struct {
	t      *testing.T
	kinds  map[string]func(id string) error
	rounds map[string]*atomic.Int64

	mu    sync.Mutex
	works map[string]int // how often each event's work was done
}

// worked notes that an event's work was done.
func (l *load) worked(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.works[id]++
}

// run starts the callers. They end with the context, or at their first error.
func (l *load) run(ctx context.Context, callers *sync.WaitGroup) {
	l.rounds = map[string]*atomic.Int64{}
	for kind, round := range l.kinds {
		done := &atomic.Int64{}
		l.rounds[kind] = done
		for i := range 2 {
			callers.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					if err := round(fmt.Sprintf("%s-%d-%d", kind, i, n)); err != nil {
						l.t.Errorf("%s: %v", kind, err)
						return
					}
					done.Add(1)
				}
			})
		}
	}
}

// goesOn waits until every kind of load has made some more rounds.
func (l *load) goesOn(while string) {
	l.t.Helper()
	before := map[string]int64{}
	for kind, n := range l.rounds {
		before[kind] = n.Load()
	}
	for kind, n := range l.rounds {
		until(l.t, kind+" goes on while "+while, func() bool { return n.Load() >= before[kind]+5 || l.t.Failed() })
	}
}

// unary claims and completes an event by two calls.
func (l *load) unary(c *idemsvc.Client) func(string) error {
	return func(id string) error {
		a, err := c.Claim(context.Background(), event(id))
		if err != nil {
			return err
		}
		if a.Claim == nil {
			return fmt.Errorf("%s was answered %v", id, a.GetOutcome())
		}
		l.worked(id)
		_, err = a.Claim.Complete(context.Background())
		return err
	}
}

// process handles an event with a side effect.
func (l *load) process(c *idemsvc.Client) func(string) error {
	return func(id string) error {
		a, err := c.Process(context.Background(), event(id), func(ctx context.Context, claim *idemsvc.Claim) error {
			_, err := claim.SideEffect(ctx, "mail", func(context.Context, idemsvc.Try) ([]byte, error) {
				l.worked(id)
				return []byte(id), nil
			})
			return err
		})
		if err == nil && !a.Handled {
			err = fmt.Errorf("%s was answered %v", id, a.Outcome())
		}
		return err
	}
}

// batch claims and completes ten events by two calls.
func (l *load) batch(c *idemsvc.Client) func(string) error {
	return func(id string) error {
		items := make([]*idemsvc.ClaimItem, 10)
		for i := range items {
			items[i] = &idemsvc.ClaimItem{Event: event(fmt.Sprintf("%s-%d", id, i))}
		}
		answers, err := c.ClaimAll(context.Background(), items)
		if err != nil {
			return err
		}
		var claims []*idemsvc.Claim
		for i, a := range answers {
			if a.Err != nil || a.Claim == nil {
				return fmt.Errorf("item %d of %s: %v %w", i, id, a.ClaimAnswer, a.Err)
			}
			l.worked(items[i].GetEvent().GetEventId())
			claims = append(claims, a.Claim)
		}
		failed, err := c.CompleteAll(context.Background(), claims)
		return errors.Join(append(failed, err)...)
	}
}

// settled checks that each event's work was done once, and that the service knows it.
func (l *load) settled(c *idemsvc.Client) {
	l.t.Helper()
	var items []*idemsvc.ClaimItem
	for id, times := range l.works {
		if times != 1 {
			l.t.Errorf("%s was worked on %d times", id, times)
		}
		items = append(items, &idemsvc.ClaimItem{Event: event(id)})
	}
	for ; len(items) > 0; items = items[min(len(items), 500):] {
		answers, err := c.ClaimAll(context.Background(), items[:min(len(items), 500)])
		if err != nil {
			l.t.Fatal(err)
		}
		for i, a := range answers {
			if a.Err != nil || a.Advice() != idemsvc.Acknowledge {
				l.t.Errorf("%s is answered %v %v", items[i].GetEvent().GetEventId(), a.GetOutcome(), a.Err)
			}
		}
	}
}

// Two replicas over one PostgreSQL are restarted in turn under unary, batch and session
// load, gracefully and by cutting everything off: no caller sees an error, and each
// event's work is done once.
func TestARollingRestartGoesUnseen(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	calls, over := f.client(), f.client(idemsvc.WithSession())
	session := calls.Session(t.Context())
	l := &load{t: t, works: map[string]int{}}
	l.kinds = map[string]func(string) error{
		"unary": l.unary(calls), "process": l.process(calls), "batch": l.batch(calls),
		"commands of a session":  func(id string) error { l.worked(id); return sessionEvent(session, id) },
		"process over a session": l.process(over), "batch over a session": l.batch(over),
	}
	ctx, stop := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	defer callers.Wait()
	defer stop()
	l.run(ctx, &callers)

	cutOff, cancel := context.WithCancel(context.Background())
	cancel()
	for round, ending := range []context.Context{context.Background(), cutOff} {
		for _, name := range fleetNames {
			l.goesOn("both replicas run")
			f.stop(ending, name)
			l.goesOn(name + " is down")
			f.start(name)
			until(t, name+" is found again", func() bool { return f.commands(name) >= 20 || t.Failed() })
		}
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
	stop()
	callers.Wait()
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	l.settled(calls)
}
