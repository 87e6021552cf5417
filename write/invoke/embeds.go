package invoke

import (
	"slices"

	"colonnade/domain/entity"
)

// embeds tells whether a value may hold one, so that the others are not walked
// and copied.
func embeds(value any) bool {
	switch v := value.(type) {
	case string:
		return entity.HasEmbed(v)
	case []any:
		return slices.ContainsFunc(v, embeds)
	case map[string]any:
		for k, e := range v {
			if entity.HasEmbed(k) || embeds(e) {
				return true
			}
		}
	default:
	}
	return false
}
