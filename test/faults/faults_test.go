//go:build linux

package faults_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/storage/storagetest/wire"
)

// fault is one thing that goes wrong. It returns once it is over, and whatever it stopped
// goes on.
type fault struct {
	name string
	kill bool // it kills or stops processes
	do   func(s *site, ctx context.Context) error
}

// stops are how long processes are stopped: from a moment to beyond the leases.
func (s *site) pauseFor() time.Duration {
	if s.rng.IntN(4) == 0 {
		return lease + time.Duration(s.rng.Int64N(int64(time.Second)))
	}
	return 20*time.Millisecond + time.Duration(s.rng.Int64N(int64(400*time.Millisecond)))
}

func stopFor(ctx context.Context, d time.Duration, pids ...int) error {
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil && err != syscall.ESRCH {
			return err
		}
	}
	sleepFor(ctx, d)
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil && err != syscall.ESRCH {
			return err
		}
	}
	return nil
}

func (s *site) someServer() *serverProcess { return s.servers[s.rng.IntN(len(s.servers))] }

// crash ends the database with a signal and starts it again.
func (s *site) crash(sig os.Signal) error {
	sys, ok := sig.(syscall.Signal)
	if !ok {
		return fmt.Errorf("%v is no signal of this system", sig)
	}
	if err := syscall.Kill(s.pg.PID(), sys); err != nil {
		return err
	}
	select {
	case <-s.pg.Done():
	case <-time.After(maxShutdown): // Restart ends it
		s.t.Logf("PostgreSQL has not ended %v after %v", maxShutdown, sig)
	}
	return s.pg.Restart(context.WithoutCancel(s.t.Context()))
}

// maxShutdown is how long PostgreSQL may take to end.
const maxShutdown = 30 * time.Second

// maxFault is how long a fault may take: longer than any should.
const maxFault = 3 * time.Minute

// suffer lets a fault happen.
func (s *site) suffer(f fault) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), maxFault)
	defer cancel()
	if err := f.do(s, ctx); err != nil {
		s.t.Fatalf("%s: %v", f.name, err)
	}
}

// cutMessages is more than the messages of a batch.
const cutMessages = 40

var kills = []fault{
	{"server killed", true, func(s *site, _ context.Context) error {
		p := s.someServer()
		p.end()
		return p.start()
	}},
	{"server stopped", true, func(s *site, ctx context.Context) error { return stopFor(ctx, s.pauseFor(), s.someServer().proc.PID()) }},
	{"client killed", true, func(s *site, _ context.Context) error {
		i := s.rng.IntN(len(s.clients))
		old := s.clients[i]
		old.end()
		if err := s.collect(old); err != nil {
			return err
		}
		return s.startClient(i)
	}},
	{"client stopped", true, func(s *site, ctx context.Context) error {
		return stopFor(ctx, s.pauseFor(), s.clients[s.rng.IntN(len(s.clients))].proc.PID())
	}},
	{"PostgreSQL killed", true, func(s *site, _ context.Context) error { return s.crash(syscall.SIGKILL) }},
	{"PostgreSQL session killed", true, func(s *site, ctx context.Context) error {
		list := s.backends()
		if len(list) == 0 {
			return nil
		}
		own, err := s.admin.Acquire(ctx)
		if err != nil {
			return err
		}
		defer own.Release()
		if err := syscall.Kill(list[s.rng.IntN(len(list))], syscall.SIGKILL); err != nil && err != syscall.ESRCH {
			return err
		}
		// All sessions end, ours too, and it recovers by itself.
		for end := time.Now().Add(10 * time.Second); err == nil && time.Now().Before(end); sleepFor(ctx, 5*time.Millisecond) {
			_, err = own.Exec(ctx, "SELECT")
		}
		return s.ready(ctx)
	}},
	{"PostgreSQL stopped", true, func(s *site, ctx context.Context) error { return stopFor(ctx, s.pauseFor(), s.backends()...) }},
	{"PostgreSQL session stopped", true, func(s *site, ctx context.Context) error {
		list := s.backends()
		if len(list) == 0 {
			return nil
		}
		return stopFor(ctx, s.pauseFor(), list[s.rng.IntN(len(list))])
	}},
}

