package bench

import (
	"math/rand/v2"
	"slices"
)

// resamples is how often the bootstrap draws.
const resamples = 4000

func median(values []float64) float64 {
	v := slices.Clone(values)
	slices.Sort(v)
	n := len(v)
	if n == 0 {
		return 0
	}
	return (v[(n-1)/2] + v[n/2]) / 2
}

// interval is where the median lies with 95 % certainty, by bootstrap.
func interval(values []float64) (low, high float64) {
	if len(values) == 0 {
		return 0, 0
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
	return medians[resamples*25/1000], medians[resamples*975/1000-1]
}
