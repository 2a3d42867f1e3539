package provoke

import (
	"context"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"github.com/idemsvc/idemsvc/internal/childproc"
)

const (
	// startLimit is how long the receiver may take until it listens.
	startLimit = time.Minute
	// stopLimit is how long it may take to end when asked to.
	stopLimit = 10 * time.Second
	poll      = 5 * time.Millisecond
)

// receiver is the user's receiver, as a process that was started here.
type receiver struct {
	command []string
	address string
	up      func(context.Context) error // whether something listens there
	process *childproc.Process          // nil before it was started
}

// start starts the receiver and waits until it listens.
func (r *receiver) start(ctx context.Context) error {
	if r.up(ctx) == nil {
		return fmt.Errorf("something listens at %s already, and would be provoked in the place of the receiver that is to be started: end it first, or leave out the command", r.address)
	}
	var said childproc.Tail
	cmd := exec.CommandContext(context.WithoutCancel(ctx), r.command[0], r.command[1:]...) //nolint:gosec // whoever asks for this names it
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.WaitDelay = stopLimit
	p, err := childproc.Start(cmd, syscall.SIGTERM)
	if err != nil {
		return fmt.Errorf("the receiver cannot be started: %w", err)
	}
	r.process = p
	limit := time.After(startLimit)
	for {
		unreached := r.up(ctx)
		if unreached == nil {
			return nil
		}
		select {
		case <-p.Done():
			return fmt.Errorf("the receiver ended before it listened (%v)%s", cause(p.Err()), said.String())
		case <-limit:
			return fmt.Errorf("the receiver does not listen after %v: %w%s", startLimit, unreached, said.String())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(poll):
		}
	}
}

func cause(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// kill ends the receiver, and all that it started, as a crash would.
func (r *receiver) kill(ctx context.Context) error {
	if err := r.process.SignalGroup(syscall.SIGKILL); err != nil {
		return fmt.Errorf("the receiver cannot be killed: %w", err)
	}
	return r.gone(ctx)
}

// stop ends the receiver as a shutdown would.
func (r *receiver) stop(ctx context.Context) error {
	if r.process == nil {
		return nil
	}
	_ = r.process.SignalGroup(syscall.SIGTERM) // what does not end by this is killed
	select {
	case <-r.process.Done():
	case <-time.After(stopLimit):
	}
	return r.kill(ctx)
}

// gone waits until the receiver has ended and its address is free again.
func (r *receiver) gone(ctx context.Context) error {
	<-r.process.Done()
	for limit := time.After(stopLimit); r.up(ctx) == nil; {
		select {
		case <-limit:
			return fmt.Errorf("something still listens at %s although the receiver was killed: what it starts must stay in its process group", r.address)
		case <-time.After(poll):
		}
	}
	return nil
}
