package webhook

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	fetchTimeout = 2 * time.Second
	maxFetched   = 1 << 20
)

// fetcher gets what providers publish their keys in. Anybody can make it look, so it does
// not look often, and follows no redirect.
type fetcher struct {
	client *http.Client
	misses limiter
}

func newFetcher(c *http.Client) *fetcher {
	if c == nil {
		c = &http.Client{}
	}
	own := *c
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &fetcher{client: &own}
}

func (f *fetcher) get(ctx context.Context, url string) ([]byte, error) {
	if ok, _ := f.misses.pass(time.Now()); !ok {
		return nil, fmt.Errorf("%s was asked too often in this minute", url)
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := f.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s", url, resp.Status)
	}
	return io.ReadAll(io.LimitReader(resp.Body, maxFetched))
}

// cache keeps a few of what was fetched.
type cache[T any] struct {
	mu      sync.Mutex
	entries map[string]cached[T]
}

type cached[T any] struct {
	value T
	until time.Time
}

const maxCached = 16

func (c *cache[T]) get(key string) (T, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	return e.value, ok && time.Now().Before(e.until)
}

func (c *cache[T]) put(key string, value T, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil || len(c.entries) >= maxCached {
		c.entries = map[string]cached[T]{}
	}
	c.entries[key] = cached[T]{value, until}
}
