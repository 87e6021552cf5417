package filtersql

import (
	"fmt"
	"math"
	"slices"

	"colonnade/domain/filter"
	"colonnade/read/sqltext"
)

// numberColumn is a path whose value is always a number with a column of its own; NaN
// is absence. Where unindexed holds the value may also be a whole number beyond maxExact,
// which only the payload has.
func numberColumn(c string, long sqltext.Node, t filter.Test) (pair, error) {
	switch t := t.(type) {
	case filter.Exists:
		return exactly(sqltext.Or(sqltext.Expr("NOT isNaN("+c+")"), long)), nil
	case filter.Equal:
		return amongNumbers(c, long, []any{t.Value}), nil
	case filter.Member:
		if t.All && !sameValue(t.Values) {
			return exactly(sqltext.Constant(false)), nil
		}
		return amongNumbers(c, long, t.Values), nil
	case filter.Number:
		n := sqltext.Expr(c+" "+sign(t.Order)+" ?", t.Value)
		switch {
		case long == sqltext.Constant(false):
			return exactly(n), nil
		case beyond(t):
			return between(sqltext.Or(n, long), n), nil
		case t.Order >= filter.Greater: // what is counted is not negative, so that it is more than any number below
			return exactly(sqltext.Or(n, long)), nil
		default:
			return exactly(n), nil
		}
	case filter.Contains, filter.Lexical, filter.Pattern:
		return exactly(sqltext.Constant(false)), nil
	default:
		return pair{}, fmt.Errorf("filtersql: unknown test %T", t)
	}
}

// counted returns the condition that a number is one that its column cannot hold.
// Durations are measured and never exceed it: the row decides.
func (a AttributePath) counted(c string) sqltext.Node {
	if c == "duration_ms" {
		return sqltext.Constant(false)
	}
	return a.Unindexed()
}

// beyond reports whether a test compares with a number that sums are not exact for.
func beyond(t filter.Test) bool {
	large := func(v any) bool {
		switch v := v.(type) {
		case int64:
			return v <= -maxExact || v >= maxExact
		case float64:
			return math.Abs(v) >= maxExact
		default:
			return false
		}
	}
	switch t := t.(type) {
	case filter.Equal:
		return large(t.Value)
	case filter.Member:
		return slices.ContainsFunc(t.Values, large)
	case filter.Number:
		return large(t.Value)
	default:
		return false
	}
}

// amongNumbers holds where a number column has one of several values; long holds where
// it may be one that the column cannot hold.
func amongNumbers(c string, long sqltext.Node, of []any) pair {
	var numbers []float64
	for _, v := range of {
		switch v := v.(type) {
		case int64:
			// Rounded it would be equal to what is another number.
			if f := float64(v); f < 1<<63 && int64(f) == v {
				numbers = append(numbers, f)
			}
		case float64:
			numbers = append(numbers, v)
		}
	}
	n := sqltext.Among(c, numbers)
	if long == sqltext.Constant(false) || !beyond(filter.Member{Values: of}) {
		return exactly(n)
	}
	return between(sqltext.Or(n, long), n)
}
