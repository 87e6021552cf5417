package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
)

// limits are the largest ratios that pass.
type limits struct{ ingest, reads, tail float64 }

// The three services of a pair, in the order of their turns.
const (
	base = iota
	baseAgain
	candidate
	services
)

// turn is what one service measured of one row in one turn.
type turn struct {
	median float64
	// p99 is zero where a turn gives one figure only.
	p99 float64
}

// row is what was measured of one thing.
type row struct {
	name, unit string
	// ingest rows have a limit of their own.
	ingest bool
	turns  [services][]turn
	// failures counts replies that were errors; failure is the last of them.
	failures [services]int
	failure  [services]error
}

// figures are a row as ratios of the medians over the turns.
type figures struct {
	median, p99 [services]float64
	// ratio and tail compare the candidate with the base; own compares the base with itself.
	ratio, tail, own, ownTail float64
}

func (r *row) figures() figures {
	var f figures
	for s := range services {
		f.median[s] = medianOf(r.turns[s], func(t turn) float64 { return t.median })
		f.p99[s] = medianOf(r.turns[s], func(t turn) float64 { return t.p99 })
	}
	f.ratio, f.tail = f.median[candidate]/f.median[base], f.p99[candidate]/f.p99[base]
	f.own, f.ownTail = spread(f.median[base], f.median[baseAgain]), spread(f.p99[base], f.p99[baseAgain])
	return f
}

// spread returns the ratio of two figures, the larger to the smaller.
func spread(a, b float64) float64 { return max(a, b) / min(a, b) }

func medianOf(turns []turn, figure func(turn) float64) float64 {
	all := make([]float64, 0, len(turns))
	for _, t := range turns {
		all = append(all, figure(t))
	}
	return median(all)
}

// median returns the middle, or the mean of the two in the middle; NaN of none.
func median(of []float64) float64 {
	if len(of) == 0 {
		return math.NaN()
	}
	of = slices.Sorted(slices.Values(of))
	middle := len(of) / 2
	if len(of)%2 == 1 {
		return of[middle]
	}
	return (of[middle-1] + of[middle]) / 2
}

// verdict returns what the rule of the fence says of a row. The median passes
// up to its limit or up to the base's own spread, whichever is larger; p99 has
// one limit. A row that the base cannot answer is not compared.
func (r *row) verdict(l limits) string {
	limit := l.reads
	if r.ingest {
		limit = l.ingest
	}
	f := r.figures()
	switch {
	case r.failures[base] > 0 || r.failures[baseAgain] > 0:
		return "not compared: the base answers with errors"
	case r.failures[candidate] > 0:
		return fmt.Sprintf("FAIL: %d errors", r.failures[candidate])
	case len(r.turns[candidate]) == 0 && len(r.turns[base]) > 0:
		return "FAIL: nothing was measured of the candidate"
	case math.IsNaN(f.ratio):
		return "not compared: nothing was measured"
	case f.ratio > max(limit, f.own):
		return "FAIL: median"
	case f.tail > l.tail:
		return "FAIL: p99"
	default:
		return "pass"
	}
}

// table is the rows of one measurement, in their order.
type table []*row

func (t table) failed(l limits) []string {
	var names []string
	for _, r := range t {
		if verdict := r.verdict(l); len(verdict) > 4 && verdict[:4] == "FAIL" {
			names = append(names, r.name)
		}
	}
	return names
}

func (t table) print(out io.Writer, l limits) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "row\tbase\tcandidate\tratio\tbase/base\tp99 base\tp99 candidate\tratio\tbase/base\t")
	for _, r := range t {
		f := r.figures()
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.name,
			amount(f.median[base], r.unit), amount(f.median[candidate], r.unit), ratio(f.ratio), ratio(f.own),
			amount(f.p99[base], r.unit), amount(f.p99[candidate], r.unit), ratio(f.tail), ratio(f.ownTail), r.verdict(l))
		for s, name := range []string{"base", "base", "candidate"} {
			if err := r.failure[s]; err != nil {
				_, _ = fmt.Fprintf(w, "  %s: %v\n", name, err)
			}
		}
	}
	_ = w.Flush() // the terminal is gone when this fails
}

func amount(v float64, unit string) string {
	if math.IsNaN(v) || v == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %s", v, unit)
}

func ratio(v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return fmt.Sprintf("%.2f", v)
}
