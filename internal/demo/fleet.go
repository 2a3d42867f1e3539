package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/idemsvc/idemsvc/internal/childproc"
)

// startTime is how long a process of ours may take to start.
const startTime = 30 * time.Second

// fleet is a number of consumer processes. One that was killed is started again, at
// another address.
type fleet struct {
	program []string
	task    task
	said    childproc.Tail
	kills   atomic.Int64

	slots   []atomic.Pointer[consumer]
	keepers sync.WaitGroup
	stop    context.CancelFunc
	fail    context.CancelCauseFunc
	mu      sync.Mutex
	faults  []error
}

// consumer is one process.
type consumer struct {
	*childproc.Listener
	killed atomic.Bool
}

// startFleet starts the processes and waits until all are up. The returned context ends,
// with the cause, when one of them cannot be kept up.
func startFleet(ctx context.Context, program []string, t task, size int) (context.Context, *fleet, error) {
	f := &fleet{program: append(slices.Clone(program), ConsumerArgs...), task: t, slots: make([]atomic.Pointer[consumer], size)}
	var keeping context.Context
	keeping, f.stop = context.WithCancel(context.WithoutCancel(ctx))
	ctx, f.fail = context.WithCancelCause(ctx)
	up := make(chan struct{}, size)
	for i := range f.slots {
		f.keepers.Go(func() {
			if err := f.keep(keeping, &f.slots[i], up); err != nil {
				err = fmt.Errorf("a consumer: %w%s", err, f.said.String())
				f.mu.Lock()
				f.faults = append(f.faults, err)
				f.mu.Unlock()
				f.fail(err)
			}
		})
	}
	for range size {
		select {
		case <-up:
		case <-ctx.Done():
			if err := f.close(); err != nil {
				return nil, nil, err
			}
			return nil, nil, context.Cause(ctx)
		}
	}
	return ctx, f, nil
}

// keep keeps one process up until the context ends.
func (f *fleet) keep(ctx context.Context, slot *atomic.Pointer[consumer], up chan<- struct{}) error {
	for first := true; ctx.Err() == nil; first = false {
		c, err := f.start(ctx)
		if err != nil {
			return err
		}
		slot.Store(c)
		if first {
			up <- struct{}{}
		}
		select {
		case <-ctx.Done():
		case <-c.Done():
		}
		slot.Store(nil)
		err = c.Stop(stopTime)
		switch {
		case c.killed.Load():
		case err != nil:
			return err
		case ctx.Err() == nil:
			return errors.New("it ended by itself")
		}
	}
	return nil
}

func (f *fleet) start(ctx context.Context) (*consumer, error) {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), f.program[0], f.program[1:]...) //nolint:gosec // this program
	cmd.Env = childproc.Environ("IDEMSVC_")
	cmd.Stderr = &f.said
	// The pipe stays open as long as this process is there: its end tells the consumer.
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	told := make(chan error, 1)
	go func() { told <- json.NewEncoder(in).Encode(f.task) }()
	l, err := childproc.StartListener(cmd, startTime)
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	if err := <-told; err != nil {
		return nil, errors.Join(err, l.Stop(stopTime))
	}
	return &consumer{Listener: l}, nil
}

// pick is a consumer that is up, or nil.
func (f *fleet) pick() *consumer {
	for _, i := range rand.Perm(len(f.slots)) {
		if c := f.slots[i].Load(); c != nil {
			return c
		}
	}
	return nil
}

// kill kills a consumer, wherever it is in its work.
func (f *fleet) kill(c *consumer) {
	if !c.killed.Swap(true) && c.Signal(os.Kill) == nil {
		f.kills.Add(1)
	}
}

// close lets the consumers end what they have taken, and waits for it.
func (f *fleet) close() error {
	f.stop()
	f.keepers.Wait()
	f.fail(nil)
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.faults...)
}