var otherFaults = []fault{
	{"cut at a message", false, func(s *site, ctx context.Context) error {
		n := s.cut // one message after the other, of both sides
		s.cut++
		s.proxy.CutAt(wire.Cut{Side: wire.Side(n % 2), After: n / 2 % cutMessages, Torn: s.rng.IntN(3) == 0, Stay: s.rng.IntN(4) == 0}) //nolint:gosec // one of two
		sleepFor(ctx, 60*time.Millisecond)
		s.proxy.Heal()
		return nil
	}},
	{"all connections cut", false, func(s *site, _ context.Context) error {
		s.proxy.CutAll()
		return nil
	}},
	{"database out of reach", false, func(s *site, ctx context.Context) error {
		s.proxy.Down(true)
		sleepFor(ctx, time.Duration(s.rng.Int64N(int64(150*time.Millisecond))))
		s.proxy.Down(false)
		return nil
	}},
	{"slow network", false, func(s *site, ctx context.Context) error {
		s.proxy.Latency(time.Duration(s.rng.Int64N(int64(20 * time.Millisecond))))
		sleepFor(ctx, 80*time.Millisecond)
		s.proxy.Latency(0)
		return nil
	}},
	{"PostgreSQL shut down", false, func(s *site, _ context.Context) error {
		return s.crash([]os.Signal{syscall.SIGINT, syscall.SIGQUIT}[s.rng.IntN(2)]) // fast, immediate
	}},
	{"rows locked by a stranger", false, func(s *site, ctx context.Context) error {
		return s.lock(ctx, "SELECT FROM idemsvc.event WHERE state = 2 ORDER BY bucket, id LIMIT 20 FOR UPDATE")
	}},
	{"resources locked by a stranger", false, func(s *site, ctx context.Context) error {
		return s.lock(ctx, "SELECT FROM idemsvc.resource FOR UPDATE")
	}},
	{"table locked by a stranger", false, func(s *site, ctx context.Context) error {
		return s.lock(ctx, "LOCK TABLE idemsvc.event IN ACCESS EXCLUSIVE MODE")
	}},
	{"serialization failures", false, func(s *site, ctx context.Context) error { return s.moody(ctx, 0.2) }},
	{"serialization failures for all", false, func(s *site, ctx context.Context) error { return s.moody(ctx, 1) }},
	{"slow disk", false, func(s *site, ctx context.Context) error {
		if s.slow == nil {
			return nil
		}
		if err := s.slow.set(time.Duration(s.rng.Int64N(int64(100 * time.Millisecond)))); err != nil {
			return err
		}
		sleepFor(ctx, 150*time.Millisecond)
		return s.slow.set(0)
	}},
}

// lock holds a lock as a stranger does.
func (s *site) lock(ctx context.Context, sql string) error {
	tx, err := s.admin.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	if _, err := tx.Exec(ctx, sql); err != nil {
		return err
	}
	sleepFor(ctx, time.Duration(s.rng.Int64N(int64(200*time.Millisecond))))
	return nil
}

// mood prepares the database to refuse transactions as it does when they collide: at once,
// and at their commit.
func (s *site) mood(t *testing.T) {
	t.Helper()
	for _, sql := range []string{
		"CREATE TABLE public.mood (chance float8)", "INSERT INTO public.mood VALUES (0)",
		`CREATE FUNCTION public.moody() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF random() < (SELECT chance FROM public.mood) THEN RAISE EXCEPTION 'mood' USING ERRCODE = CASE WHEN random() < 0.5 THEN '40001' ELSE '40P01' END; END IF;
			RETURN NEW; END $$`,
		"CREATE TRIGGER moody BEFORE INSERT OR UPDATE ON idemsvc.event FOR EACH ROW EXECUTE FUNCTION public.moody()",
		"CREATE CONSTRAINT TRIGGER moody_late AFTER INSERT OR UPDATE ON idemsvc.event DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.moody()",
	} {
		if _, err := s.admin.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *site) moody(ctx context.Context, chance float64) error {
	if _, err := s.admin.Exec(ctx, "UPDATE public.mood SET chance = $1", chance); err != nil {
		return err
	}
	sleepFor(ctx, 50*time.Millisecond+rand.N(50*time.Millisecond))
	_, err := s.admin.Exec(ctx, "UPDATE public.mood SET chance = 0")
	return err
}

// ready waits until the database answers.
func (s *site) ready(ctx context.Context) (err error) {
	for range 600 {
		if _, err = s.admin.Exec(ctx, "SELECT"); err == nil {
			return nil
		}
		sleepFor(ctx, 50*time.Millisecond)
	}
	return err
}
