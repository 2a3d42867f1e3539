package telemetry

import (
	"context"
	"sync/atomic"
)

// part is what a series keeps under two given values of its first labels. Calls are counted
// under a few combinations, twice or more for each event: to look their series up by all
// values each time takes longer than to count.
type part[T any] struct {
	of   *series[T]
	a, b string
	kept []atomic.Pointer[T]
}

// partOf has room for n combinations of the other labels' values.
func partOf[T any](s *series[T], a, b string, n int) part[T] {
	return part[T]{s, a, b, make([]atomic.Pointer[T], n)}
}

// under is what is kept under the values of the other labels, whose number, below that of
// all of them, is i. Where it is not, they are looked up.
func (p *part[T]) under(i int, c, d string) T {
	if i >= len(p.kept) {
		return p.of.of([]string{p.a, p.b, c, d}[:len(p.of.metric.Labels)])
	}
	if x := p.kept[i].Load(); x != nil {
		return *x
	}
	x := p.of.of([]string{p.a, p.b, c, d}[:len(p.of.metric.Labels)])
	p.kept[i].Store(&x)
	return x
}

// HistogramPart is a histogram under two given values of its first labels.
type HistogramPart struct {
	part[recordOptions]
	to *Histogram
}

// Part is the part of the histogram under the values of its first two labels, with room for
// n combinations of the others'; nil of a nil one.
func (h *Histogram) Part(a, b string, n int) *HistogramPart {
	if h == nil {
		return nil
	}
	return &HistogramPart{partOf(&h.series, a, b, n), h}
}

// Record records one value under the values of the other labels, whose number, below that
// of all of them, is i.
func (p *HistogramPart) Record(ctx context.Context, x float64, i int, c, d string) {
	if p != nil {
		p.to.to.Record(ctx, x, p.under(i, c, d)...)
	}
}
