// Package histogram counts numbers in bins of equal width. read/analytics is its only caller.
package histogram

import (
	"math"
	"sort"
)

// Bin is one of a histogram's. Its interval excludes its end, but for the last one's.
type Bin struct {
	// Bin counts from one.
	Bin      int        `json:"bin"`
	Count    uint64     `json:"count"`
	Interval [2]float64 `json:"interval"`
	Density  float64    `json:"density"`
}

// Options are what a histogram is made by.
type Options struct {
	// Bins is the number of bins; zero means the square root of the number of values,
	// rounded up.
	Bins int
	// Min and Max are the ends; nil means those of the values. Values beyond them are in no bin.
	Min, Max *float64
	// Centered lays the center of the first and of the last bin on the ends.
	Centered bool
}

// bins are n bins of a histogram, equally wide, between two ends.
type bins struct {
	lo, hi float64
	n      int
	// parts is how many widths lie between the ends: one less than bins when
	// the centers of the first and the last lie there, which are then cut in half.
	parts    int
	centered bool
}

// binsOf lays the bins for sorted values.
func (s Options) binsOf(values []float64) bins {
	b := bins{lo: values[0], hi: values[len(values)-1], n: s.Bins}
	if s.Max != nil {
		b.hi = *s.Max
		b.lo = min(b.lo, b.hi)
	}
	if s.Min != nil {
		b.lo = *s.Min
		b.hi = max(b.lo, b.hi)
	}
	if b.n == 0 {
		b.n = int(math.Ceil(math.Sqrt(float64(len(values)))))
	}
	if b.lo >= b.hi || len(values) == 1 {
		b.n = 1
	}
	if b.parts = b.n; s.Centered && b.n > 1 {
		b.parts, b.centered = b.n-1, true
	}
	return b
}

// start is where bin i begins, counted from zero; that of bin n is the end of the last.
func (b bins) start(i int) float64 {
	switch i {
	case 0:
		return b.lo
	case b.n:
		return b.hi
	}
	at := float64(i)
	if b.centered {
		at -= .5
	}
	// Multiplied first: a whole number of parts is then met exactly.
	if d := (b.hi - b.lo) * at; !math.IsInf(d, 0) {
		return b.lo + d/float64(b.parts)
	}
	share := at / float64(b.parts)
	return b.lo*(1-share) + b.hi*share
}

// of is the bin of a value, -1 for one beyond the ends.
func (b bins) of(v float64) int {
	if v < b.lo || v > b.hi {
		return -1
	}
	// The last bin that begins at the value or before it.
	return sort.Search(b.n-1, func(i int) bool { return b.start(i+1) > v })
}

// Of counts sorted values in bins; there is at least one value. Densities are what share
// returns of the count of a bin and of all bins.
func Of(values []float64, o Options, share func(part, of uint64) float64) []Bin {
	b := o.binsOf(values)
	out := make([]Bin, b.n)
	for i := range out {
		out[i].Bin, out[i].Interval = i+1, [2]float64{b.start(i), b.start(i + 1)}
	}
	var count uint64
	for _, v := range values {
		if i := b.of(v); i >= 0 {
			out[i].Count++
			count++
		}
	}
	for i := range out {
		out[i].Density = share(out[i].Count, count)
	}
	return out
}
