package telemetry

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/idemsvc/idemsvc/storage"
)

const (
	surveyFirst   = time.Second // doubled up to the next
	surveyPause   = 15 * time.Second
	surveyTimeout = 5 * time.Second
	surveyOld     = 2 * time.Minute // then it is told no more
	surveyRows    = 500
)

// survey is what was last heard about the stored events.
type survey struct {
	mu      sync.Mutex
	backlog []storage.Backlog
	lag     time.Duration
	at      time.Time // zero: never
}

// Survey keeps asking the store what is unfinished, and tells it to whoever reads the
// metrics. It returns when the context ends.
func Survey(ctx context.Context, p metric.MeterProvider, store storage.Surveyor, log *slog.Logger) error {
	s := &survey{}
	i := &Instruments{Meter: p.Meter(Scope)}
	s.observe(i)
	if i.Err != nil {
		return i.Err
	}
	wait := time.NewTimer(0)
	defer wait.Stop()
	failing := false
	pause := surveyFirst
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-wait.C:
		}
		err := s.ask(ctx, store)
		if err != nil && !failing && ctx.Err() == nil {
			log.WarnContext(ctx, "the metrics of stored events could not be read and are tried again", "error", err)
		}
		failing = err != nil
		wait.Reset(pause)
		pause = min(2*pause, surveyPause)
	}
}

func (s *survey) ask(ctx context.Context, store storage.Surveyor) error {
	ctx, cancel := context.WithTimeout(ctx, surveyTimeout)
	defer cancel()
	info, err := store.Info(ctx)
	if err != nil {
		return err
	}
	list, err := store.Survey(ctx, surveyRows)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.backlog, s.lag, s.at = list, info.Lag, time.Now()
	return nil
}

// heard is the last survey, unless it is too old to be told.
func (s *survey) heard() (list []storage.Backlog, lag, age time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	age = time.Since(s.at)
	return s.backlog, s.lag, age, !s.at.IsZero() && age < surveyOld
}

func (s *survey) observe(i *Instruments) {
	type pair struct{ namespace, consumer string }
	bounded := newNames(func(namespace, consumer string) *pair { return &pair{namespace, consumer} })
	each := func(m *Metric, value func(*storage.Backlog) float64, sum bool, byState bool) {
		i.Observe(m, func(tell Observe) {
			list, _, _, ok := s.heard()
			if !ok {
				return
			}
			type series struct {
				pair
				state string
			}
			values := map[series]float64{}
			for n := range list {
				b := &list[n]
				k := series{pair: *bounded.of(b.Namespace, b.Consumer)}
				if byState {
					k.state = b.State.String()
				}
				if v := value(b); sum {
					values[k] += v
				} else {
					values[k] = max(values[k], v)
				}
			}
			for k, v := range values {
				tell(v, k.namespace, k.consumer, k.state)
			}
		})
	}
	each(Unfinished, func(b *storage.Backlog) float64 { return float64(b.Events) }, true, true)
	each(Oldest, func(b *storage.Backlog) float64 { return b.Oldest.Seconds() }, false, true)
	each(Stuck, func(b *storage.Backlog) float64 { return float64(b.Stuck) }, true, false)
	i.Observe(LookupLag, func(tell Observe) {
		if _, lag, _, ok := s.heard(); ok {
			tell(lag.Seconds())
		}
	})
	i.Observe(SurveyAge, func(tell Observe) {
		if _, _, age, ok := s.heard(); ok {
			tell(age.Seconds())
		}
	})
}
