package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is what was measured.
type Report struct {
	Machine  string        `json:"machine"`
	Database []string      `json:"database"`
	Pairs    int           `json:"pairs"`
	Duration time.Duration `json:"duration_ns"`
	Rows     []Row         `json:"rows"`
}

// Row is one arm. An event is a claim and a completion, or one answer to a duplicate.
type Row struct {
	Arm     string `json:"arm"`
	Callers int    `json:"callers"`
	Base    string `json:"base,omitempty"`
	What    string `json:"what"`
	// Ratio is the median of the rounds' ratios to the base; Low and High enclose it with
	// 95 % certainty. 0 for a base.
	Low   float64 `json:"ratio_low,omitempty"`
	Ratio float64 `json:"ratio,omitempty"`
	High  float64 `json:"ratio_high,omitempty"`
	// PerSecond is the median rate.
	PerSecond float64 `json:"events_per_second"`
	// CPU in microseconds per event. Postgres is -1 where the database is elsewhere.
	Postgres float64 `json:"postgres_cpu_us"`
	Server   float64 `json:"server_cpu_us"`
	Client   float64 `json:"client_cpu_us"`
	// WAL is bytes of write-ahead log per event.
	WAL float64 `json:"wal_bytes"`
}

func (s *site) report(arms []*arm, runs [][]run, o Options) *Report {
	r := &Report{Machine: machine(), Database: s.settings, Pairs: o.Pairs, Duration: o.Duration}
	of := map[*arm][]run{}
	for i, a := range arms {
		of[a] = runs[i]
	}
	for _, a := range arms {
		r.Rows = append(r.Rows, s.row(a, of[a], of[a.base]))
	}
	return r
}

func (s *site) row(a *arm, runs, base []run) Row {
	w := Row{Arm: a.name, Callers: a.callers, What: a.what}
	var sum run
	var rates, ratios []float64
	for i := range runs {
		rates = append(rates, runs[i].rate())
		sum.events += runs[i].events
		sum.use = sum.use.minus(usage{}.minus(runs[i].use))
		if a.base != nil && base[i].events > 0 {
			ratios = append(ratios, runs[i].rate()/base[i].rate())
		}
	}
	w.PerSecond = median(rates)
	if a.base != nil {
		w.Base, w.Ratio = a.base.String(), median(ratios)
		w.Low, w.High = interval(ratios)
	}
	n := float64(max(sum.events, 1))
	w.Postgres, w.Server, w.Client, w.WAL = float64(sum.use.postgres)/n, float64(sum.use.server)/n, float64(sum.use.client)/n, float64(sum.use.wal)/n
	if s.postmaster == 0 {
		w.Postgres = -1
	}
	return w
}

// Text writes the report for people.
func (r *Report) Text(out io.Writer) error {
	fmt.Fprintf(out, "%s\nPostgreSQL: %s\n%d rounds of %s for each arm; the server logs errors only. Only the ratios count: rates drift with the machine.\n\n",
		r.Machine, strings.Join(r.Database, ", "), r.Pairs, r.Duration)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "arm\tcallers\tratio 95% from\tmedian\tto\tagainst\tevents/s\tPG CPU µs\tserver CPU µs\tclient CPU µs\tWAL bytes\t")
	for _, x := range r.Rows {
		ratio := "\t\t\t\t"
		if x.Base != "" {
			ratio = fmt.Sprintf("%.2f\t%.2f\t%.2f\t%s\t", x.Low, x.Ratio, x.High, x.Base)
		}
		pg := "?"
		if x.Postgres >= 0 {
			pg = fmt.Sprintf("%.0f", x.Postgres)
		}
		fmt.Fprintf(w, "%s\t%d\t%s%.0f\t%s\t%.0f\t%.0f\t%.0f\t\n", x.Arm, x.Callers, ratio, x.PerSecond, pg, x.Server, x.Client, x.WAL)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, "\nCPU and WAL are per event: a claim and a completion, or one answer to a duplicate.")
	return err
}
