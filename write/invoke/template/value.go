package template

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"colonnade/domain/jsonvalue"
)

// text is a value as it stands in a prompt: a string as it is, everything else
// as JSON, objects and lists compact. Source: contract §6.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case int:
		return strconv.Itoa(v)
	case fmt.Stringer:
		return v.String()
	default:
		return string(jsonvalue.Append(nil, v))
	}
}

// fits tells whether a value's JSON is surely no longer than budget bytes,
// without writing it: a path with "..", whose result holds a document many
// times over, must not be able to fill the memory.
func fits(v any, budget *int) bool {
	switch v := v.(type) {
	case string:
		*budget -= len(v) + 2
	case map[string]any:
		*budget -= 2
		for name, member := range v {
			*budget -= len(name) + 4
			if *budget < 0 || !fits(member, budget) {
				return false
			}
		}
	case []any:
		*budget -= 2
		for _, element := range v {
			*budget--
			if *budget < 0 || !fits(element, budget) {
				return false
			}
		}
	default:
		*budget -= 4
	}
	return *budget >= 0
}

// affordable tells whether the variables of a linear template fit into the
// limit all together. The engines notice only after they have written each
// value into memory of their own, as often as the template names it.
func affordable(source string, tag *regexp.Regexp, vars map[string]any, limit int) bool {
	budget := limit
	for _, found := range tag.FindAllStringSubmatch(source, -1) {
		var value any = vars
		for token := range strings.SplitSeq(strings.Trim(found[1], "&- \t\r\n"), ".") {
			if token != "" {
				value, _ = member(value, token)
			}
		}
		if !fits(value, &budget) {
			return false
		}
	}
	return true
}

// writeValue writes a value's text if it fits into what is left.
func writeValue(w *writer, v any) error {
	budget := w.limit - w.Len()
	if !fits(v, &budget) {
		w.full = true
		return nil
	}
	_, err := w.WriteString(text(v))
	return err
}
