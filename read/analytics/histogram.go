package analytics

import "math"

// bins are the bins of a histogram, equally wide, between two ends.
type bins struct {
	lo, hi float64
	n      int
	// first is where the first bin would begin if it was not cut at lo: half a
	// width before, when the bins' centers lie on the ends.
	first, width float64
}

// binsOf lays the bins for sorted values.
func (s Spec) binsOf(values []float64) bins {
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
	b.first, b.width = b.lo, b.hi/float64(b.n)-b.lo/float64(b.n)
	if s.Centered && b.n > 1 {
		b.width = b.hi/float64(b.n-1) - b.lo/float64(b.n-1)
		b.first -= b.width / 2
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
	default:
		return b.first + float64(i)*b.width
	}
}

// of is the bin of a value, -1 for one beyond the ends.
func (b bins) of(v float64) int {
	if v < b.lo || v > b.hi {
		return -1
	}
	i := 0
	if b.width > 0 {
		i = int(min(max((v-b.first)/b.width, 0), float64(b.n-1)))
	}
	// Division rounds; the intervals that are shown decide.
	for i > 0 && v < b.start(i) {
		i--
	}
	for i < b.n-1 && v >= b.start(i+1) {
		i++
	}
	return i
}

// histogram counts sorted values in bins; there is at least one.
func (s Spec) histogram(values []float64) []Bin {
	b := s.binsOf(values)
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
