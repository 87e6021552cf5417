package evaluation

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/google/uuid"

	"colonnade/domain/request"
)

// Target is a revision that a simple evaluation names, and who carries its step
// out; without an origin that is for the resource to say.
type Target struct {
	ID     uuid.UUID
	Origin Origin
}

// Targets are written as `[ids]` or `{id: origin}`; the latter are in the order
// of the ids. Each is named once.
type Targets []Target

// UnmarshalJSON reads either form.
func (t *Targets) UnmarshalJSON(text []byte) error {
	*t = Targets{}
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) {
		var ids []string
		if err := json.Unmarshal(text, &ids); err != nil {
			return request.Invalid("list_type", "Input should be a list of ids", nil)
		}
		for i, id := range ids {
			if err := t.add(id, "", i); err != nil {
				return err
			}
		}
		return nil
	}
	var origins map[string]string
	if err := json.Unmarshal(text, &origins); err != nil {
		return request.Invalid("dict_type", "Input should be a list of ids or a dictionary of ids and origins", nil)
	}
	for _, id := range slices.Sorted(maps.Keys(origins)) {
		var origin Origin
		if err := origin.UnmarshalText([]byte(origins[id])); err != nil {
			return request.Invalid("enum", err.Error(), origins[id], id)
		}
		if err := t.add(id, origin, id); err != nil {
			return err
		}
	}
	return nil
}

func (t *Targets) add(text string, origin Origin, loc any) error {
	id, err := uuid.Parse(text)
	if err != nil {
		return request.Invalid("uuid_parsing", "Input should be a valid UUID", text, loc)
	}
	if !slices.ContainsFunc(*t, func(o Target) bool { return o.ID == id }) {
		*t = append(*t, Target{ID: id, Origin: origin})
	}
	return nil
}

// By gives the targets with an origin for those that have none.
func (t Targets) By(otherwise Origin) []Target {
	out := slices.Clone(t)
	for i := range out {
		if out[i].Origin == "" {
			out[i].Origin = otherwise
		}
	}
	return out
}
