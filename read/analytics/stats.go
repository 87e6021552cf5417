package analytics

import (
	"slices"
	"sort"
	"strings"

	"colonnade/domain/request"
)

// Stats returns the names of the numbers that a request can choose. Source:
// deploy/docs/api.md, statistics.
func Stats() []string {
	return []string{"count", "count_positive", "sum", "mean", "min", "max", "p50", "p90", "p95", "p99", "hist", "freq"}
}

// CheckStats returns an Invalid error for a name that Stats does not have.
func CheckStats(stats []string) error {
	for i, stat := range stats {
		if !slices.Contains(Stats(), stat) {
			return request.Invalid("value_error", "Input should be one of "+strings.Join(Stats(), ", "), stat, "body", "stats", i)
		}
	}
	return nil
}

// Only returns the chosen numbers of a metric, besides its type and count. The
// percentiles are members of their own, not of pcts.
func (m Metric) Only(stats []string) Metric {
	out := Metric{Type: m.Type, Count: m.Count}
	for _, stat := range stats {
		switch stat {
		case "count_positive":
			out.CountPositive = &m.Positive
		case "hist":
			out.Hist = m.Hist
		case "freq":
			out.Freq = m.Freq
		}
	}
	for stat, to := range map[string]**float64{"p50": &out.P50, "p90": &out.P90, "p95": &out.P95, "p99": &out.P99} {
		if v, ok := m.Pcts[stat]; ok && slices.Contains(stats, stat) {
			*to = &v
		}
	}
	for stat, number := range map[string][2]**float64{"sum": {&out.Sum, &m.Sum}, "mean": {&out.Mean, &m.Mean}, "min": {&out.Min, &m.Min}, "max": {&out.Max, &m.Max}} {
		if slices.Contains(stats, stat) {
			*number[0] = *number[1]
		}
	}
	return out
}

// countPositive returns how many of the sorted values are above 0.
func countPositive(sorted []float64) uint64 {
	notAbove := sort.Search(len(sorted), func(i int) bool { return sorted[i] > 0 })
	return uint64(len(sorted) - notAbove) //nolint:gosec // at most the length
}
