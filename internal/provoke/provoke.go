// Package provoke sends a webhook receiver on this machine what providers send on bad
// days, validly signed, and tells how it answered. It sees answers only: whether the work
// was done twice is for the receiver's owner to look at.
package provoke

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/idemsvc/idemsvc/clients/go/webhook"
)

const (
	copies      = 8 // of one event, at once
	shuffled    = 10
	answerLimit = 30 * time.Second
	maxAnswer   = 1 << 20
	// maxTries is how often a delivery is repeated that was answered «not now».
	maxTries = 30
	maxPause = time.Second
)

// Options say whom to provoke, and as whom.
type Options struct {
	URL      string // of the receiver; loopback only, plain HTTP
	Provider string // one of [Providers]
	Secret   string
	Public   string // URL that the provider was given, where it is signed; default URL
}

// Result is how one case went.
type Result struct {
	Case string `json:"case"`
	Pass bool   `json:"pass"`
	Saw  string `json:"saw"`
}

// Check is why the options cannot be used; nil if they can.
func (o *Options) Check() error {
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "http" || !loopback(u.Hostname()) {
		return fmt.Errorf("the URL %q must be http:// and of this machine, such as http://127.0.0.1:8080/hooks: this is no tool against others", o.URL)
	}
	_, err = o.sender()
	return err
}

