// Package provoke sends a webhook receiver on this machine what providers send on bad
// days, validly signed, and tells how it answered. It sees answers only: whether the work
// was done twice is for the receiver's owner to look at.
package provoke

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os/exec"
	"time"
)

// DefaultPatience is twice the longest lease that is granted unasked, rounded up.
const DefaultPatience = 3 * time.Minute

// Options say whom to provoke, and as whom.
type Options struct {
	URL      string // of the receiver; loopback only, plain HTTP
	Provider string // one of [Providers]
	Secret   string
	Public   string // URL that the provider was given, where it is signed; default URL
	// Command starts the receiver, which is then killed and started again, too. Empty: it
	// runs already, and is left alone.
	Command []string
	// Patience is how long an event may stay unsettled after a kill, such as until a lease
	// is over; default [DefaultPatience].
	Patience time.Duration
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
	if len(o.Command) > 0 {
		if _, err := exec.LookPath(o.Command[0]); err != nil {
			return fmt.Errorf("the receiver cannot be started: %w", err)
		}
	}
	if o.Patience < 0 {
		return fmt.Errorf("the patience %v must not be negative", o.Patience)
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

// Run provokes the receiver and tells of each case when it is over. The error is why it
// could not be done at all, or not to the end. A receiver that it started has ended when it
// returns.
func Run(ctx context.Context, o Options, tell func(Result)) (err error) {
	if err := o.Check(); err != nil {
		return err
	}
	s, err := o.sender()
	if err != nil {
		return err
	}
	defer s.client.CloseIdleConnections()
	cases := s.cases()
	if len(o.Command) > 0 {
		r := &receiver{command: o.Command, address: s.address(), up: s.reach}
		defer func() { err = errors.Join(err, r.stop(context.WithoutCancel(ctx))) }()
		if err := r.start(ctx); err != nil {
			return err
		}
		cases = append(cases, s.kills(r))
	} else if err := s.reach(ctx); err != nil {
		return fmt.Errorf("the receiver cannot be reached: %w", err)
	}
	for _, c := range cases {
		saw, pass := c.run(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
		tell(Result{Case: c.name, Pass: pass, Saw: saw})
	}
	return nil
}
