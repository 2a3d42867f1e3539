package bench

import (
	"math/rand/v2"
	"slices"
)

// resamples is how often the bootstrap draws.
const resamples = 4000

// Interval is a median and where it lies with 95 % certainty, by bootstrap.
type Interval struct {
	Low    float64 `json:"low"`
	Median float64 `json:"median"`
	High   float64 `json:"high"`
}

func median(values []float64) float64 {
	v := slices.Clone(values)
	slices.Sort(v)
	n := len(v)
	if n == 0 {
		return 0
	}
	return (v[(n-1)/2] + v[n/2]) / 2
}

func intervalOf(values []float64) Interval {
	if len(values) == 0 {
		return Interval{}
	}
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same numbers give the same interval
	medians := make([]float64, resamples)
	draw := make([]float64, len(values))
	for i := range medians {
		for j := range draw {
			draw[j] = values[rng.IntN(len(values))]
		}
		medians[i] = median(draw)
	}
	slices.Sort(medians)
	return Interval{medians[resamples*25/1000], median(values), medians[resamples*975/1000-1]}
}

// quantile is the value below which a share of the sorted values lies.
func quantile[T int64 | float64](sorted []T, share float64) T {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}
