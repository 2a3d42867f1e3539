package demo

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Report is what both handlers have done with the same storm.
type Report struct {
	Seed      uint64 `json:"seed"`
	Payloads  int    `json:"payloads"`
	Consumers int    `json:"consumers"`
	Naive     Column `json:"naive"`
	Guarded   Column `json:"idemsvc"`
}

// Column is what one handler has done, counted in the tables.
type Column struct {
	Events     int64 `json:"events"`
	Deliveries int64 `json:"deliveries"` // requests, with the provider's repeats
	// RowsDoubled are rows of the ledger beyond the first of an event.
	RowsDoubled int64 `json:"rows_doubled"`
	// Lost are events without their row, their e-mail or their charge.
	Lost int64 `json:"lost"`
	// StaleOverwritten are resources whose newest state was written and then overwritten
	// by an older one.
	StaleOverwritten int64 `json:"stale_overwritten"`
	// EffectsTwice are e-mails and charges beyond the first of an event.
	EffectsTwice int64 `json:"side_effects_run_twice"`
	// MarkersMet are events whose row a later attempt found, because the one that wrote it
	// had died. KeysMet are e-mails and charges that were asked for again by their
	// idempotency key, for the same reason.
	MarkersMet int64 `json:"markers_met"`
	KeysMet    int64 `json:"keys_met"`
	// Killed is the number of consumer processes that were killed.
	Killed  int     `json:"consumers_killed"`
	Seconds float64 `json:"seconds"`
}

func (c *Column) count(ctx context.Context, db *pgxpool.Pool) error {
	return db.QueryRow(ctx, countSQL).Scan(
		&c.Events, &c.Deliveries, &c.RowsDoubled, &c.Lost, &c.StaleOverwritten, &c.EffectsTwice, &c.MarkersMet, &c.KeysMet)
}

// Clean reports whether every event was processed exactly once.
func (c Column) Clean() bool {
	return c.RowsDoubled == 0 && c.Lost == 0 && c.StaleOverwritten == 0 && c.EffectsTwice == 0
}

// Text is the report for people, in colour if it is asked for.
func (r *Report) Text(colour bool) string {
	var out strings.Builder
	fmt.Fprintf(&out, "\nThe same storm twice: %s events of %s, delivered 1 to 5 times each,\n"+
		"shuffled, in bursts, and again until answered 2xx, to %s\n"+
		"that are killed in the middle of their work.\n\n",
		grouped(r.Naive.Events), some(int64(r.Payloads), "payload"), some(int64(r.Consumers), "consumer process"))
	fmt.Fprintf(&out, "  %-24s%15s%15s\n  %s\n", "", "naive handler", "with idemsvc", strings.Repeat("─", 54))
	row := func(what string, left, right int64, pain bool) {
		fmt.Fprintf(&out, "  %-24s%s%s\n", what, cell(left, pain, colour), cell(right, pain, colour))
	}
	row("events", r.Naive.Events, r.Guarded.Events, false)
	row("deliveries", r.Naive.Deliveries, r.Guarded.Deliveries, false)
	row("rows doubled", r.Naive.RowsDoubled, r.Guarded.RowsDoubled, true)
	row("lost", r.Naive.Lost, r.Guarded.Lost, true)
	row("stale overwritten", r.Naive.StaleOverwritten, r.Guarded.StaleOverwritten, true)
	row("side effects run twice", r.Naive.EffectsTwice, r.Guarded.EffectsTwice, true)
	out.WriteString("\nCounted by SQL in the tables of the business, its mail and its payment service.\n")
	if r.Guarded.MarkersMet+r.Guarded.KeysMet > 0 {
		fmt.Fprintf(&out, "Where a process died between doing and saying so, the next attempt met\n"+
			"its row's marker (%s) or the other side's idempotency key (%s).\n",
			some(r.Guarded.MarkersMet, "event"), some(r.Guarded.KeysMet, "effect"))
	}
	return out.String()
}

// cell is a number in its column.
func cell(n int64, pain, colour bool) string {
	text := fmt.Sprintf("%15s", grouped(n))
	switch {
	case !pain || !colour:
		return text
	case n == 0:
		return "\x1b[32m" + text + "\x1b[0m"
	default:
		return "\x1b[31m" + text + "\x1b[0m"
	}
}

// some is a number of things.
func some(n int64, what string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(what, "s"):
		what += "es"
	default:
		what += "s"
	}
	return grouped(n) + " " + what
}

// grouped is a number with commas.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
