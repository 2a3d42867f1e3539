package provoke

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// kills is how often the receiver is killed: spread over as long as a delivery takes, and
// at last right after an answer.
const kills = 8

// kills is the case in which the receiver dies while it works on a delivery.
func (s *sender) kills(r *receiver) badDay {
	return badDay{fmt.Sprintf("%d kills of the receiver, while it works and after its answer", kills), func(ctx context.Context) (string, bool) {
		events, first, took, err := s.killing(ctx, r)
		if err != nil {
			return err.Error(), false
		}
		answered := 0
		for _, a := range first {
			if a.settled() {
				answered++
			}
		}
		began := time.Now()
		open := s.settleAll(ctx, events)
		saw := fmt.Sprintf("killed up to %v into a delivery; %d of %d had been answered with success by then; ", took.Round(time.Millisecond), answered, kills)
		if len(open) > 0 {
			return saw + fmt.Sprintf("%d events were not settled %v later, such as %s", len(open), s.o.Patience, open[0]), false
		}
		return saw + fmt.Sprintf("all events were settled %v later, and their duplicates answered alike", time.Since(began).Round(time.Millisecond)), true
	}}
}

// killing delivers events and kills the receiver meanwhile. It returns the events, what
// their first deliveries were answered, and how long the latest kill waited that did not
// wait for an answer. The receiver runs again afterwards.
func (s *sender) killing(ctx context.Context, r *receiver) (events []*event, first []answer, took time.Duration, err error) {
	restart := func() error {
		if err := r.kill(ctx); err != nil {
			return err
		}
		s.client.CloseIdleConnections()
		return r.start(ctx)
	}
	// One that was just started takes longest, and all of these will have been.
	if err := restart(); err != nil {
		return nil, nil, 0, err
	}
	began := time.Now()
	if a := s.send(ctx, newEvent()); a.err != nil {
		return nil, nil, 0, a.err
	}
	took = time.Since(began)
	for i := range kills {
		e := newEvent()
		answered := make(chan answer, 1)
		go func() { answered <- s.send(ctx, e) }()
		if i == kills-1 {
			a := <-answered
			answered <- a
		} else {
			<-time.After(took * time.Duration(i) / (kills - 2))
		}
		err := restart()
		events, first = append(events, e), append(first, <-answered)
		if err != nil {
			return nil, nil, 0, err
		}
	}
	return events, first, took, nil
}

// settleAll delivers the events until they are settled, and then once more, and returns
// what is wrong with those that are not settled or not answered alike.
func (s *sender) settleAll(ctx context.Context, events []*event) (wrong []string) {
	var mu sync.Mutex
	var settling sync.WaitGroup
	for _, e := range events {
		settling.Go(func() {
			last, tries := s.settle(ctx, e, s.o.Patience)
			again := last
			if last.settled() {
				again = s.send(ctx, e)
			}
			if !last.settled() || again.status != last.status {
				mu.Lock()
				defer mu.Unlock()
				wrong = append(wrong, fmt.Sprintf("%s: answered %v after %d deliveries, then %v", e.id, last, tries, again))
			}
		})
	}
	settling.Wait()
	return wrong
}
