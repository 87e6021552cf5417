package normalize

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
	var buffer [24]string
	for _, key := range sortedKeys(references, buffer[:0]) {
		object, ok := references[key].(map[string]any)
		if !ok || !semconv.ReferenceKey(key) {
			if references[key] != nil {
				w.park(references[key], semconv.References, key)
			}
			delete(references, key)
			continue
		}
		if r := w.fitReference(object, key); !r.IsZero() {
			if w.span.References == nil {
				w.span.References = make([]trace.Reference, 0, len(references))
			}
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
		if !ok || len(key) > longestReference {
			w.joinRef(references, key, "", refs[key])
			continue
		}
		for _, member := range slices.Sorted(maps.Keys(object)) {
			w.joinRef(references, semconv.LegacyReference(key, member), member, object[member])
		}
	}
	return references
}

// longestReference is longer than any key of a reference. The members of an
// object under a longer one are not looked at each by itself: every look costs its length.
const longestReference = 64

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
	known := 0
	for _, member := range [...]string{semconv.ID, semconv.Slug, semconv.Version} {
		value, there := object[member]
		text, _ := value.(string)
		switch {
		case !there:
		case value == nil:
			delete(object, member)
		case member == semconv.ID:
			r.ID, _ = uuid.Parse(text) // validReference read it before
			if id := r.ID.String(); id != text {
				object[member] = id
			}
			known++
		case member == semconv.Version:
			r.Version = text
			known++
		case semconv.ValidSlug(text):
			r.Slug = text
			known++
		}
	}
	if known < len(object) {
		w.parkUnknown(object, func(member string) bool {
			return member == semconv.ID || member == semconv.Version || member == semconv.Slug && r.Slug != ""
		}, semconv.References, key)
	}
	return r
}
