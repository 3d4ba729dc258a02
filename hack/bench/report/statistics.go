package report

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Percentile returns the smallest value that at least p percent of the values do not
// exceed: the nearest rank. p is in (0, 100]. It returns 0 if there are no values.
func Percentile(values []time.Duration, p float64) time.Duration {
	return rank(values, p)
}

// median returns the median by the nearest rank.
func median(values []float64) float64 { return rank(values, 50) }

func rank[T cmp.Ordered](values []T, p float64) T {
	if len(values) == 0 {
		var none T
		return none
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(math.Ceil(p/100*float64(len(sorted))))-1]
}
