package searchtext

import (
	"slices"

	"colonnade/domain/filter"
	"colonnade/domain/jsonvalue"
)

// LongestWord is the longest run of ASCII letters and digits, which are what
// the index's tokens are made of; they need no escape in a LIKE pattern.
func LongestWord(text string) string {
	best, start := "", 0
	for i := 0; i <= len(text); i++ {
		if i < len(text) && (text[i] >= '0' && text[i] <= '9' || text[i] >= 'a' && text[i] <= 'z' || text[i] >= 'A' && text[i] <= 'Z') {
			continue
		}
		if i-start > len(best) {
			best = text[start:i]
		}
		start = i + 1
	}
	return best
}

// InObject returns texts that occur in every object that contains this one.
// Numbers have two forms (1 and 1.0) and stay out.
func InObject(object map[string]any) []string {
	keys := make([]string, 0, len(object))
	for k := range object {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	out := make([]string, 0, len(keys))
	for _, k := range keys {
		name := string(append(jsonvalue.AppendString(nil, k), ':'))
		switch v := object[k].(type) {
		case map[string]any:
			out = append(out, InObject(v)...)
			if len(v) == 0 {
				out = append(out, name)
			}
		case []any:
			out = append(out, name)
			out = append(out, inArray(v)...)
		case int64, float64:
			out = append(out, name)
		default:
			out = append(out, name+string(jsonvalue.Append(nil, v)))
		}
	}
	return out
}

func inArray(array []any) []string {
	out := make([]string, 0, len(array))
	for _, e := range array {
		out = append(out, InValue(e)...)
	}
	return out
}

// InValue returns texts that occur in the JSON of every value that contains this one.
func InValue(v any) []string {
	switch v := v.(type) {
	case map[string]any:
		return InObject(v)
	case []any:
		return inArray(v)
	case string:
		return []string{string(jsonvalue.AppendString(nil, v))}
	default:
		return nil
	}
}

// InPattern returns the text that every string has for which the pattern holds, as it
// is written in a payload; "" where there is none. With Fold the text is folded.
func InPattern(p filter.Pattern) string {
	escaped := func(s string) string { return string(jsonvalue.AppendEscaped(nil, s)) }
	switch p.Form {
	case filter.Prefix:
		return `"` + escaped(p.Value)
	case filter.Suffix:
		return escaped(p.Value) + `"`
	case filter.Substring:
		return escaped(p.Value)
	case filter.Like:
		return escaped(longestLiteral(p.Value))
	default:
		return `"` + escaped(p.Value) + `"`
	}
}

// longestLiteral is the longest run of a LIKE pattern without wildcards, unescaped.
func longestLiteral(pattern string) string {
	var best, run []byte
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '%' || c == '_':
			run = run[:0:0]
			continue
		case c == '\\' && i+1 < len(pattern):
			i++
			run = append(run, pattern[i])
		default:
			run = append(run, c)
		}
		if len(run) > len(best) {
			best = run
		}
	}
	return string(best)
}
