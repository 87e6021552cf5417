package fit

import (
	"maps"
	"slices"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/semconv"
	"colonnade/domain/trace"
)

// fitReferences conforms ag.references and lists them on the span. One entry
// of a wrong type parks them all, since what is left would claim another set
// of entities; an unknown key or a malformed slug is parked alone. Source:
// contract §1.4, §1.5.
func (w *fitting) fitReferences(ag map[string]any) {
	references := w.joinRefs(ag)
	if references == nil {
		return
	}
	for key, value := range references {
		if semconv.ReferenceKey(key) && !validReference(value) {
			delete(ag, semconv.References)
			w.park(references, semconv.References)
			return
		}
	}
	for _, key := range slices.Sorted(maps.Keys(references)) {
		object, ok := references[key].(map[string]any)
		if !ok || !semconv.ReferenceKey(key) {
			if references[key] != nil {
				w.park(references[key], semconv.References, key)
			}
			delete(references, key)
			continue
		}
		if r := w.fitReference(object, key); !r.IsZero() {
			w.span.References = append(w.span.References, trace.Reference{Key: key, Reference: r})
		}
	}
	if len(references) == 0 {
		delete(ag, semconv.References)
	}
}

// joinRefs moves what is under ag.refs to ag.references, outdated keys
// renamed. A reference that stands under its canonical name is kept.
func (w *fitting) joinRefs(ag map[string]any) map[string]any {
	references := w.fitObject(ag, semconv.References)
	refs, ok := ag[semconv.Refs].(map[string]any)
	if !ok {
		return references
	}
	delete(ag, semconv.Refs)
	if references == nil {
		references = make(map[string]any, len(refs)+1)
		ag[semconv.References] = references
	}
	for _, key := range slices.Sorted(maps.Keys(refs)) {
		object, ok := refs[key].(map[string]any)
		if !ok {
			w.joinRef(references, key, "", refs[key])
			continue
		}
		for _, member := range slices.Sorted(maps.Keys(object)) {
			w.joinRef(references, semconv.LegacyReference(key, member), member, object[member])
		}
	}
	return references
}

func (w *fitting) joinRef(references map[string]any, key, member string, value any) {
	there, taken := references[key]
	object, isObject := there.(map[string]any)
	switch {
	case !taken && member == "":
		references[key] = value
	case !taken:
		references[key] = map[string]any{member: value}
	case isObject && member != "" && object[member] == nil:
		object[member] = value
	case member == "":
		w.parkUnequal(there, value, semconv.Refs, key)
	default:
		w.parkUnequal(object[member], value, semconv.Refs, key, member)
	}
}

// validReference tells whether the members of a reference have the right
// types; a null stands for absence anywhere.
func validReference(value any) bool {
	if value == nil {
		return true
	}
	object, ok := value.(map[string]any)
	if !ok {
		return false
	}
	for member, v := range object {
		text, isText := v.(string)
		switch member {
		case semconv.ID:
			if _, err := uuid.Parse(text); v != nil && err != nil {
				return false
			}
		case semconv.Slug, semconv.Version:
			if v != nil && !isText {
				return false
			}
		}
	}
	return true
}

func (w *fitting) fitReference(object map[string]any, key string) domain.Reference {
	var r domain.Reference
	for _, member := range slices.Sorted(maps.Keys(object)) {
		text, _ := object[member].(string)
		switch {
		case object[member] == nil:
			delete(object, member)
		case member == semconv.ID:
			r.ID, _ = uuid.Parse(text) // validReference read it before
			object[member] = r.ID.String()
		case member == semconv.Slug && semconv.ValidSlug(text):
			r.Slug = text
		case member == semconv.Version:
			r.Version = text
		default:
			w.park(object[member], semconv.References, key, member)
			delete(object, member)
		}
	}
	return r
}
