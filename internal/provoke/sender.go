package provoke

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/idemsvc/idemsvc/clients/go/webhook"
)

const (
	connectLimit = 5 * time.Second
	answerLimit  = 30 * time.Second
	maxAnswer    = 1 << 20
	// Pauses before the next try are as long as the receiver asks for, or else doubled,
	// between these two.
	minPause = 10 * time.Millisecond
	maxPause = time.Second
	// settleLimit is how long a delivery is repeated that is answered «not now».
	settleLimit = 30 * time.Second
)

// sender delivers as the provider would.
type sender struct {
	o        Options
	provider *webhook.Provider
	shape    shape
	client   *http.Client
}

func (o *Options) sender() (*sender, error) {
	sh, ok := shapes[o.Provider]
	if !ok {
		return nil, fmt.Errorf("there is no provider %q to play; there are %v", o.Provider, Providers())
	}
	s := &sender{o: *o, shape: sh}
	s.o.Public = cmp.Or(o.Public, o.URL)
	s.o.Patience = cmp.Or(o.Patience, DefaultPatience)
	s.provider = sh.provider(s.o.Public, o.Secret)
	r, err := s.delivery(s.provider, newEvent())
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
	conn, err := (&net.Dialer{Timeout: connectLimit}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if a, ok := conn.RemoteAddr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		return nil, errors.Join(fmt.Errorf("%s is not this machine", address), conn.Close())
	}
	return conn, nil
}

// reach reports whether something listens where the receiver should.
func (s *sender) reach(ctx context.Context) error {
	conn, err := dialHere(ctx, "tcp", s.address())
	if err != nil {
		return err
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

// event is one that the receiver has not seen.
type event struct {
	id    string
	began time.Time // its time in bodies, which is that of all its deliveries
	tries atomic.Int64
}

func newEvent() *event { return &event{id: "provoke-" + rand.Text(), began: time.Now()} }

// delivery is the next delivery of the event, signed.
func (s *sender) delivery(by *webhook.Provider, e *event) (*webhook.Request, error) {
	target, err := url.Parse(s.o.URL)
	if err != nil {
		return nil, err
	}
	now, try := time.Now(), e.tries.Add(1)
	fill := strings.NewReplacer(
		"{id}", e.id, "{now}", strconv.FormatInt(e.began.Unix(), 10), "{ms}", strconv.FormatInt(e.began.UnixMilli(), 10),
		"{try}", strconv.FormatInt(try, 10), "{retry}", strconv.FormatInt(try-1, 10), "{sent}", strconv.FormatInt(now.UnixMilli(), 10),
	).Replace
	r := &webhook.Request{Method: http.MethodPost, URL: target, Header: http.Header{}, Body: []byte(fill(s.shape.body)), ReceivedAt: now}
	r.Header.Set("Content-Type", "application/json")
	for name, value := range s.shape.header {
		r.Header.Set(name, fill(value))
	}
	if try > 1 {
		for name, value := range s.shape.again {
			r.Header.Set(name, fill(value))
		}
	}
	return r, by.SignForTest(r, now)
}

func (s *sender) request(ctx context.Context, by *webhook.Provider, e *event, alter func(*webhook.Request, http.Header)) (*http.Request, error) {
	r, err := s.delivery(by, e)
	if err != nil {
		return nil, err
	}
	if alter != nil {
		alter(r, s.unsignedHeader(r))
	}
	hr, err := http.NewRequestWithContext(ctx, r.Method, s.o.URL, bytes.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	hr.Header = r.Header
	return hr, nil
}

// answer is what a delivery was answered.
type answer struct {
	status int
	again  time.Duration // when to try again; 0: it does not say
	err    error
}

func success(status int) bool { return status >= 200 && status < 300 }

func (a answer) settled() bool { return a.err == nil && success(a.status) }

// notNow reports whether a provider would deliver again.
func (a answer) notNow() bool {
	return a.err != nil || a.status >= 500 || a.status == http.StatusTooManyRequests || a.status == http.StatusConflict
}

func (a answer) String() string {
	if a.err != nil {
		return a.err.Error()
	}
	return strconv.Itoa(a.status)
}

// send delivers the event once more.
func (s *sender) send(ctx context.Context, e *event) answer {
	return s.deliver(ctx, s.provider, e, nil)
}

// deliver delivers it as made by somebody, and altered afterwards.
func (s *sender) deliver(ctx context.Context, by *webhook.Provider, e *event, alter func(*webhook.Request, http.Header)) answer {
	hr, err := s.request(ctx, by, e, alter)
	if err != nil {
		return answer{err: err}
	}
	resp, err := s.client.Do(hr)
	if err != nil {
		return answer{err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer))
	seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
	return answer{status: resp.StatusCode, again: time.Duration(seconds) * time.Second, err: err}
}

// settle delivers until the answer is success, as a provider does, and returns the last
// answer and how many deliveries it took.
func (s *sender) settle(ctx context.Context, e *event, limit time.Duration) (last answer, tries int) {
	over := time.Now().Add(limit)
	pause := minPause
	for tries = 1; ; tries++ {
		last = s.send(ctx, e)
		if !last.notNow() || time.Now().After(over) {
			return last, tries
		}
		select {
		case <-ctx.Done():
			return answer{err: ctx.Err()}, tries
		case <-time.After(min(cmp.Or(last.again, pause), maxPause)):
		}
		pause *= 2
	}
}

// hangUp delivers and closes the connection without waiting for the answer.
func (s *sender) hangUp(ctx context.Context, e *event) error {
	hr, err := s.request(ctx, s.provider, e, nil)
	if err != nil {
		return err
	}
	conn, err := dialHere(ctx, "tcp", s.address())
	if err != nil {
		return err
	}
	w := bufio.NewWriter(conn)
	return errors.Join(hr.Write(w), w.Flush(), conn.Close())
}
