package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// TelemetryRun is what it costs a server to be seen.
type TelemetryRun struct {
	Machine []string `json:"machine"`
	Rounds  int      `json:"rounds"`
	// What each server is told to show, the first one nothing.
	Arms []TelemetryArm `json:"arms"`
}

// TelemetryArm is a server that shows something.
type TelemetryArm struct {
	Name string `json:"name"`
	// CPU is the server's for an event, in microseconds: the median. 0: not told here.
	CPU float64 `json:"server_us"`
	// More is how its CPU compares with that of the first one in the same round.
	More Interval `json:"ratio"`
}

// telemetryGoal is the most that all of it may cost, as a ratio.
const telemetryGoal = 1.1

// telemetryCallers is how many callers the servers have.
const telemetryCallers = 64

// Telemetry measures the server's CPU for an event with nothing to be seen, with its log,
// and with log, metrics to be read and a hundredth of the traces sent. Servers take turns on one
// database; a collector in this process takes what they send. It uses a PostgreSQL of its own, whatever
// the options say.
func Telemetry(ctx context.Context, o Options) (r *TelemetryRun, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if !accounted() {
		return nil, errors.New("this machine does not tell what a process uses")
	}
	ctx, cancel := bounded(ctx, 3*time.Duration(o.Pairs)*o.Duration)
	defer cancel()
	c := &cluster{}
	defer func() { err = errors.Join(told(ctx, err), c.close()) }()
	db, err := c.open(ctx, "", ownSettings())
	if err != nil {
		return nil, err
	}
	collector, err := discard(ctx, &c.undo)
	if err != nil {
		return nil, err
	}
	arms := []struct {
		name string
		env  []string
		v    *service
		cpu  []float64
	}{
		{name: "nothing", env: []string{"IDEMSVC_LOG_LEVEL=error"}},
		{name: "log"},
		{name: "log, metrics, 1 % of traces", env: []string{
			"IDEMSVC_METRICS_LISTEN=127.0.0.1:0", "OTEL_METRICS_EXPORTER=none", "OTEL_EXPORTER_OTLP_ENDPOINT=" + collector,
			"OTEL_TRACES_SAMPLER=parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG=0.01",
		}},
	}
	for i := range arms {
		a := &arms[i]
		a.v, err = serve(ctx, o.Program, db.url, a.env...)
		if a.v != nil {
			c.later(a.v.close)
		}
		if err != nil {
			return nil, err
		}
	}
	for round := range o.Pairs + 1 {
		o.say("round %d of %d", round, o.Pairs) // the first one only warms up
		for k := range arms {
			a := &arms[(k+round)%len(arms)]
			before, err := used(ctx, db, c.postmaster, a.v.pid())
			if err != nil {
				return nil, err
			}
			events, _, err := work(ctx, &arm{family: a.name, callers: telemetryCallers, step: func(ctx context.Context, caller int) (int, error) {
				return unaryEvent(ctx, a.v, caller)
			}}, o.Duration)
			if err != nil {
				return nil, err
			}
			after, err := used(ctx, db, c.postmaster, a.v.pid())
			if err != nil {
				return nil, err
			}
			if round > 0 {
				a.cpu = append(a.cpu, float64(after.minus(before).server)/float64(max(events, 1)))
			}
		}
	}
	r = &TelemetryRun{Machine: machine(c.dir), Rounds: o.Pairs}
	for i := range arms {
		ratios := make([]float64, o.Pairs)
		for k := range ratios {
			ratios[k] = arms[i].cpu[k] / max(arms[0].cpu[k], 1e-9)
		}
		r.Arms = append(r.Arms, TelemetryArm{Name: arms[i].name, CPU: median(arms[i].cpu), More: intervalOf(ratios)})
	}
	return r, nil
}

// discard is a collector that takes everything and keeps nothing.
func discard(ctx context.Context, u *undo) (url string, err error) {
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	srv := &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/x-protobuf")
	})}
	go func() { _ = srv.Serve(lis) }()
	u.later(srv.Close)
	return "http://" + lis.Addr().String(), nil
}

// Text writes the report for people.
func (r *TelemetryRun) Text(out io.Writer) error {
	_, err := fmt.Fprintf(out, "The server's CPU for an event, %d callers, %d rounds:\n", telemetryCallers, r.Rounds)
	for i, a := range r.Arms {
		goal := ""
		if i == len(r.Arms)-1 {
			goal = fmt.Sprintf(" (goal: at most %.2f, reached: %s)", telemetryGoal, reached(a.More.Median <= telemetryGoal))
		}
		if err == nil {
			_, err = fmt.Fprintf(out, "  %-28s %5.1f µs, %.2f [%.2f, %.2f] times that of nothing%s\n", a.Name, a.CPU, a.More.Median, a.More.Low, a.More.High, goal)
		}
	}
	return err
}
