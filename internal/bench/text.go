package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// enoughPairs is how many rounds a measurement wants.
const enoughPairs = 9

// table writes lines of cells, the first column to the left, the others to the right.
type table struct {
	out   io.Writer
	lines [][]string
}

func (t *table) line(cells ...string) { t.lines = append(t.lines, cells) }

func (t *table) flush() error {
	wide := 0
	for _, cells := range t.lines {
		wide = max(wide, len(cells[0]))
	}
	w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, cells := range t.lines {
		fmt.Fprintf(w, "%-*s\t%s\t\n", wide, cells[0], strings.Join(cells[1:], "\t"))
	}
	return w.Flush()
}

// figure is a number, or a question mark for one that is not known.
func figure(v float64, digits int) string {
	if v < 0 {
		return "?"
	}
	return fmt.Sprintf("%.*f", digits, v)
}

// against is ours beside the base's.
func against(ours, base float64, digits int) string {
	if ours < 0 && base < 0 {
		return "?"
	}
	return figure(ours, digits) + " / " + figure(base, digits)
}

// reached says whether the end of an interval that counts is on the good side of a goal.
func reached(ok bool) string {
	if ok {
		return "yes"
	}
	return "no"
}

func megabytes(n int64) string { return fmt.Sprintf("%.0f MB", float64(n)/1e6) }

func (s *Setting) text(out io.Writer) {
	fmt.Fprintf(out, "%s\nPostgreSQL: %s\n%d rounds of %s for each arm. Only ratios count: rates drift with the machine.\n",
		strings.Join(s.Machine, "; "), strings.Join(s.Database, ", "), s.Pairs, s.Duration)
	if s.Pairs < enoughPairs {
		fmt.Fprintf(out, "Fewer than %d rounds: a first impression.\n", enoughPairs)
	}
	fmt.Fprintln(out)
}

// Text writes the report for people.
func (c *Comparison) Text(out io.Writer) error {
	c.text(out)
	if len(c.Rows) > 0 {
		if err := rowsText(out, c.Rows); err != nil {
			return err
		}
		fmt.Fprintf(out, "\nratio: events/s, ours to the base's; median, and its 95 %% interval's lower end, which counts.\n"+
			"CPU ratio: CPU of PostgreSQL and server for an event, the base's to ours; it drifts less, and decides where a goal is near 1.\n"+
			"Columns with a slash: ours / the base's. CPU, WAL and buffers are for an event: a claim and its completion, or one answer to a duplicate.\n"+
			"%d claims were alive beside the arms; the server had %d connections to the database.\n", c.LiveClaims, c.Connections)
		if c.Memory > 0 {
			fmt.Fprintf(out, "At 256 callers the server's process had at most %s in memory (goal: under 150 MB).\n", megabytes(c.Memory))
		}
		if c.Handlers > 0 {
			fmt.Fprintf(out, "The inbox had %d handlers; an event is a receipt, its acquisition and its completion; the CPU ratio counts that of the callers, too.\n", c.Handlers)
		}
		if c.River != "" {
			fmt.Fprintf(out, "River was fastest with %s.\n", c.River)
		}
		marginText(out, c.Rows)
		fmt.Fprintf(out, "\n%s", c.legend)
	}
	if len(c.Held) > 0 {
		fmt.Fprintf(out, "\nBeside a writing transaction of somebody else that stayed open (%s in all):\n\n", c.HeldFor.Round(time.Second))
		if err := rowsText(out, c.Held); err != nil {
			return err
		}
	}
	if len(c.Latency) > 0 {
		return latencyText(out, c.Latency)
	}
	return nil
}

