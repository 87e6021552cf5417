package template

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ohler55/ojg/jp"
)

// errAbsent is a path that leads nowhere in the data.
var errAbsent = errors.New("template: nothing is at the path")

// maxPathBytes bounds an expression; its parts are walked once for each value on the way.
const maxPathBytes = 1024

// Resolve finds what an expression names: "$", "$.a[0].b" and "$[...]" are
// JSONPath (RFC 9535), "/a/0/b" is a JSON Pointer (RFC 6901), everything else is
// a literal key or, if there is none, a dotted path with indices. A JSONPath
// with several results gives them as a list. Source: contract §6.
func Resolve(expr string, data any) (any, error) {
	if len(expr) > maxPathBytes {
		return nil, fmt.Errorf("template: a path is longer than %d bytes", maxPathBytes)
	}
	switch {
	case strings.HasPrefix(expr, "$"):
		return resolvePath(expr, data)
	case strings.HasPrefix(expr, "/"):
		return resolvePointer(expr, data)
	default:
		return resolveDotted(expr, data)
	}
}

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

func resolvePath(expr string, data any) (found any, err error) {
	if expr != "$" && !strings.HasPrefix(expr, "$.") && !strings.HasPrefix(expr, "$[") {
		return nil, fmt.Errorf("template: %q is no JSONPath: it starts with $. or $[", expr)
	}
	// The library's parser and walker are foreign code fed with foreign text.
	defer func() {
		if r := recover(); r != nil {
			found, err = nil, fmt.Errorf("template: %q is no JSONPath", expr)
		}
	}()
	path, err := jp.ParseString(expr)
	if err != nil {
		return nil, fmt.Errorf("template: reading the JSONPath %q: %w", expr, err)
	}
	if err := cheap(path); err != nil {
		return nil, err
	}
	switch results := path.Get(data); len(results) {
	case 0:
		return nil, errAbsent
	case 1:
		return results[0], nil
	default:
		return results, nil
	}
}

// cheap refuses paths whose cost is more than the size of the data times the
// length of the path: each further "..", union or filter multiplies.
func cheap(path jp.Expr) error {
	costly := 0
	for _, step := range path {
		switch s := step.(type) {
		case jp.Descent, jp.Union:
			costly++
		case *jp.Filter:
			costly++
			if strings.Contains(s.String(), "..") {
				costly++
			}
		case *jp.Proc:
			return errors.New("template: a JSONPath with a script is not served")
		default:
		}
	}
	if costly > 2 {
		return errors.New("template: a JSONPath may have two of .., unions and filters")
	}
	return nil
}
