package analytics

import (
	"cmp"
	"math"
	"slices"

	"colonnade/domain"
	"colonnade/read/histogram"
)

// Metric is what a spec made of the values in a bucket. Source: contract §3.6.
// A number beyond what a float64 holds is left out.
type Metric struct {
	Type  Type   `json:"type"`
	Count uint64 `json:"count"`

	Sum   *float64 `json:"sum,omitempty"`
	Mean  *float64 `json:"mean,omitempty"`
	Min   *float64 `json:"min,omitempty"`
	Max   *float64 `json:"max,omitempty"`
	Range *float64 `json:"range,omitempty"`
	// Pcts are percentiles, interpolated linearly between the two nearest values.
	Pcts map[string]float64 `json:"pcts,omitempty"`
	// IQRs are distances between two percentiles, PSCs the same relative to the
	// median. PSCs are left out where that says nothing: where the values change
	// sign or the median is next to nothing.
	IQRs map[string]float64 `json:"iqrs,omitempty"`
	PSCs map[string]float64 `json:"pscs,omitempty"`
	Hist []histogram.Bin    `json:"hist,omitempty"`
	// Freq is how often each value stands there, the most frequent first; Uniq
	// are the values in the same order.
	Freq []Frequency `json:"freq,omitempty"`
	Uniq []any       `json:"uniq,omitempty"`

	// The members that only a request with stats has: see Only.
	CountPositive *uint64  `json:"count_positive,omitempty"`
	P50           *float64 `json:"p50,omitempty"`
	P90           *float64 `json:"p90,omitempty"`
	P95           *float64 `json:"p95,omitempty"`
	P99           *float64 `json:"p99,omitempty"`

	// Positive is the number of values above 0, from which Only sets CountPositive.
	Positive uint64 `json:"-"`
}

// Frequency is how often a value stands there, and its share.
type Frequency struct {
	Value   any     `json:"value"`
	Count   uint64  `json:"count"`
	Density float64 `json:"density"`
}

// entries is how many numbers it has beside its sums.
func (m *Metric) entries() int {
	return len(m.Pcts) + len(m.IQRs) + len(m.PSCs) + len(m.Hist) + len(m.Freq)
}

// level is a percentile: its key and its share of the values.
type level struct {
	key  string
	rank float64
}

func levels() []level {
	return []level{
		{"p00.05", .05},
		{"p00.1", .1},
		{"p00.5", .5},
		{"p01", 1},
		{"p02.5", 2.5},
		{"p05", 5},
		{"p10", 10},
		{"p12.5", 12.5},
		{"p20", 20},
		{"p25", 25},
		{"p30", 30},
		{"p37.5", 37.5},
		{"p40", 40},
		{"p50", 50},
		{"p60", 60},
		{"p62.5", 62.5},
		{"p70", 70},
		{"p75", 75},
		{"p80", 80},
		{"p87.5", 87.5},
		{"p90", 90},
		{"p95", 95},
		{"p97.5", 97.5},
		{"p99", 99},
		{"p99.5", 99.5},
		{"p99.9", 99.9},
		{"p99.95", 99.95},
	}
}

// between are the intervals of iqrs and pscs: the name's end and the two percentiles.
func between() [][3]string {
	return [][3]string{
		{"25", "p37.5", "p62.5"},
		{"50", "p25", "p75"},
		{"75", "p12.5", "p87.5"},
		{"80", "p10", "p90"},
		{"90", "p05", "p95"},
		{"95", "p02.5", "p97.5"},
		{"99", "p00.5", "p99.5"},
		{"99.9", "p00.05", "p99.95"},
	}
}

// numeric fills in what is made of numbers; there is at least one. It sorts them.
func (s Spec) numeric(m *Metric, values []float64) {
	slices.Sort(values)
	m.Positive = countPositive(values)
	lo, hi, sum := values[0], values[len(values)-1], total(values)
	m.Sum, m.Mean = Finite(sum), Finite(mean(values, sum))
	m.Min, m.Max, m.Range = &lo, &hi, Finite(hi-lo)
	m.Pcts, m.IQRs = map[string]float64{}, map[string]float64{}
	for _, l := range levels() {
		m.Pcts[l.key] = percentile(values, l.rank/100)
	}
	for _, b := range between() {
		if d := Finite(m.Pcts[b[2]] - m.Pcts[b[1]]); d != nil {
			m.IQRs["iqr"+b[0]] = *d
		}
	}
	m.PSCs = spreads(m.Pcts)
	m.Hist = histogram.Of(values, histogram.Options{Bins: s.Bins, Min: s.Min, Max: s.Max, Centered: s.Centered}, share)
	if s.Type == Discrete {
		m.Freq = frequencies(m.Count, runs(values))
	}
}

