package filterjson

import (
	"math"
	"strings"

	"github.com/google/uuid"

	"colonnade/domain/filter"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
)

func (c *condition) text() (filter.Expr, error) {
	f := filter.Field(c.field)
	switch {
	case c.op == "exists":
		return filter.Text{Field: f, Test: filter.Exists{}}, nil
	case c.value == nil && c.op == "is":
		return filter.Not{Expr: filter.Text{Field: f, Test: filter.Exists{}}}, nil
	case c.op == "is" || c.op == "eq" || c.op == "in":
		in, err := values(c, func(s string) (string, error) { return s, c.short(s) })
		return filter.Text{Field: f, Test: filter.OneOf{In: in}}, err
	default:
		return c.stringTests(func(t filter.StringTest) filter.Expr { return filter.Text{Field: f, Test: t} })
	}
}

// stringTests returns the leaf of gt, lt, gte, lte, btwn and the text operators.
func (c *condition) stringTests(leaf func(filter.StringTest) filter.Expr) (filter.Expr, error) {
	if groupOf(c.op) == textual {
		p, err := c.pattern()
		if err != nil {
			return nil, err
		}
		return leaf(p), nil
	}
	if c.op == "btwn" {
		pair, err := c.pair()
		if err != nil {
			return nil, err
		}
		lo, ok1 := pair[0].(string)
		hi, ok2 := pair[1].(string)
		if !ok1 || !ok2 {
			return nil, c.bad(c.value, "it takes two values of one type")
		}
		if err := c.short(lo + hi); err != nil {
			return nil, err
		}
		return filter.And{leaf(filter.Lexical{Order: filter.GreaterEqual, Value: lo}), leaf(filter.Lexical{Order: filter.LessEqual, Value: hi})}, nil
	}
	s, ok := c.value.(string)
	if !ok {
		return nil, c.bad(c.value, "it takes a string")
	}
	if err := c.short(s); err != nil {
		return nil, err
	}
	return leaf(filter.Lexical{Order: order(c.op), Value: s}), nil
}

func order(op string) filter.Order {
	switch op {
	case "lt":
		return filter.Less
	case "lte":
		return filter.LessEqual
	case "gt":
		return filter.Greater
	default:
		return filter.GreaterEqual
	}
}

func (c *condition) short(s string) error {
	if len(s) > MaxTextBytes {
		return rejected("A value of field %s is longer than %d bytes.", c.field, MaxTextBytes)
	}
	return nil
}

func (c *condition) pair() ([]any, error) {
	pair, ok := c.value.([]any)
	if !ok || len(pair) != 2 {
		return nil, c.bad(c.value, "it takes [low, high]")
	}
	return pair, nil
}

func (c *condition) pattern() (filter.Pattern, error) {
	s, ok := c.value.(string)
	if !ok {
		return filter.Pattern{}, c.bad(c.value, "it takes a string")
	}
	if err := c.short(s); err != nil {
		return filter.Pattern{}, err
	}
	p := filter.Pattern{Value: s, Fold: !c.caseSensitive}
	switch c.op {
	case "startswith":
		p.Form = filter.Prefix
	case "endswith":
		p.Form = filter.Suffix
	case "like":
		p.Form = filter.Like
		if p.Value, ok = canonicalLike(s); !ok {
			return filter.Pattern{}, c.bad(s, "the pattern ends in a lone backslash")
		}
	default:
		p.Form = filter.Substring
		if c.exactMatch {
			p.Form = filter.Whole
		}
	}
	if p.Fold {
		p.Value = filter.Fold(p.Value)
	}
	return p, nil
}

