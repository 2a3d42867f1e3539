package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Latency is how long claims take when they come by a schedule, whether or not earlier
// ones are answered: each is measured from the moment it was due, so that a service that
// falters is not asked less.
type Latency struct {
	// Share is the part of its own greatest rate at which each side was asked.
	Share   float64 `json:"share_of_greatest_rate"`
	Service Waits   `json:"service"`
	Direct  Waits   `json:"direct"`
	// P99Ratio is of the service's p99 to direct SQL's in each round.
	P99Ratio Interval `json:"p99_ratio"`
	// Goal is the most P99Ratio that was aimed at.
	Goal float64 `json:"goal"`
}

// Waits are times from due to answered, in microseconds.
type Waits struct {
	PerSecond float64 `json:"claims_per_second"`
	Claims    int     `json:"claims"`
	P50       int64   `json:"p50_us"`
	P99       int64   `json:"p99_us"`
	P999      int64   `json:"p999_us"`
	// Missed are claims that were not sent because too many had no answer yet.
	Missed int `json:"missed,omitempty"`
}

const (
	latencyCallers = 256 // with which the greatest rate is found
	latencyGoal    = 2
	// mostWaiting is how many claims may be without an answer; what comes then is missed.
	mostWaiting = 20_000
)

var latencyShares = []float64{0.3, 0.6}

// side is one of the two that are asked.
type side struct {
	arm  *arm
	most float64 // claims per second with as many callers as it likes
}

// latency asks both sides in turn, at each share of their greatest rate.
func (s *site) latency(ctx context.Context) ([]Latency, error) {
	service := &side{arm: &arm{family: "claims", callers: latencyCallers, way: overServer, step: func(ctx context.Context, i int) (int, error) {
		return claimLong(ctx, s.service, i)
	}}}
	direct := &side{arm: &arm{family: "direct-claims", callers: latencyCallers, step: func(ctx context.Context, _ int) (int, error) {
		return directClaim(ctx, s.pool(latencyCallers), freshID())
	}}}
	if s.best[latencyCallers] == 0 {
		if err := s.calibrate(ctx, []int{latencyCallers}, s.Duration); err != nil {
			return nil, err
		}
	}
	for range 2 {
		for _, x := range []*side{service, direct} {
			r, err := s.slot(ctx, x.arm, s.Duration)
			if err != nil {
				return nil, err
			}
			x.most = max(x.most, r.rate())
		}
	}
	rounds, d := max(s.Pairs/2, 1), 3*s.Duration
	s.say("latency: the greatest rates are %.0f and %.0f claims/s", service.most, direct.most)
	var list []Latency
	for _, share := range latencyShares {
		l := Latency{Share: share, Goal: latencyGoal}
		var all [2][]int64
		var p99 ratios
		for round := range rounds {
			var tails [2]int64
			for _, i := range turned([]int{0, 1}, round) {
				x, w := []*side{service, direct}[i], []*Waits{&l.Service, &l.Direct}[i]
				w.PerSecond = share * x.most
				waits, missed, err := scheduled(ctx, x.arm, w.PerSecond, d)
				if err != nil {
					return nil, err
				}
				if x == service {
					if err := caughtUp(ctx, s.service, 0); err != nil {
						return nil, err
					}
				}
				slices.Sort(waits)
				tails[i] = quantile(waits, 0.99)
				all[i], w.Missed = append(all[i], waits...), w.Missed+missed
			}
			p99.add(float64(tails[0]), float64(tails[1]))
		}
		l.Service.fill(all[0])
		l.Direct.fill(all[1])
		l.P99Ratio = intervalOf(p99)
		list = append(list, l)
	}
	return list, nil
}

func (w *Waits) fill(waits []int64) {
	slices.Sort(waits)
	w.Claims, w.P50, w.P99, w.P999 = len(waits), quantile(waits, 0.5), quantile(waits, 0.99), quantile(waits, 0.999)
}

// scheduled sends one turn of the arm after the other by a schedule of equal steps, and
// returns how long each took since it was due, in microseconds.
func scheduled(ctx context.Context, a *arm, perSecond float64, d time.Duration) (waits []int64, missed int, err error) {
	step := time.Duration(float64(time.Second) / max(perSecond, 1))
	n := max(int(d/step), 1)
	taken := make([]int64, n)
	var turns sync.WaitGroup
	var mu sync.Mutex
	var fault error
	free := make(chan struct{}, mostWaiting)
	started := time.Now()
	for i := range n {
		due := started.Add(time.Duration(i) * step)
		if early := time.Until(due); early > 0 {
			if err := pause(ctx, early); err != nil {
				turns.Wait()
				return nil, 0, err
			}
		}
		select {
		case free <- struct{}{}:
		default:
			taken[i] = -1
			missed++
			continue
		}
		turns.Go(func() {
			_, err := a.step(ctx, i)
			taken[i] = max(time.Since(due).Microseconds(), 1)
			<-free
			if err != nil {
				mu.Lock()
				fault = fmt.Errorf("%s: %w", a.family, err)
				mu.Unlock()
			}
		})
	}
	turns.Wait()
	if fault != nil {
		return nil, 0, fault
	}
	waits = slices.DeleteFunc(taken, func(t int64) bool { return t < 0 })
	if len(waits) == 0 {
		return nil, 0, errors.New("no claim could be sent")
	}
	return waits, missed, nil
}
