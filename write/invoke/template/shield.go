package template

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"colonnade/domain"
)

var (
	// pathTag is a JSONPath placeholder, {{$.a}} or {{{$.a}}}.
	pathTag = regexp.MustCompile(`\{\{\{?\s*(\$[^{}]*?)\s*\}?\}\}`)
	// shielded is what stands for one while the engine runs. NUL is nothing
	// that an engine reads and nothing that a prompt holds; where one does, it is
	// refused: a value could otherwise name a placeholder and be read as one.
	shielded = regexp.MustCompile("\x00JP([0-9]+)\x00")
)

// engine is a renderer that knows nothing of JSONPath.
type engine func(w *writer, source string, vars map[string]any) error

// shield renders with JSONPath placeholders kept away from the engine, whose
// language has no "$", and filled in last: a value is never read again as a
// template. Sections repeat them, so that they are found in the output.
func shield(w *writer, source string, vars map[string]any, render engine) error {
	if !strings.Contains(source, "$") {
		return render(w, source, vars)
	}
	if strings.ContainsRune(source, 0) || hasNUL(vars) {
		return domain.E(domain.Rejected, "a template with a JSONPath, and its variables, may not hold the character NUL")
	}
	var exprs []string
	masked := pathTag.ReplaceAllStringFunc(source, func(tag string) string {
		exprs = append(exprs, strings.TrimSpace(pathTag.FindStringSubmatch(tag)[1]))
		return "\x00JP" + strconv.Itoa(len(exprs)-1) + "\x00"
	})
	inner := &writer{limit: w.limit}
	if err := render(inner, masked, vars); err != nil || inner.full {
		w.full = inner.full
		return err
	}
	return unshield(w, inner.String(), exprs, vars)
}

func hasNUL(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.IndexByte(v, 0) >= 0
	case map[string]any:
		for name, member := range v {
			if strings.IndexByte(name, 0) >= 0 || hasNUL(member) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasNUL)
	default:
	}
	return false
}

func unshield(w *writer, rendered string, exprs []string, vars map[string]any) error {
	missing := map[string]bool{}
	paths := NewPaths(vars)
	last := 0
	for _, at := range shielded.FindAllStringSubmatchIndex(rendered, -1) {
		i, err := strconv.Atoi(rendered[at[2]:at[3]])
		if err != nil || i >= len(exprs) {
			continue // a value's own text
		}
		if _, err := w.WriteString(rendered[last:at[0]]); err != nil {
			return err
		}
		last = at[1]
		value, err := paths.Resolve(exprs[i])
		if domain.KindOf(err) == domain.TooLarge {
			return err
		}
		if err != nil {
			missing[exprs[i]] = true
		}
		if err := writeValue(w, value); err != nil {
			return err
		}
	}
	if len(missing) > 0 {
		return unresolvedPath(missing)
	}
	_, err := w.WriteString(rendered[last:])
	return err
}

func unresolvedPath(missing map[string]bool) error {
	list := unresolved(Curly, missing).Error()
	return domain.E(domain.Rejected, "Unreplaced variables in template%s", list[strings.Index(list, ":"):])
}
