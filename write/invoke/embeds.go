package invoke

import (
	"slices"
	"strings"
)

// embedMark begins every embed, in objects and within strings. Source: contract §5.3.
const embedMark = "@ag.embed"

// embeds tells whether a value may hold one, so that the others are not walked
// and copied.
func embeds(value any) bool {
	switch v := value.(type) {
	case string:
		return strings.Contains(v, embedMark)
	case []any:
		return slices.ContainsFunc(v, embeds)
	case map[string]any:
		for k, e := range v {
			if k == embedMark || embeds(e) {
				return true
			}
		}
	default:
	}
	return false
}
