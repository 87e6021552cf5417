package filter

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"colonnade/domain/jsonvalue"
)

// Passes reports whether an existing value passes the test.
func Passes(t Test, value any) bool {
	switch t := t.(type) {
	case Exists:
		return true
	case Equal:
		return equal(value, t.Value)
	case Contains:
		return contains(value, t.Value)
	case Member:
		return t.holds(value)
	case Number:
		n, ok := jsonvalue.Float64(value)
		return ok && t.Order.holds(cmp.Compare(n, t.Value))
	case Lexical:
		s, ok := value.(string)
		return ok && passes(t, s)
	case Pattern:
		s, ok := value.(string)
		return ok && passes(t, s)
	default:
		return false
	}
}

// passes is Passes for a text.
func passes(t StringTest, s string) bool {
	switch t := t.(type) {
	case Exists:
		return true
	case OneOf:
		return slices.Contains(t.In, s)
	case Lexical:
		return t.Order.holds(strings.Compare(s, t.Value))
	case Pattern:
		return t.holds(s)
	default:
		return false
	}
}

func (o Order) holds(sign int) bool {
	switch o {
	case Less:
		return sign < 0
	case LessEqual:
		return sign <= 0
	case Greater:
		return sign > 0
	case GreaterEqual:
		return sign >= 0
	default:
		return false
	}
}

func (p Pattern) holds(s string) bool {
	if p.Fold {
		s = Fold(s)
	}
	switch p.Form {
	case Prefix:
		return strings.HasPrefix(s, p.Value)
	case Suffix:
		return strings.HasSuffix(s, p.Value)
	case Substring:
		return strings.Contains(s, p.Value)
	case Whole:
		return s == p.Value
	case Like:
		return like(s, p.Value)
	default:
		return false
	}
}

// like reads text and pattern once and returns only to the last %, so its work is bounded by the
// product of their lengths.
func like(s, pattern string) bool {
	i, j := 0, 0
	backI, backJ := -1, -1
	for i < len(s) {
		matched := false
		if j < len(pattern) {
			switch c := pattern[j]; {
			case c == '%':
				j++
				backI, backJ = i, j
				continue
			case c == '_':
				_, size := utf8.DecodeRuneInString(s[i:])
				i += size
				j++
				matched = true
			case c == '\\' && j+1 < len(pattern):
				if matched = pattern[j+1] == s[i]; matched {
					i++
					j += 2
				}
			default:
				if matched = c == s[i]; matched {
					i++
					j++
				}
			}
		}
		if matched {
			continue
		}
		if backJ < 0 {
			return false
		}
		_, size := utf8.DecodeRuneInString(s[backI:])
		backI += size
		i, j = backI, backJ
	}
	return strings.Trim(pattern[j:], "%") == ""
}

// equal reports whether two scalars have the same type and value; numbers compare by value.
func equal(a, b any) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case string:
		b, ok := b.(string)
		return ok && a == b
	case int64:
		switch b := b.(type) {
		case int64:
			return a == b
		case float64:
			return sameNumber(a, b)
		}
	case float64:
		switch b := b.(type) {
		case int64:
			return sameNumber(b, a)
		case float64:
			return a == b
		}
	}
	return false
}

// sameNumber compares exactly: rounding beyond 2^53 must not hide a difference.
func sameNumber(n int64, f float64) bool {
	return math.Trunc(f) == f && -(1<<63) <= f && f < 1<<63 && int64(f) == n
}

// contains reports containment as PostgreSQL's @> does below the top level: see Contains.
func contains(stored, asked any) bool {
	switch asked := asked.(type) {
	case map[string]any:
		object, ok := stored.(map[string]any)
		return ok && containsObject(object, asked)
	case []any:
		array, ok := stored.([]any)
		if !ok {
			return false
		}
		for _, e := range asked {
			if !slices.ContainsFunc(array, func(s any) bool { return contains(s, e) }) {
				return false
			}
		}
		return true
	default:
		return equal(stored, asked)
	}
}

func containsObject(stored, asked map[string]any) bool {
	for k, e := range asked {
		if s, ok := stored[k]; !ok || !contains(s, e) {
			return false
		}
	}
	return true
}

func (m Member) holds(value any) bool {
	array, _ := value.([]any)
	one := func(asked any) bool {
		return contains(value, asked) || slices.ContainsFunc(array, func(s any) bool { return contains(s, asked) })
	}
	if m.All {
		return !slices.ContainsFunc(m.Values, func(v any) bool { return !one(v) })
	}
	return slices.ContainsFunc(m.Values, one)
}
