package adapt

import (
	"strings"

	"colonnade/domain/trace"
)

// maxJSONDepth bounds text that becomes part of the attribute tree, so that
// the tree as a whole stays below what readers parse (trace.MaxDepth).
const maxJSONDepth = 64

// ParseJSON reads JSON text into an attribute value. ok is false where the
// text is not JSON or nests too deep; the caller then keeps the text.
func ParseJSON(text string) (value any, ok bool) {
	value, err := trace.ParseJSON([]byte(text))
	if err != nil {
		return nil, false
	}
	if strings.Count(text, "[")+strings.Count(text, "{") > maxJSONDepth && deeper(value, maxJSONDepth) {
		return nil, false
	}
	return value, true
}

func deeper(value any, than int) bool {
	if than < 0 {
		return true
	}
	switch v := value.(type) {
	case map[string]any:
		for _, e := range v {
			if deeper(e, than-1) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if deeper(e, than-1) {
				return true
			}
		}
	}
	return false
}
