package entity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"colonnade/domain"
)

// Members of an embed. Source: contract §5.3.
const (
	embedKey      = "@ag.embed"
	referencesKey = "@ag.references"
	selectorKey   = "@ag.selector"
)

// Limits of a resolution. Source: contract §9.
const (
	MaxEmbedDepth = 10
	MaxEmbeds     = 100
)

// maxEmbedded bounds what all embeds of a document bring into it, in bytes,
// about: each may lead to as much as a revision holds.
const maxEmbedded = 32 << 20

// ErrorPolicy says what becomes of an embed that cannot be resolved.
type ErrorPolicy string

// The policies.
const (
	// FailOnError ends the resolution.
	FailOnError ErrorPolicy = "exception"
	// PlaceholderOnError writes <error:Kind> in the embed's place.
	PlaceholderOnError ErrorPolicy = "placeholder"
	// KeepOnError leaves the embed as it is.
	KeepOnError ErrorPolicy = "keep"
)

// Embed is a reference inside a document to a part of another one.
type Embed struct {
	// References lead to the revision whose data is embedded, by name.
	References Entities
	// Key selects an application's revision where the references lead to an environment.
	Key string
	// Path is the dotted way into its data; empty means all of it.
	Path string
}

// Lookup gives the revision that an embed refers to. Errors of kind NotFound
// and Rejected are the document's fault and fall under the policy; others end
// the resolution.
type Lookup func(ctx context.Context, e Embed) (*Revision, error)

// Resolution replaces embeds by what they refer to.
type Resolution struct {
	Lookup    Lookup
	MaxDepth  int
	MaxEmbeds int
	Policy    ErrorPolicy
}

// ResolutionInfo tells what a resolution did.
type ResolutionInfo struct {
	ReferencesUsed []Entities `json:"references_used"`
	DepthReached   int        `json:"depth_reached"`
	EmbedsResolved int        `json:"embeds_resolved"`
	Errors         []string   `json:"errors"`
}

// What may be wrong with an embed; the names are those of the placeholders.
var (
	errCircular = errors.New("CircularEmbedError")
	errDepth    = errors.New("MaxDepthExceededError")
	errCount    = errors.New("MaxEmbedsExceededError")
	errPath     = errors.New("PathExtractionError")
	errForm     = errors.New("InvalidEmbedError")
	errMissing  = errors.New("EmbedNotFoundError")
)

type embedError struct {
	kind error
	text string
}

func (e *embedError) Error() string { return e.text }
func (e *embedError) Unwrap() error { return e.kind }

func broken(kind error, format string, args ...any) error {
	return &embedError{kind: kind, text: fmt.Sprintf(format, args...)}
}

// Resolve gives the document with every embed replaced, in objects and within
// strings. The given document is not touched.
func (r Resolution) Resolve(ctx context.Context, d Document) (Document, ResolutionInfo, error) {
	run := resolving{Resolution: r, left: maxEmbedded, info: ResolutionInfo{ReferencesUsed: []Entities{}, Errors: []string{}}}
	value, err := run.value(ctx, map[string]any(d), nil)
	if err != nil {
		if _, ok := errors.AsType[*embedError](err); ok {
			err = domain.Wrap(domain.Rejected, err, "%s", err)
		}
		return nil, run.info, err
	}
	m, ok := value.(map[string]any)
	if !ok {
		return nil, run.info, domain.E(domain.Rejected, "The embed in place of the whole document does not lead to an object.")
	}
	return m, run.info, nil
}

type resolving struct {
	Resolution
	info ResolutionInfo
	// left is what embeds may still bring.
	left int
}

// weigh takes an embedded value off the bound; what is below it is weighed by itself.
func (r *resolving) weigh(value any) error {
	const about = 16 // of a value in memory, and of a member
	r.left -= about
	switch v := value.(type) {
	case string:
		r.left -= len(v)
	case map[string]any:
		for name := range v {
			r.left -= about + len(name)
		}
	default:
	}
	if r.left < 0 {
		return domain.E(domain.TooLarge, "The embeds come to more than %d MiB.", maxEmbedded>>20)
	}
	return nil
}

