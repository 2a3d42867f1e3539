package idemsvc_test

import (
	"context"
	"path"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/idemtest"
)

// scene is a test in a bubble.
type scene struct{ *testing.T }

// bubble runs a test with a service of its own in a bubble, where waiting takes no time.
func bubble(t *testing.T, run func(t scene, service *idemtest.Server), opts ...idemtest.Option) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { run(scene{t}, idemtest.New(t, opts...)) })
}

// faults stands between a client and the service, below the client's repeats.
type faults struct {
	mu     sync.Mutex
	broken map[string]fault // by method
	calls  map[string]int
}

// fault is how calls fail, and how many of them; negative: all.
type fault struct {
	how  string
	left int
}

const (
	lostCall   = "lost call"
	lostAnswer = "lost answer"
	hanging    = "hanging"
)

func newFaults() *faults { return &faults{broken: map[string]fault{}, calls: map[string]int{}} }

// set lets all calls of a method fail; "" lets them pass again.
func (f *faults) set(method, how string) { f.next(method, how, -1) }

// next lets the next calls of a method fail.
func (f *faults) next(method, how string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken[method] = fault{how: how, left: n}
}

// take is how a call fails, "" for not at all.
func (f *faults) take(method string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[method]++
	x := f.broken[method]
	if x.left == 0 {
		return ""
	}
	x.left--
	f.broken[method] = x
	return x.how
}

func (f *faults) count(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[method]
}

func (f *faults) option() idemsvc.Option {
	return idemsvc.WithDialOptions(grpc.WithChainUnaryInterceptor(
		func(ctx context.Context, full string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			how := f.take(path.Base(full))
			switch how {
			case lostCall:
				return status.Error(codes.Unavailable, "test: the call is lost")
			case hanging:
				<-ctx.Done()
				return status.FromContextError(ctx.Err()).Err()
			}
			err := invoke(ctx, full, req, reply, conn, opts...)
			if how == lostAnswer {
				return status.Error(codes.Unavailable, "test: the answer is lost")
			}
			return err
		}))
}

// claimed claims a fresh event.
func claimed(t testing.TB, c *idemsvc.Client, id string, opts ...idemsvc.ClaimOption) *idemsvc.Claim {
	t.Helper()
	a, err := c.Claim(t.Context(), event(id), opts...)
	if err != nil || a.Claim == nil {
		t.Fatalf("%v %v", a, err)
	}
	return a.Claim
}

// took fails unless the time in the bubble since started is about as expected.
func took(t testing.TB, started time.Time, least, most time.Duration) {
	t.Helper()
	if d := time.Since(started); d < least || d > most {
		t.Errorf("it took %v, not %v to %v", d, least, most)
	}
}
