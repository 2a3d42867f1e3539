package demo

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// inFlight bounds the deliveries that wait for their answer at the same time.
	inFlight = 48
	// A delivery without a 2xx is repeated after a pause that doubles, for so long.
	firstPause = 50 * time.Millisecond
	mostPause  = 800 * time.Millisecond
	patience   = 2 * time.Minute
	// answerTime is how long the provider waits for an answer.
	answerTime = 20 * time.Second
)

// provider delivers a storm, as providers do: at least once, in any order, several at
// once, until somebody answers 2xx.
type provider struct {
	storm    *storm
	fleet    *fleet
	http     *http.Client
	slots    chan struct{}
	progress *progress

	mu  sync.Mutex
	log [][]any // source, event, status
}

func newProvider(s *storm, f *fleet, p *progress) *provider {
	return &provider{
		storm: s, fleet: f, progress: p, slots: make(chan struct{}, inFlight),
		http: &http.Client{Timeout: answerTime, Transport: &http.Transport{MaxIdleConnsPerHost: inFlight}},
	}
}

// run delivers everything.
func (p *provider) run(ctx context.Context) error {
	var all sync.WaitGroup
	defer p.http.CloseIdleConnections()
	start := time.Now()
	for i := range p.storm.deliveries {
		d := &p.storm.deliveries[i]
		if !pause(ctx, time.Until(start.Add(d.at))) {
			break
		}
		all.Go(func() { p.deliver(ctx, d, &all) })
	}
	all.Wait()
	return context.Cause(ctx)
}

// deliver sends one delivery until it is answered 2xx, or the provider gives up.
func (p *provider) deliver(ctx context.Context, d *delivery, all *sync.WaitGroup) {
	end := time.Now().Add(patience)
	sent := 0
	for wait := firstPause; time.Now().Before(end); wait = min(2*wait, mostPause) {
		status, ok := p.try(ctx, d, sent, all)
		if status >= 200 && status < 300 {
			p.progress.step(p.fleet.kills.Load())
			return
		}
		if ok {
			sent++
		}
		if !pause(ctx, wait/2+rand.N(wait)) {
			return
		}
	}
}

// try makes one request and returns the status of the answer, 0 for none. It is false
// when no consumer is up.
func (p *provider) try(ctx context.Context, d *delivery, sent int, all *sync.WaitGroup) (status int, ok bool) {
	p.slots <- struct{}{}
	defer func() { <-p.slots }()
	c := p.fleet.pick()
	if c == nil || ctx.Err() != nil {
		return 0, false
	}
	if d.kill > 0 && sent == 0 {
		all.Go(func() {
			if pause(ctx, d.kill) {
				p.fleet.kill(c)
			}
		})
	}
	status = p.send(ctx, c, &request{event: *d.event, attempt: int32(sent + 1)}) //nolint:gosec // few
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = append(p.log, []any{d.event.source, d.event.id, status})
	return status, true
}

func (p *provider) send(ctx context.Context, c *consumer, r *request) (status int) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.Addr+"/webhooks", bytes.NewReader(r.body))
	if err != nil {
		return 0
	}
	req.Header = r.headers()
	resp, err := p.http.Do(req)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, resp.Body) // the connection is used again
	_ = resp.Body.Close()
	return resp.StatusCode
}

// publish writes down what happened, before it is delivered.
func (s *storm) publish(ctx context.Context, db *pgxpool.Pool) error {
	_, err := db.CopyFrom(ctx, pgx.Identifier{"sent"}, []string{"source", "event", "resource", "version"},
		pgx.CopyFromSlice(len(s.events), func(i int) ([]any, error) {
			e := s.events[i]
			return []any{e.source, e.id, e.resource, e.version}, nil
		}))
	return err
}

// writeLog writes down what was delivered.
func (p *provider) writeLog(ctx context.Context, db *pgxpool.Pool) error {
	_, err := db.CopyFrom(ctx, pgx.Identifier{"deliveries"}, []string{"source", "event", "status"}, pgx.CopyFromRows(p.log))
	return err
}

// pause waits, and is false when the context ends before.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
