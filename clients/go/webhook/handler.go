package webhook

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

// HandlerFunc does the work of one event. As with [idemsvc.Handler], what it returns ends
// the claim: nil completes it, an error fails it, unless it says otherwise by
// [idemsvc.Reject], [idemsvc.NotYet], [idemsvc.RetryAfter] or [idemsvc.Release].
//
// Its context does not end when the provider hangs up: work that was begun is finished and
// remembered, and the provider's next try is told so. It ends with [Handler.Close], and
// when the claim is lost.
//
// A handler that panics has failed retryably. The panic goes no further, so that the other
// events of a request are handled; it is logged.
type HandlerFunc func(ctx context.Context, claim *idemsvc.Claim, item *Item) error

// Handler receives the webhooks of one provider. It is an [http.Handler], safe for
// concurrent use.
type Handler struct {
	client   *idemsvc.Client
	provider *Provider
	verifier atomic.Pointer[Provider] // the same with the newest secrets
	handle   HandlerFunc              // nil: events are kept for later work
	cfg      config
	forged   limiter
	spool    *spool // nil unless what the service cannot be asked about is kept
	teller   *teller

	unfinished unfinished

	base    context.Context // ends the handlers
	stop    context.CancelFunc
	running sync.WaitGroup // what goes on beside requests
	closed  sync.Once
}

// New makes a handler for a provider's webhooks. Close it after the server that it is
// served by.
func New(client *idemsvc.Client, p *Provider, handle HandlerFunc, opts ...Option) (*Handler, error) {
	if handle == nil {
		return nil, errors.New("webhook: there is no function that does the work; NewReceiver needs none")
	}
	return newHandler(client, p, handle, opts)
}

func newHandler(client *idemsvc.Client, p *Provider, handle HandlerFunc, opts []Option) (*Handler, error) {
	if p.err != nil {
		return nil, p.err
	}
	c := config{log: slog.New(slog.DiscardHandler), patience: p.recipe.patience(), maxBody: defaultMaxBody, receiving: handle == nil}
	share := time.Duration(4)
	if c.receiving { // nothing else takes time
		share = 2
	} else {
		c.concurrency = 1
	}
	for _, o := range opts {
		o(&c)
	}
	if c.claimTime == 0 {
		c.claimTime = min(c.patience/share, maxClaimTime)
	}
	if err := c.check(p); err != nil {
		return nil, err
	}
	c.log = c.log.With(slog.String("source", p.Source()))
	h := &Handler{client: client, provider: p, handle: handle, cfg: c, teller: c.newTeller()}
	h.verifier.Store(p)
	h.base, h.stop = context.WithCancel(context.Background())
	if c.spool != nil {
		if err := h.openSpool(); err != nil {
			h.stop()
			return nil, err
		}
	}
	h.warn()
	return h, nil
}

// warn tells what is lost while the service is away, where the provider does not repeat.
func (h *Handler) warn() {
	name := slog.String("provider", h.provider.Name())
	switch automatic := h.provider.recipe.Delivery.Automatic; {
	case automatic == nil || *automatic || h.spool != nil:
	case h.cfg.local == nil:
		h.cfg.log.Warn("this provider does not repeat what is refused while the service is away: those events are lost unless a person resends them; use a spool", name)
	case h.cfg.ordering:
		h.cfg.log.Warn("this provider does not repeat what is refused while the service is away, and ordered events are refused then: use a spool, or leave the ordering out", name)
	}
}

// Close ends the handlers that run, whose events are given back, and waits for what goes
// on beside requests. Call it after the server's Shutdown. What is in a spool stays there
// for the next start.
func (h *Handler) Close() error {
	var err error
	h.closed.Do(func() {
		h.stop()
		h.running.Wait()
		if h.spool != nil {
			err = h.spool.close()
		}
	})
	return err
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	d := &arrival{
		id:      rand.Text(),
		began:   time.Now(),
		request: &Request{Method: hr.Method, URL: hr.URL, Header: hr.Header, ReceivedAt: time.Now()},
	}
	near := time.AfterFunc(h.cfg.patience*8/10, func() {
		h.cfg.log.LogAttrs(hr.Context(), slog.LevelWarn, "near_timeout", d.attrs(slog.Duration("patience", h.cfg.patience))...)
	})
	defer near.Stop()
	ctx, cancel := context.WithCancel(context.WithoutCancel(hr.Context()))
	defer cancel()
	defer context.AfterFunc(h.base, cancel)()

	r := h.serve(ctx, w, hr, d)
	near.Stop()
	h.answer(w, hr, d, r)
	h.tell(d.id, untoldOf(d.asked, r.status), toldNow(r.status))
}

