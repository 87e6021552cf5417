package entity

import (
	"strings"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/request"
)

// parseEmbed reads {"@ag.references": {name: reference}, "@ag.selector": {path?, key?}}.
func parseEmbed(value any) (Embed, error) {
	m, ok := value.(map[string]any)
	if !ok {
		return Embed{}, broken(errForm, "%s holds no object.", embedKey)
	}
	o := request.ObjectOf(m, embedKey)
	e := Embed{References: Entities{}}
	references := o.Object(referencesKey)
	for _, name := range references.Names() {
		e.References[name] = ReadReference(references, name)
	}
	selector := o.Object(selectorKey)
	e.Path, e.Key = selector.String("path"), selector.String("key")
	if err := o.Err(); err != nil || len(e.References) == 0 {
		return Embed{}, broken(errForm, "%s holds no references that can be read.", embedKey)
	}
	return e, nil
}

const tokenStart = embedKey + "["

// place is where a token stands in a string.
type place struct{ start, end int }

// tokens finds every @ag.embed[...] with balanced brackets, in one walk over the
// string. What stands within one is that one's; one that never closes is text.
func tokens(s string) []place {
	if !strings.Contains(s, tokenStart) {
		return nil
	}
	type begun struct{ start, depth int }
	var open []begun
	var all []place // by their ends
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '[':
			depth++
			if strings.HasSuffix(s[:i], embedKey) {
				open = append(open, begun{i - len(embedKey), depth})
			}
		case ']':
			if n := len(open); n > 0 && open[n-1].depth == depth {
				// Those within it came before it.
				for len(all) > 0 && all[len(all)-1].start > open[n-1].start {
					all = all[:len(all)-1]
				}
				all = append(all, place{open[n-1].start, i + 1})
				open = open[:n-1]
			}
			depth = max(depth-1, 0)
		default:
		}
	}
	return all
}

// parseToken reads the form within a string:
// @ag.embed[@ag.references[workflow_revision.id=...], @ag.selector[path:...]];
// the short form of a reference, name:value, holds an id or a version.
func parseToken(token string) (Embed, error) {
	e := Embed{References: Entities{}}
	content := strings.TrimSuffix(strings.TrimPrefix(token, tokenStart), "]")
	if inner, ok := bracket(content, referencesKey); ok {
		for part := range strings.SplitSeq(inner, ",") {
			readTokenReference(e.References, strings.TrimSpace(part))
		}
	}
	if inner, ok := bracket(content, selectorKey); ok {
		for part := range strings.SplitSeq(inner, ",") {
			name, value, _ := strings.Cut(part, ":")
			switch strings.TrimSpace(name) {
			case "path":
				e.Path = strings.TrimSpace(value)
			case "key":
				e.Key = strings.TrimSpace(value)
			default:
			}
		}
	}
	if len(e.References) == 0 {
		return Embed{}, broken(errForm, "%s holds no references that can be read.", token)
	}
	return e, nil
}

func readTokenReference(into Entities, part string) {
	if left, value, ok := strings.Cut(part, "="); ok {
		dot := strings.LastIndexByte(left, '.')
		if dot < 0 {
			return
		}
		name, field := strings.TrimSpace(left[:dot]), strings.TrimSpace(left[dot+1:])
		ref := into[name]
		switch field {
		case "id":
			ref.ID, _ = uuid.Parse(strings.TrimSpace(value))
		case "slug":
			ref.Slug = strings.TrimSpace(value)
		case "version":
			ref.Version = strings.TrimSpace(value)
		default:
		}
		if !ref.IsZero() {
			into[name] = ref
		}
		return
	}
	name, value, ok := strings.Cut(part, ":")
	if !ok {
		return
	}
	value = strings.TrimSpace(value)
	if id, err := uuid.Parse(value); err == nil {
		into[strings.TrimSpace(name)] = domain.Reference{ID: id}
		return
	}
	if value != "" {
		into[strings.TrimSpace(name)] = domain.Reference{Version: value}
	}
}

// bracket gives what stands in name[...]; references hold no brackets.
func bracket(s, name string) (string, bool) {
	_, rest, ok := strings.Cut(s, name+"[")
	if !ok {
		return "", false
	}
	inner, _, ok := strings.Cut(rest, "]")
	return inner, ok
}

// Retrieval turns an embed into a look-up: the family is that of its
// references; environment references lead through an environment.
func (e Embed) Retrieval() (Retrieval, error) {
	q := Retrieval{Key: e.Key}
	for _, f := range Families() {
		refs := Refs{Artifact: e.References[f.Name], Variant: e.References[f.variant()], Revision: e.References[f.revision()]}
		switch {
		case refs.IsZero():
		case f.Kind == Environment:
			q.Environment = refs
		case q.Family.Name != "":
			return Retrieval{}, domain.E(domain.Rejected, "An embed refers to both %s and %s.", q.Family.Name, f.Name)
		default:
			q.Family, q.Refs = f, refs
		}
	}
	switch {
	case q.Family.Name == "" && !q.Environment.IsZero() && q.Key == "":
		// The environment itself is embedded.
		return Retrieval{Family: Environments(), Refs: q.Environment}, nil
	case q.Family.Name == "" && !q.Environment.IsZero():
		q.Family = Workflows()
	case q.Family.Name == "":
		return Retrieval{}, domain.E(domain.Rejected, "An embed refers to %s, which is no family that can be embedded.", describe(e.References))
	default:
	}
	return q, nil
}