func rowsText(out io.Writer, rows []Row) error {
	t := &table{out: out}
	t.line("arm", "against", "ratio from", "median", "goal", "reached", "CPU ratio from", "median", "reached", "events/s", "PG CPU µs", "server CPU µs", "WAL bytes", "buffers")
	for _, w := range rows {
		goal, byRate, byCPU, cpuLow, cpuMedian := "", "", "", "", ""
		if w.Goal > 0 {
			goal, byRate = fmt.Sprintf("≥ %.2f", w.Goal), reached(w.Ratio.Low >= w.Goal)
		}
		if w.CPURatio != nil {
			cpuLow, cpuMedian = figure(w.CPURatio.Low, 2), figure(w.CPURatio.Median, 2)
			if w.Goal > 0 {
				byCPU = reached(w.CPURatio.Low >= w.Goal)
			}
		}
		cells := []string{
			w.Arm, w.Base, figure(w.Ratio.Low, 2), figure(w.Ratio.Median, 2), goal, byRate, cpuLow, cpuMedian, byCPU,
			against(w.Ours.PerSecond, w.Bases.PerSecond, 0),
		}
		if w.Echo { // which has no database
			cells = append(cells, "", figure(w.Ours.Server, 0), "", "")
		} else {
			cells = append(cells, against(w.Ours.Postgres, w.Bases.Postgres, 0), figure(w.Ours.Server, 0),
				against(w.Ours.WAL, w.Bases.WAL, 0), against(w.Ours.Buffers, w.Bases.Buffers, 1))
		}
		t.line(cells...)
	}
	if err := t.flush(); err != nil {
		return err
	}
	for _, w := range rows {
		if w.GoalPostgres > 0 && w.PostgresRatio != nil {
			fmt.Fprintf(out, "%s: CPU of PostgreSQL for an event is %.2f of %s's (at most %.2f; goal: ≤ %.2f, reached: %s).\n",
				w.Arm, w.PostgresRatio.Median, w.Base, w.PostgresRatio.High, w.GoalPostgres, reached(w.PostgresRatio.High <= w.GoalPostgres))
		}
	}
	return nil
}

// marginText says what is added to a business transaction.
func marginText(out io.Writer, rows []Row) {
	for _, w := range rows {
		if w.Base != "business64" {
			continue
		}
		fmt.Fprintf(out, "%s adds to a business transaction: %.0f µs of PostgreSQL's CPU, %.0f µs of the server's, %.0f bytes of WAL",
			w.Arm, w.Ours.Postgres-w.Bases.Postgres, max(w.Ours.Server, 0), w.Ours.WAL-w.Bases.WAL)
		if w.Ours.Buffers >= 0 && w.Bases.Buffers >= 0 {
			fmt.Fprintf(out, ", %.1f buffers", w.Ours.Buffers-w.Bases.Buffers)
		}
		fmt.Fprintln(out, ".")
	}
}

func latencyText(out io.Writer, list []Latency) error {
	fmt.Fprintf(out, "\nClaims by a fixed schedule, in ms from the moment each was due, each side at a share of its own greatest rate:\n\n")
	t := &table{out: out}
	t.line("share", "claims/s", "p50", "p99", "p99.9", "missed")
	for _, l := range list {
		for _, x := range []struct {
			name string
			*Waits
		}{{"service", &l.Service}, {"direct", &l.Direct}} {
			t.line(fmt.Sprintf("%.0f %% %s", 100*l.Share, x.name), figure(x.PerSecond, 0), milliseconds(x.P50), milliseconds(x.P99), milliseconds(x.P999), fmt.Sprint(x.Missed))
		}
	}
	if err := t.flush(); err != nil {
		return err
	}
	for _, l := range list {
		fmt.Fprintf(out, "At %.0f %%: p99 is %.2f of direct SQL's (at most %.2f; goal: ≤ %.0f, reached: %s).\n",
			100*l.Share, l.P99Ratio.Median, l.P99Ratio.High, l.Goal, reached(l.P99Ratio.High <= l.Goal))
	}
	return nil
}

func milliseconds(us int64) string { return fmt.Sprintf("%.2f", float64(us)/1000) }
