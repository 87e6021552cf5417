package template

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// errAbsent is a path that leads nowhere in the data.
var errAbsent = errors.New("template: nothing is at the path")

// maxPathBytes bounds an expression; its parts are walked once for each value on the way.
const maxPathBytes = 1024

// Resolve finds what an expression names: "$", "$.a[0].b" and "$[...]" are
// JSONPath (RFC 9535), "/a/0/b" is a JSON Pointer (RFC 6901), everything else is
// a literal key or, if there is none, a dotted path with indices. A JSONPath
// with several results gives them as a list; one that has too much to look
// through is TooLarge. Source: contract §6.
func Resolve(expr string, data any) (any, error) { return NewPaths(data).Resolve(expr) }

func resolveDotted(expr string, data any) (any, error) {
	if strings.ContainsAny(expr, "[]") {
		return nil, fmt.Errorf("template: %q has brackets, which dotted paths have not", expr)
	}
	if object, ok := data.(map[string]any); ok {
		if v, ok := object[expr]; ok {
			return v, nil
		}
	}
	for token := range strings.SplitSeq(expr, ".") {
		if token == "" {
			continue
		}
		next, ok := member(data, token)
		if !ok {
			return nil, errAbsent
		}
		data = next
	}
	return data, nil
}

func resolvePointer(expr string, data any) (any, error) {
	for token := range strings.SplitSeq(expr[1:], "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		next, ok := member(data, token)
		if !ok {
			return nil, errAbsent
		}
		data = next
	}
	return data, nil
}

func member(data any, token string) (any, bool) {
	switch v := data.(type) {
	case map[string]any:
		m, ok := v[token]
		return m, ok
	case []any:
		i, err := strconv.Atoi(token)
		if err != nil || i < 0 || i >= len(v) || token[0] == '+' {
			return nil, false
		}
		return v[i], true
	default:
		return nil, false
	}
}
