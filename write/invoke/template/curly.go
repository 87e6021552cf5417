package template

import (
	"regexp"
	"strings"

	"colonnade/domain"
)

// placeholder is a curly variable; it does not span lines, and its text is trimmed.
var placeholder = regexp.MustCompile(`\{\{\s*(.*?)\s*\}\}`)

// renderCurly replaces {{expression}}. A value is never read again as a
// template, and all that lead nowhere are named at once.
func renderCurly(w *writer, source string, vars map[string]any) error {
	missing := map[string]bool{}
	paths := NewPaths(vars)
	last := 0
	for _, at := range placeholder.FindAllStringSubmatchIndex(source, -1) {
		if _, err := w.WriteString(source[last:at[0]]); err != nil {
			return err
		}
		last = at[1]
		expr := strings.TrimSpace(source[at[2]:at[3]])
		if expr == "" {
			missing[expr] = true // no variable has this name; a path without parts is the whole document
			continue
		}
		value, err := paths.Resolve(expr)
		if domain.KindOf(err) == domain.TooLarge {
			return err
		}
		if err != nil {
			missing[expr] = true
			continue
		}
		if err := writeValue(w, value); err != nil {
			return err
		}
	}
	if len(missing) > 0 {
		return unresolved(Curly, missing)
	}
	_, err := w.WriteString(source[last:])
	return err
}