func loopback(host string) bool {
	if host == "localhost" {
		return true // whatever it resolves to is looked at again before connecting
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// Run provokes the receiver. The error is why it could not be done at all.
func Run(ctx context.Context, o Options) ([]Result, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	s, err := o.sender()
	if err != nil {
		return nil, err
	}
	defer s.client.CloseIdleConnections()
	if err := s.reach(ctx); err != nil {
		return nil, err
	}
	var out []Result
	for _, c := range []struct {
		name string
		run  func(context.Context) (string, bool)
	}{
		{"a new event, then the same again", s.twice},
		{fmt.Sprintf("%d copies at once", copies), s.atOnce},
		{fmt.Sprintf("%d events, each twice, shuffled", shuffled), s.shuffled},
		{"a connection that is cut before the answer", s.cut},
		{"a forged delivery before the genuine one", s.forged},
	} {
		saw, pass := c.run(ctx)
		if err := ctx.Err(); err != nil {
			return out, err
		}
		out = append(out, Result{Case: c.name, Pass: pass, Saw: saw})
	}
	return out, nil
}

// sender delivers as the provider would.
type sender struct {
	o        Options
	provider *webhook.Provider
	shape    shape
	began    time.Time // the time in bodies: a try must not differ from the one before
	client   *http.Client
}

func (o *Options) sender() (*sender, error) {
	sh, ok := shapes[o.Provider]
	if !ok {
		return nil, fmt.Errorf("there is no provider %q to play; there are %v", o.Provider, Providers())
	}
	s := &sender{o: *o, shape: sh, began: time.Now()}
	if s.o.Public == "" {
		s.o.Public = o.URL
	}
	s.provider = sh.provider(s.o.Public, o.Secret)
	r, err := s.delivery(s.provider, "probe")
	if err != nil {
		return nil, err
	}
	if err := s.provider.Check(context.Background(), r); err != nil {
		return nil, err
	}
	s.client = &http.Client{
		Timeout:       answerLimit,
		Transport:     &http.Transport{DialContext: dialHere},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return s, nil
}

// dialHere connects to this machine only, whatever a name resolves to.
func dialHere(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if a, ok := conn.RemoteAddr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		return nil, errors.Join(fmt.Errorf("%s is not this machine", address), conn.Close())
	}
	return conn, nil
}

func (s *sender) reach(ctx context.Context) error {
	conn, err := dialHere(ctx, "tcp", s.address())
	if err != nil {
		return fmt.Errorf("the receiver cannot be reached: %w", err)
	}
	return conn.Close()
}

func (s *sender) address() string {
	u, err := url.Parse(s.o.URL)
	if err != nil {
		return ""
	}
	if u.Port() == "" {
		return net.JoinHostPort(u.Hostname(), "80")
	}
	return u.Host
}

// delivery is a signed delivery of an event.
func (s *sender) delivery(by *webhook.Provider, id string) (*webhook.Request, error) {
	target, err := url.Parse(s.o.URL)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	r := &webhook.Request{Method: http.MethodPost, URL: target, Header: http.Header{}, Body: []byte(fill(s.shape.body, id, s.began)), ReceivedAt: now}
	r.Header.Set("Content-Type", "application/json")
	for name, value := range s.shape.header {
		r.Header.Set(name, fill(value, id, s.began))
	}
	return r, by.SignForTest(r, now)
}

// newID is an event that the receiver has not seen.
func newID() string { return "provoke-" + rand.Text() }

// answer is what a delivery was answered.
type answer struct {
	status int
	again  time.Duration
	err    error
}

func (a answer) settled() bool { return a.err == nil && a.status >= 200 && a.status < 300 }

func (a answer) String() string {
	if a.err != nil {
		return a.err.Error()
	}
	return strconv.Itoa(a.status)
}

func (s *sender) send(ctx context.Context, by *webhook.Provider, id string) answer {
	r, err := s.delivery(by, id)
	if err != nil {
		return answer{err: err}
	}
	hr, err := http.NewRequestWithContext(ctx, r.Method, s.o.URL, bytes.NewReader(r.Body))
	if err != nil {
		return answer{err: err}
	}
	hr.Header = r.Header
	resp, err := s.client.Do(hr)
	if err != nil {
		return answer{err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer))
	seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After")) // none: at once
	return answer{status: resp.StatusCode, again: time.Duration(seconds) * time.Second, err: err}
}

// settle delivers until the answer is success, as a provider does.
func (s *sender) settle(ctx context.Context, id string) (last answer, tries int) {
	for tries = 1; ; tries++ {
		last = s.send(ctx, s.provider, id)
		if last.settled() || tries == maxTries || last.err == nil && last.status < 500 && last.status != http.StatusTooManyRequests {
			return last, tries
		}
		select {
		case <-ctx.Done():
			return answer{err: ctx.Err()}, tries
		case <-time.After(min(last.again, maxPause)):
		}
	}
}

func (s *sender) twice(ctx context.Context) (string, bool) {
	id := newID()
	first, tries := s.settle(ctx, id)
	second := s.send(ctx, s.provider, id)
	return fmt.Sprintf("the first was answered %v after %d deliveries, the duplicate %v", first, tries, second), first.settled() && second.settled() && first.status == second.status
}

func (s *sender) atOnce(ctx context.Context) (string, bool) {
	id := newID()
	answers := make([]answer, copies)
	var sending sync.WaitGroup
	for i := range answers {
		sending.Go(func() { answers[i] = s.send(ctx, s.provider, id) })
	}
	sending.Wait()
	counts, odd := map[string]int{}, 0
	for _, a := range answers {
		counts[a.String()]++
		if !a.settled() && a.status != http.StatusServiceUnavailable && a.status != http.StatusTooManyRequests && a.status != http.StatusConflict {
			odd++
		}
	}
	last, tries := s.settle(ctx, id)
	return fmt.Sprintf("answers %v, then %v after %d more deliveries", counts, last, tries), odd == 0 && last.settled()
}

func (s *sender) shuffled(ctx context.Context) (string, bool) {
	var ids []string
	for range shuffled {
		id := newID()
		ids = append(ids, id, id)
	}
	mathrand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	settled := 0
	var odd []string
	for _, id := range ids {
		if a, _ := s.settle(ctx, id); a.settled() {
			settled++
		} else {
			odd = append(odd, a.String())
		}
	}
	saw := fmt.Sprintf("%d of %d deliveries were settled", settled, len(ids))
	if len(odd) > 0 {
		saw += fmt.Sprintf(", the others answered %v", odd)
	}
	return saw, settled == len(ids)
}

// cut delivers and hangs up before the answer, then delivers again.
func (s *sender) cut(ctx context.Context) (string, bool) {
	id := newID()
	if err := s.hangUp(ctx, id); err != nil {
		return err.Error(), false
	}
	last, tries := s.settle(ctx, id)
	return fmt.Sprintf("the next was answered %v after %d deliveries", last, tries), last.settled()
}

func (s *sender) hangUp(ctx context.Context, id string) error {
	r, err := s.delivery(s.provider, id)
	if err != nil {
		return err
	}
	hr, err := http.NewRequestWithContext(ctx, r.Method, s.o.URL, bytes.NewReader(r.Body))
	if err != nil {
		return err
	}
	hr.Header = r.Header
	conn, err := dialHere(ctx, "tcp", s.address())
	if err != nil {
		return err
	}
	w := bufio.NewWriter(conn)
	return errors.Join(hr.Write(w), w.Flush(), conn.Close())
}

func (s *sender) forged(ctx context.Context) (string, bool) {
	id := newID()
	bad := s.send(ctx, s.shape.provider(s.o.Public, s.shape.otherSecret()), id)
	good, tries := s.settle(ctx, id)
	refused := bad.err == nil && bad.status >= 400 && bad.status < 500
	return fmt.Sprintf("the forged one was answered %v, the genuine one %v after %d deliveries", bad, good, tries), refused && good.settled()
}
