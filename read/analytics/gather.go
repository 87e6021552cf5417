package analytics

import (
	"encoding/binary"
	"fmt"
	"math"

	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
	"colonnade/read/analyticssql"
)

// gathered is what a measure took from the spans of a bucket.
type gathered struct {
	numbers       floats
	count         uint64
	sum           float64
	trues, falses uint64
	strings       map[string]uint64
}

// floats are numbers as a statement gives them: 8 bytes each.
type floats []float64

// Scan implements sql.Scanner for the driver.
func (f *floats) Scan(src any) error {
	raw, ok := src.(string)
	if !ok || len(raw)%8 != 0 {
		return fmt.Errorf("analytics: numbers in a %T of %d bytes", src, len(raw))
	}
	*f = make([]float64, len(raw)/8)
	for i := range *f {
		(*f)[i] = math.Float64frombits(binary.LittleEndian.Uint64([]byte(raw[8*i : 8*i+8])))
	}
	return nil
}

// values is how many values there are.
func (g *gathered) values() uint64 {
	n := g.count + g.trues + g.falses + uint64(len(g.numbers))
	for _, c := range g.strings {
		n += c
	}
	return n
}

// add takes what one statement gathered.
func (g *gathered) add(o *gathered) {
	g.numbers = append(g.numbers, o.numbers...)
	g.count, g.sum = g.count+o.count, g.sum+o.sum
	g.trues, g.falses = g.trues+o.trues, g.falses+o.falses
	for s, n := range o.strings {
		g.put(s, n)
	}
}

func (g *gathered) put(s string, n uint64) {
	if g.strings == nil {
		g.strings = map[string]uint64{}
	}
	g.strings[s] += n
}

// take takes the value at the measure's path if it is of its sort.
func (g *gathered) take(m analyticssql.Measure, s *trace.Span) {
	value, ok := jsonvalue.Lookup(s.Attributes, m.Keys)
	if !ok {
		return
	}
	switch v := value.(type) {
	case int64:
		g.number(m, float64(v))
	case float64:
		g.number(m, v)
	case bool:
		switch {
		case m.Kind != analyticssql.Booleans:
		case v:
			g.trues++
		default:
			g.falses++
		}
	case string:
		if m.Kind == analyticssql.StringCount {
			g.count++
		}
		if m.Kind == analyticssql.Strings {
			g.put(v, 1)
		}
	case []any:
		for _, e := range v {
			if text, ok := e.(string); ok && m.Kind == analyticssql.Elements {
				g.put(text, 1)
			}
		}
	case map[string]any:
		if m.Kind == analyticssql.Objects {
			g.count++
		}
	}
}

func (g *gathered) number(m analyticssql.Measure, v float64) {
	switch m.Kind {
	case analyticssql.Numbers:
		g.numbers = append(g.numbers, v)
	case analyticssql.Sum:
		g.count++
		g.sum += v
	default: // a number is of no other sort
	}
}

// columns are where a statement's row puts the measure.
func (g *gathered) columns(m analyticssql.Measure) []any {
	switch m.Kind {
	case analyticssql.Numbers:
		return []any{&g.numbers}
	case analyticssql.Sum:
		return []any{&g.count, &g.sum}
	case analyticssql.Booleans:
		return []any{&g.trues, &g.falses}
	case analyticssql.Strings:
		return []any{&g.strings}
	case analyticssql.StringCount, analyticssql.Objects:
		return []any{&g.count}
	default:
		return []any{new(uint8)}
	}
}

// bucket is what was gathered of a stretch of time.
type bucket struct {
	// spans is how many match.
	spans    uint64
	measures []gathered
}

// add takes what another bucket gathered.
func (b *bucket) add(o *bucket) {
	b.spans += o.spans
	for i := range o.measures {
		b.measures[i].add(&o.measures[i])
	}
}
