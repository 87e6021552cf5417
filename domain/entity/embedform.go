package entity

import (
	"context"
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

const (
	tokenStart     = embedKey + "["
	shorthandStart = "@{{"
	shorthandEnd   = "}}"
)

// HasEmbed reports whether a text may hold an embed, so that values without one need not be walked.
func HasEmbed(s string) bool {
	return strings.Contains(s, embedKey) || strings.Contains(s, shorthandStart)
}

// place is where a token stands in a string.
type place struct{ start, end int }

// tokens finds every @ag.embed[...] and every @{{...}} of a string, in order.
func tokens(s string) []place {
	long := longTokens(s)
	if !strings.Contains(s, shorthandStart) {
		return long
	}
	var all []place
	end := 0
	for _, at := range append(long, place{len(s), len(s)}) {
		all = append(all, shorthands(s[:at.start], end)...)
		if at.start < at.end {
			all = append(all, at)
		}
		end = at.end
	}
	return all
}

// shorthands finds every @{{...}} from an offset on that names a family. Any other one is a
// variable of a template behind an at sign, and stays text.
func shorthands(s string, from int) (all []place) {
	for {
		begin := strings.Index(s[from:], shorthandStart)
		if begin < 0 {
			return all
		}
		begin += from
		length := strings.Index(s[begin:], shorthandEnd)
		if length < 0 {
			return all
		}
		end := begin + length + len(shorthandEnd)
		if e, err := parseToken(s[begin:end]); err == nil && e.namesFamily() {
			all = append(all, place{begin, end})
		}
		from = end
	}
}

func (e Embed) namesFamily() bool {
	for name := range e.References {
		for _, f := range Families() {
			if name == f.Name || name == f.variant() || name == f.revision() {
				return true
			}
		}
	}
	return false
}

// longTokens finds every @ag.embed[...] with balanced brackets, in one walk over the
// string. A token within another one belongs to that one; one that never closes is text.
func longTokens(s string) []place {
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

// parseToken reads the forms within a string:
// @ag.embed[@ag.references[workflow_revision.id=...], @ag.selector[path=...]], and
// @{{workflow_revision.id=..., path=...}}. Names and values are separated by = or :; the short
// form of a reference, name:value, holds an id or a version.
func parseToken(token string) (Embed, error) {
	e := Embed{References: Entities{}}
	if content, ok := strings.CutPrefix(token, shorthandStart); ok {
		for part := range strings.SplitSeq(strings.TrimSuffix(content, shorthandEnd), ",") {
			if !e.readSelector(part) {
				readTokenReference(e.References, part)
			}
		}
	} else if err := e.readLong(token); err != nil {
		return Embed{}, err
	}
	if len(e.References) == 0 {
		return Embed{}, broken(errForm, "%s holds no references that can be read.", token)
	}
	return e, nil
}

func (e *Embed) readLong(token string) error {
	content := strings.TrimSuffix(strings.TrimPrefix(token, tokenStart), "]")
	if inner, ok := bracket(content, referencesKey); ok {
		for part := range strings.SplitSeq(inner, ",") {
			readTokenReference(e.References, part)
		}
	}
	if inner, ok := bracket(content, selectorKey); ok {
		for part := range strings.SplitSeq(inner, ",") {
			if strings.TrimSpace(part) != "" && !e.readSelector(part) {
				return broken(errForm, "%s holds a selector that cannot be read: %q.", token, strings.TrimSpace(part))
			}
		}
	}
	return nil
}

// cut divides a part of a token at its separator.
func cut(part string) (name, value string, ok bool) {
	at := strings.IndexAny(part, "=:")
	if at < 0 {
		return part, "", false
	}
	return strings.TrimSpace(part[:at]), strings.TrimSpace(part[at+1:]), true
}

// readSelector reads path=... or key=...; it reports whether the part is one of them.
func (e *Embed) readSelector(part string) bool {
	name, value, ok := cut(part)
	switch {
	case ok && name == "path":
		e.Path = value
	case ok && name == "key":
		e.Key = value
	default:
		return false
	}
	return true
}

func readTokenReference(into Entities, part string) {
	left, value, ok := cut(part)
	if !ok || value == "" {
		return
	}
	dot := strings.LastIndexByte(left, '.')
	if dot < 0 {
		ref := domain.Reference{Version: value}
		if id, err := uuid.Parse(value); err == nil {
			ref = domain.Reference{ID: id}
		}
		into[left] = ref
		return
	}
	name, field := strings.TrimSpace(left[:dot]), strings.TrimSpace(left[dot+1:])
	ref := into[name]
	switch field {
	case "id":
		ref.ID, _ = uuid.Parse(value)
	case "slug":
		ref.Slug = value
	case "version":
		ref.Version = value
	default:
	}
	if !ref.IsZero() {
		into[name] = ref
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

// LookupBy returns the look-up of embeds that retrieves revisions by a function of a store.
//
// A reference to a revision by slug and version may mean its own slug, its slug made of the slug
// and the version, or the slug of an artifact whose default variant has that version; they are
// tried in this order.
func LookupBy(retrieve func(context.Context, Retrieval) (Retrieved, error)) Lookup {
	return func(ctx context.Context, e Embed) (*Revision, error) {
		q, err := e.Retrieval()
		if err != nil {
			return nil, err
		}
		found, err := retrieve(ctx, q)
		for _, other := range q.Readings() {
			kind := domain.KindOf(err)
			if err == nil && found.Revision != nil || err != nil && kind != domain.NotFound && kind != domain.Rejected {
				break
			}
			found, err = retrieve(ctx, other)
		}
		return found.Revision, err
	}
}

// Readings returns the other meanings of references that name a revision by slug and version
// alone; see LookupBy.
func (q Retrieval) Readings() []Retrieval {
	ref := q.Refs.Revision
	if ref.ID != uuid.Nil || ref.Slug == "" || ref.Version == "" || q.Refs != (Refs{Revision: ref}) {
		return nil
	}
	joined, artifact := q, q
	joined.Refs = Refs{Revision: domain.Reference{Slug: ref.Slug + "-" + ref.Version, Version: ref.Version}}
	artifact.Refs = Refs{Artifact: ref}
	return []Retrieval{joined, artifact}
}