// canonicalLike doubles each backslash that escapes nothing, so that every engine reads the
// pattern alike. ok is false if the last backslash escapes the end.
func canonicalLike(s string) (string, bool) {
	if !strings.Contains(s, `\`) {
		return s, true
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if i+1 == len(s) {
			return "", false
		}
		switch next := s[i+1]; next {
		case '%', '_', '\\':
			b.WriteByte('\\')
			b.WriteByte(next)
			i++
		default:
			b.WriteString(`\\`)
		}
	}
	return b.String(), true
}

func (c *condition) time() (filter.Expr, error) {
	f := filter.Field(c.field)
	e, err := c.timeLeaf(f)
	if err != nil || f != "deleted_at" {
		return e, err
	}
	// Spans are deleted, never archived: the time is absent on all of them.
	if _, absent := e.(filter.Not); absent {
		return filter.And{}, nil
	}
	return filter.Or{}, nil
}

func (c *condition) timeLeaf(f filter.Field) (filter.Expr, error) {
	exists := filter.Time{Field: f, Min: math.MinInt64, Max: math.MaxInt64}
	switch {
	case c.op == "exists":
		return exists, nil
	case c.value == nil && c.op == "is":
		return filter.Not{Expr: exists}, nil
	case groupOf(c.op) == textual:
		p, err := c.pattern()
		return filter.TimeText{Field: f, Test: p}, err
	case c.op == "btwn":
		pair, err := c.pair()
		if err != nil {
			return nil, err
		}
		lo, err := c.micros(pair[0])
		if err != nil {
			return nil, err
		}
		hi, err := c.micros(pair[1])
		return filter.Time{Field: f, Min: lo, Max: hi}, err
	case c.op == "in":
		items, err := c.items()
		if err != nil {
			return nil, err
		}
		var in []filter.Expr
		for _, item := range items {
			t, err := c.micros(item)
			if err != nil {
				return nil, err
			}
			in = append(in, filter.Time{Field: f, Min: t, Max: t})
		}
		return anyOf(in), nil
	}
	t, err := c.micros(c.value)
	switch c.op {
	case "lt":
		return filter.Time{Field: f, Min: math.MinInt64, Max: t - 1}, err
	case "lte":
		return filter.Time{Field: f, Min: math.MinInt64, Max: t}, err
	case "gt":
		return filter.Time{Field: f, Min: t + 1, Max: math.MaxInt64}, err
	case "gte":
		return filter.Time{Field: f, Min: t, Max: math.MaxInt64}, err
	default:
		return filter.Time{Field: f, Min: t, Max: t}, err
	}
}

func (c *condition) micros(v any) (int64, error) {
	t, ok := trace.ParseBound(v)
	if !ok {
		return 0, c.bad(v, "it takes ISO-8601 times or integers of 10, 13, 16 or 19 digits")
	}
	return t.UnixMicro(), nil
}

func (c *condition) attribute(of filter.Tree) (filter.Expr, error) {
	leaf := func(t filter.Test) filter.Expr {
		return filter.Attribute{Of: of, Path: jsonvalue.JoinPath(jsonvalue.SplitPath(c.key)...), Test: t}
	}
	switch groupOf(c.op) {
	case existence:
		return leaf(filter.Exists{}), nil
	case dict:
		return c.member(of)
	case comparison:
		t, err := c.equal(c.value)
		return leaf(t), err
	case list:
		items, err := c.items()
		if err != nil {
			return nil, err
		}
		m := filter.Member{All: c.all, Values: make([]any, len(items))}
		for i, item := range items {
			if m.Values[i], err = c.normal(item); err != nil {
				return nil, err
			}
		}
		return leaf(m), nil
	case numeric:
		return c.numbers(leaf)
	default:
		p, err := c.pattern()
		return leaf(p), err
	}
}

// member parses has: the object at the key has the member of this name, or contains this object.
func (c *condition) member(of filter.Tree) (filter.Expr, error) {
	keys := jsonvalue.SplitPath(c.key)
	switch v := c.value.(type) {
	case string:
		return filter.Attribute{Of: of, Path: jsonvalue.JoinPath(append(keys, v)...), Test: filter.Exists{}}, c.short(v)
	case map[string]any:
		n, err := c.normal(v)
		return filter.Attribute{Of: of, Path: jsonvalue.JoinPath(keys...), Test: filter.Contains{Value: n}}, err
	default:
		return nil, c.bad(v, "it takes the name of a member, or an object")
	}
}

func (c *condition) equal(v any) (filter.Test, error) {
	n, err := c.normal(v)
	if err != nil {
		return nil, err
	}
	switch n.(type) {
	case map[string]any, []any:
		return filter.Contains{Value: n}, nil
	default:
		return filter.Equal{Value: n}, nil
	}
}

// normal checks the bounds of a value and returns whole numbers in one form, so that equal values
// are equal.
func (c *condition) normal(v any) (any, error) {
	switch v := v.(type) {
	case string:
		return v, c.short(v)
	case float64:
		if math.Trunc(v) == v && -(1<<63) <= v && v < 1<<63 {
			return int64(v), nil
		}
		return v, nil
	case []any:
		if len(v) > MaxValues {
			return nil, rejected("A list of values has at most %d.", MaxValues)
		}
		out := make([]any, len(v))
		for i := range v {
			var err error
			if out[i], err = c.normal(v[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		if len(v) > MaxValues {
			return nil, rejected("An object of values has at most %d members.", MaxValues)
		}
		out := make(map[string]any, len(v))
		for k, e := range v {
			var err error
			if out[k], err = c.normal(e); err != nil {
				return nil, err
			}
		}
		return out, nil
	default:
		return v, nil
	}
}

// numbers parses eq, gt, lt, gte, lte and btwn: they compare numbers if the value is a number,
// texts if it is a text.
func (c *condition) numbers(leaf func(filter.Test) filter.Expr) (filter.Expr, error) {
	if c.op == "eq" {
		t, err := c.equal(c.value)
		if _, scalar := t.(filter.Equal); err == nil && (!scalar || c.value == nil) {
			return nil, c.bad(c.value, "it takes a number, a string or a boolean")
		}
		return leaf(t), err
	}
	if c.op == "btwn" {
		pair, err := c.pair()
		if err != nil {
			return nil, err
		}
		lo, ok1 := jsonvalue.Float64(pair[0])
		hi, ok2 := jsonvalue.Float64(pair[1])
		if ok1 && ok2 {
			return filter.And{leaf(filter.Number{Order: filter.GreaterEqual, Value: lo}), leaf(filter.Number{Order: filter.LessEqual, Value: hi})}, nil
		}
	} else if n, ok := jsonvalue.Float64(c.value); ok {
		return leaf(filter.Number{Order: order(c.op), Value: n}), nil
	}
	return c.stringTests(func(t filter.StringTest) filter.Expr {
		lexical, ok := t.(filter.Lexical)
		if !ok {
			return filter.Or{}
		}
		return leaf(lexical)
	})
}

// uuidOf parses a UUID in any of its forms.
func uuidOf(v any) (uuid.UUID, bool) {
	s, ok := v.(string)
	if !ok {
		return uuid.Nil, false
	}
	id, err := uuid.Parse(s)
	return id, err == nil && id != uuid.Nil
}
