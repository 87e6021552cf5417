package analytics

import "slices"

// Stats returns the names of the numbers that a request can choose. Source:
// deploy/docs/api.md, statistics.
func Stats() []string {
	return []string{"count", "count_positive", "sum", "mean", "min", "max", "p50", "p90", "p95", "p99", "hist", "freq"}
}

// Only returns the chosen numbers of a metric, besides its type and count. The
// percentiles are members of their own, not of pcts.
func (m Metric) Only(stats []string) Metric {
	out := Metric{Type: m.Type, Count: m.Count}
	percentile := func(key string) *float64 {
		if v, ok := m.Pcts[key]; ok {
			return &v
		}
		return nil
	}
	for _, stat := range stats {
		switch stat {
		case "count_positive":
			out.CountPositive = &m.positive
		case "sum":
			out.Sum = m.Sum
		case "mean":
			out.Mean = m.Mean
		case "min":
			out.Min = m.Min
		case "max":
			out.Max = m.Max
		case "p50":
			out.P50 = percentile(stat)
		case "p90":
			out.P90 = percentile(stat)
		case "p95":
			out.P95 = percentile(stat)
		case "p99":
			out.P99 = percentile(stat)
		case "hist":
			out.Hist = m.Hist
		case "freq":
			out.Freq = m.Freq
		}
	}
	return out
}

// countPositive returns how many of the sorted values are above 0.
func countPositive(sorted []float64) uint64 {
	first, _ := slices.BinarySearchFunc(sorted, 0, func(v, _ float64) int {
		if v > 0 {
			return 1
		}
		return -1
	})
	return uint64(len(sorted) - first) //nolint:gosec // first is at most the length
}