// arrival is one request.
type arrival struct {
	request  *Request
	id       string    // of the request, for the log and the service
	began    time.Time // by the monotonic clock
	signedAt time.Time
	asked    []*task // the service has answered for them

	mu    sync.Mutex // the log of the time may come at any moment
	items []*Item
}

// serve finds out what to answer.
func (h *Handler) serve(ctx context.Context, w http.ResponseWriter, hr *http.Request, d *arrival) reply {
	p := h.verifier.Load()
	if p.greet != nil {
		if g := p.greet(d.request); g != nil && !g.signed {
			return g.reply(w)
		}
	}
	if hr.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return reply{status: http.StatusMethodNotAllowed, reason: "method"}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, hr.Body, h.cfg.maxBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return reply{status: http.StatusRequestEntityTooLarge, reason: "too large", err: err}
	}
	if err != nil {
		return reply{status: http.StatusBadRequest, reason: "cut off", err: err}
	}
	d.request.Body = body
	h.cfg.log.LogAttrs(ctx, slog.LevelInfo, "received", d.attrs(slog.Int("bytes", len(body)))...)

	if d.signedAt, err = p.verified(ctx, d.request); err != nil {
		return h.refused(d, err)
	}
	if p.greet != nil {
		if g := p.greet(d.request); g != nil {
			return g.reply(w)
		}
	}
	return h.receive(ctx, d)
}

// reply is the answer to a request that is no delivery.
func (g *greeting) reply(w http.ResponseWriter) reply {
	for name, value := range g.header {
		w.Header().Set(name, value)
	}
	return reply{status: g.status, body: []byte(g.body), contentType: "text/plain; charset=utf-8", reason: "greeting"}
}

// refused is the answer to a request that is not known to be genuine.
func (h *Handler) refused(d *arrival, err error) reply {
	if _, ok := errors.AsType[Forged](err); !ok {
		return reply{status: http.StatusServiceUnavailable, retryAfter: soon, reason: "not verifiable now", err: err}
	}
	h.report(d)
	return reply{status: http.StatusUnauthorized, reason: "forged", err: err}
}

// settle has the work of events done, or keeps them for later. An error says that the
// service gave no answer; the tasks say how far it got.
func (h *Handler) settle(ctx context.Context, tasks []*task) error {
	if h.cfg.receiving {
		return h.store(ctx, tasks)
	}
	return h.process(ctx, tasks)
}

// receive handles the events of a genuine request.
func (h *Handler) receive(ctx context.Context, d *arrival) reply {
	items, err := h.provider.extract(d.request)
	if err != nil {
		return reply{status: http.StatusBadRequest, reason: "unreadable", err: err}
	}
	d.mu.Lock()
	d.items = items
	d.mu.Unlock()
	if len(items) == 0 {
		return reply{status: h.success(), reason: "empty"}
	}
	if h.cfg.receiving && h.tooLarge(items) {
		return reply{status: http.StatusRequestEntityTooLarge, reason: "too large", err: errTooLarge}
	}
	if h.spool != nil && h.spool.waiting() { // what came before goes first
		return h.keep(d, nil)
	}
	tasks := h.tasks(d, &progress{success: h.success()})
	if h.cfg.receiving { // all receipts together, while the provider waits
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, h.cfg.claimTime)
		defer cancel()
	}
	err = h.settle(ctx, tasks)
	why := unasked(tasks, err)
	decided, err := h.alone(ctx, tasks, err)
	if lost := unasked(tasks, err); lost != nil {
		if h.spool != nil {
			return h.keep(d, lost)
		}
		return reply{status: http.StatusServiceUnavailable, retryAfter: wait(lost), reason: "the service is away", err: lost}
	}
	d.asked = tasks
	r := h.replyTo(tasks)
	r.err = errors.Join(err, r.err)
	if decided > 0 && r.reason == "settled" {
		r.reason, r.err = "local", errors.Join(why, r.err)
	}
	return r
}
