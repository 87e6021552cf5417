package analytics

import (
	"cmp"
	"slices"

	"colonnade/read/analyticssql"
)

const (
	// maxGroups is the number of fields that a question groups by.
	maxGroups = 2
	// maxCells bounds the groups of all buckets together.
	maxCells = 200_000
)

// Grouping divides the spans of a bucket.
type Grouping struct {
	// GroupBy names one or two fields; none means no groups.
	GroupBy []analyticssql.Group
	// Top is the number of groups that come by themselves: those with the highest value over
	// the whole window, by the Stat of the metric of Path, or without a Path by the number of
	// spans. All others are one group.
	Top        int
	Path, Stat string
}

// Group is the metrics of a group of spans in a bucket.
type Group struct {
	// Key has the value of each field, nil for spans without one. It is nil for all groups
	// beyond the top ones together.
	Key     []*string
	Spans   uint64
	Metrics map[string]Metric
}

// key is the values of the fields of a group, empty where spans have none.
type key [maxGroups]string

// cell is a group in bucket n; the key is empty without groups.
type cell struct {
	n   int64
	key key
}

// byBucket returns what was gathered by bucket.
func byBucket(cells map[cell]*bucket) map[int64]map[key]*bucket {
	out := map[int64]map[key]*bucket{}
	for at, b := range cells {
		if out[at.n] == nil {
			out[at.n] = map[key]*bucket{}
		}
		out[at.n][at.key] = b
	}
	return out
}

// merge returns what groups gathered together, in memory of its own if there are groups.
func (t *tabulation) merge(groups map[key]*bucket) *bucket {
	if len(t.question.GroupBy) == 0 {
		return groups[key{}]
	}
	whole := &bucket{measures: make([]gathered, len(t.measures))}
	for _, b := range groups {
		whole.add(b)
	}
	return whole
}

// ranks returns the top groups over the whole window, the first with rank 0; nil for a
// question without groups.
func (t *tabulation) ranks(cells map[cell]*bucket) map[key]int {
	if len(t.question.GroupBy) == 0 {
		return nil
	}
	whole := map[key]*bucket{}
	for at, b := range cells {
		if whole[at.key] == nil {
			whole[at.key] = &bucket{measures: make([]gathered, len(t.measures))}
		}
		whole[at.key].add(b)
	}
	type ranked struct {
		key   key
		value float64
		has   bool
	}
	all := make([]ranked, 0, len(whole))
	by := slices.IndexFunc(t.question.Specs, func(s Spec) bool { return s.Path == t.question.Path })
	for k, b := range whole {
		r := ranked{key: k, value: float64(b.spans), has: true}
		if by >= 0 {
			s := t.question.Specs[by]
			m, ok := s.metric(b.measures[t.first[by] : t.first[by]+len(s.measures())])
			if r.value, r.has = m.stat(t.question.Stat); !ok {
				r.has = false
			}
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b ranked) int {
		if a.has != b.has {
			return cmp.Compare(rank(b.has), rank(a.has))
		}
		return cmp.Or(cmp.Compare(b.value, a.value), slices.Compare(a.key[:], b.key[:]))
	})
	ranks := map[key]int{}
	for i, r := range all[:min(t.question.Top, len(all))] {
		ranks[r.key] = i
	}
	return ranks
}

func rank(has bool) int {
	if has {
		return 1
	}
	return 0
}

// stat returns one of the numbers that Stats names; ok is false for a number that the
// metric does not have, and for lists.
func (m *Metric) stat(name string) (v float64, ok bool) {
	only := m.Only([]string{name})
	for _, of := range []*float64{only.Sum, only.Mean, only.Min, only.Max, only.P50, only.P90, only.P95, only.P99} {
		if of != nil {
			return *of, true
		}
	}
	switch name {
	case "count":
		return float64(m.Count), true
	case "count_positive":
		return float64(m.Positive), true
	default:
		return 0, false
	}
}

// groups returns the groups of a bucket, the top ones in their order and then the others.
func (t *tabulation) groups(of map[key]*bucket, ranks map[key]int) ([]Group, error) {
	if ranks == nil {
		return nil, nil
	}
	rest := map[key]*bucket{}
	var top []key
	for k, b := range of {
		if _, ok := ranks[k]; ok {
			top = append(top, k)
		} else {
			rest[k] = b
		}
	}
	slices.SortFunc(top, func(a, b key) int { return cmp.Compare(ranks[a], ranks[b]) })
	var out []Group
	add := func(values []*string, b *bucket) error {
		metrics, err := t.metrics(b)
		if err == nil && len(metrics) > 0 {
			out = append(out, Group{values, b.spans, metrics})
		}
		return err
	}
	for _, k := range top {
		if err := add(k.values(len(t.question.GroupBy)), of[k]); err != nil {
			return nil, err
		}
	}
	if len(rest) == 0 {
		return out, nil
	}
	return out, add(nil, t.merge(rest))
}

func (k key) values(n int) []*string {
	out := make([]*string, n)
	for i := range out {
		if k[i] != "" {
			out[i] = &k[i]
		}
	}
	return out
}