// Finite is a number as an answer has it: nil for one that is none, or beyond a float64.
func Finite(v float64) *float64 {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return nil
	}
	return &v
}

// total sums without losing what is small beside what is large. Source: Neumaier.
func total(values []float64) float64 {
	var sum, lost float64
	for _, v := range values {
		t := sum + v
		if math.Abs(sum) >= math.Abs(v) {
			lost += (sum - t) + v
		} else {
			lost += (v - t) + sum
		}
		sum = t
	}
	if math.IsInf(sum, 0) {
		return sum
	}
	return sum + lost
}

func mean(values []float64, sum float64) float64 {
	if !math.IsInf(sum, 0) {
		return sum / float64(len(values))
	}
	sum = 0
	for _, v := range values {
		sum += v / float64(len(values))
	}
	return sum
}

// percentile interpolates between the two values next to a rank, as SQL's percentile_cont does.
func percentile(sorted []float64, rank float64) float64 {
	at := rank * float64(len(sorted)-1)
	below := int(at)
	if below+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	a, b, share := sorted[below], sorted[below+1], at-float64(below)
	if d := b - a; !math.IsInf(d, 0) {
		return a + share*d
	}
	return a*(1-share) + b*share
}

// spreads are the intervals relative to the median.
func spreads(pcts map[string]float64) map[string]float64 {
	low, median, high := pcts["p01"], math.Abs(pcts["p50"]), pcts["p99"]
	if low < 0 && high > 0 || low > 0 && high < 0 || median < math.Abs(high)/100 || median < math.Abs(low)/100 {
		return nil
	}
	out := map[string]float64{}
	for _, b := range between() {
		d := pcts[b[2]] - pcts[b[1]]
		if median != 0 {
			d /= pcts["p50"]
		} else {
			d = 0
		}
		if v := Finite(d); v != nil {
			out["psc"+b[0]] = *v
		}
	}
	return out
}

// few refuses a frequency table of more different numbers than a limit; those of
// texts are bounded as they are gathered.
func (s Spec) few(of []gathered, limit int) error {
	if s.Type != Discrete {
		return nil
	}
	values := of[0].numbers
	slices.Sort(values)
	different := 0
	for i, v := range values {
		if i > 0 && v == values[i-1] {
			continue
		}
		if different++; different > limit {
			return domain.E(domain.Rejected, "%s has more than %d different values in one bucket. Use a spec of type numeric/continuous, or narrow the query.", s.Path, limit)
		}
	}
	return nil
}

// runs counts equal values of a sorted list.
func runs(sorted []float64) []Frequency {
	var out []Frequency
	for i, v := range sorted {
		if i == 0 || v != sorted[i-1] {
			out = append(out, Frequency{Value: v})
		}
		out[len(out)-1].Count++
	}
	slices.SortStableFunc(out, func(a, b Frequency) int { return cmp.Compare(b.Count, a.Count) })
	return out
}

// byCount orders words by how often they stand there, then by themselves.
func byCount(words map[string]uint64) []Frequency {
	names := make([]string, 0, len(words))
	for w := range words {
		names = append(names, w)
	}
	slices.Sort(names)
	out := make([]Frequency, len(names))
	for i, w := range names {
		out[i] = Frequency{Value: w, Count: words[w]}
	}
	slices.SortStableFunc(out, func(a, b Frequency) int { return cmp.Compare(b.Count, a.Count) })
	return out
}

func frequencies(count uint64, freq []Frequency) []Frequency {
	for i := range freq {
		freq[i].Density = share(freq[i].Count, count)
	}
	return freq
}

// share is rounded to five decimals.
func share(part, of uint64) float64 {
	if of == 0 {
		return 0
	}
	return math.Round(float64(part)/float64(of)*1e5) / 1e5
}