// value resolves below a value; stack holds what is being resolved now, so
// that a document which embeds itself is found out.
func (r *resolving) value(ctx context.Context, value any, stack []string) (any, error) {
	if len(stack) > 0 {
		if err := r.weigh(value); err != nil {
			return nil, err
		}
	}
	switch v := value.(type) {
	case map[string]any:
		if embed, ok := v[embedKey]; ok {
			return r.object(ctx, v, embed, stack)
		}
		out := make(map[string]any, len(v))
		// Sorted, so that the limits and the errors do not depend on chance.
		for _, k := range slices.Sorted(maps.Keys(v)) {
			next, err := r.value(ctx, v[k], stack)
			if err != nil {
				return nil, err
			}
			out[k] = next
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			next, err := r.value(ctx, e, stack)
			if err != nil {
				return nil, err
			}
			out[i] = next
		}
		return out, nil
	case string:
		return r.text(ctx, v, stack)
	default:
		return value, nil
	}
}

func (r *resolving) object(ctx context.Context, whole map[string]any, embed any, stack []string) (any, error) {
	e, err := parseEmbed(embed)
	if err == nil {
		var value any
		if value, err = r.embed(ctx, e, stack); err == nil {
			return value, nil
		}
	}
	return r.failed(err, whole)
}

// failed applies the policy to an embed's error.
func (r *resolving) failed(err error, whole any) (any, error) {
	e, ok := errors.AsType[*embedError](err)
	if !ok {
		return nil, err
	}
	r.info.Errors = append(r.info.Errors, e.text)
	switch r.Policy {
	case PlaceholderOnError:
		return "<error:" + e.kind.Error() + ">", nil
	case KeepOnError:
		return whole, nil
	default:
		return nil, err
	}
}

func (r *resolving) embed(ctx context.Context, e Embed, stack []string) (any, error) {
	depth := len(stack) + 1
	if depth > r.MaxDepth {
		return nil, broken(errDepth, "Embeds are nested deeper than %d.", r.MaxDepth)
	}
	if r.info.EmbedsResolved >= r.MaxEmbeds {
		return nil, broken(errCount, "There are more than %d embeds.", r.MaxEmbeds)
	}
	r.info.EmbedsResolved++
	r.info.DepthReached = max(r.info.DepthReached, depth)
	r.info.ReferencesUsed = append(r.info.ReferencesUsed, e.References)
	found, err := r.Lookup(ctx, e)
	if kind := domain.KindOf(err); err != nil && (kind == domain.NotFound || kind == domain.Rejected) {
		return nil, broken(errMissing, "An embed refers to nothing: %s", err)
	}
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, broken(errMissing, "An embed refers to nothing: %s", describe(e.References))
	}
	// A document may embed another part of itself; the same part again never ends.
	here := found.ID.String() + "/" + e.Path
	if slices.Contains(stack, here) {
		return nil, broken(errCircular, "Embeds refer to each other in a circle: %s.", strings.Join(append(slices.Clone(stack), here), " -> "))
	}
	part, err := extract(map[string]any(found.Data), e.Path)
	if err != nil {
		return nil, err
	}
	return r.value(ctx, part, append(slices.Clip(stack), here))
}

func extract(value any, path string) (any, error) {
	if path == "" {
		return value, nil
	}
	for name := range strings.SplitSeq(path, ".") {
		next, ok := child(value, name)
		if !ok {
			return nil, broken(errPath, "The path %q of an embed leads nowhere at %q.", path, name)
		}
		value = next
	}
	return value, nil
}

func child(value any, name string) (any, bool) {
	switch v := value.(type) {
	case map[string]any:
		next, ok := v[name]
		return next, ok
	case []any:
		for i, e := range v {
			if strconv.Itoa(i) == name {
				return e, true
			}
		}
	default:
	}
	return nil, false
}

func describe(e Entities) string {
	text, err := json.Marshal(e)
	if err != nil {
		return ""
	}
	return string(text)
}

// text replaces every @ag.embed[...] within a string.
func (r *resolving) text(ctx context.Context, s string, stack []string) (any, error) {
	var out strings.Builder
	end := 0
	for _, at := range tokens(s) {
		out.WriteString(s[end:at.start])
		token := s[at.start:at.end]
		end = at.end
		e, err := parseToken(token)
		var value any
		if err == nil {
			value, err = r.embed(ctx, e, stack)
		}
		if err != nil {
			if value, err = r.failed(err, token); err != nil {
				return nil, err
			}
		}
		text, ok := value.(string)
		if !ok {
			encoded, err := json.Marshal(value)
			if err != nil {
				return nil, fmt.Errorf("entity: writing an embed as text: %w", err)
			}
			text = string(encoded)
		}
		out.WriteString(text)
	}
	out.WriteString(s[end:])
	return out.String(), nil
}
