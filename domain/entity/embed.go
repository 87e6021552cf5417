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
	"colonnade/domain/jsonvalue"
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

// maxEmbedded bounds the approximate size in bytes of all embedded values of a document, because
// each embed may refer to a whole revision.
const maxEmbedded = 32 << 20

// ErrorPolicy decides the result for an embed that cannot be resolved.
type ErrorPolicy string

// The policies.
const (
	// FailOnError fails the resolution.
	FailOnError ErrorPolicy = "exception"
	// PlaceholderOnError replaces the embed by <error:Kind>.
	PlaceholderOnError ErrorPolicy = "placeholder"
	// KeepOnError leaves the embed unchanged.
	KeepOnError ErrorPolicy = "keep"
)

// Embed is a reference in a document to a part of another one.
type Embed struct {
	// References name the revision whose data is embedded.
	References Entities
	// Key selects the revision of an application if the references name an environment.
	Key string
	// Path is the dotted path in its data; empty means all of it.
	Path string
}

// Lookup returns the revision that an embed refers to. Errors of kind NotFound and Rejected are
// faults of the document, to which the policy applies; others fail the resolution.
type Lookup func(ctx context.Context, e Embed) (*Revision, error)

// Resolution replaces embeds by the values that they refer to.
type Resolution struct {
	Lookup    Lookup
	MaxDepth  int
	MaxEmbeds int
	Policy    ErrorPolicy
}

// ResolutionInfo is the report of a resolution.
type ResolutionInfo struct {
	ReferencesUsed []Entities `json:"references_used"`
	DepthReached   int        `json:"depth_reached"`
	EmbedsResolved int        `json:"embeds_resolved"`
	Errors         []string   `json:"errors"`
}

// The errors of an embed, with the names that placeholders show.
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

// Resolve returns the document with every embed replaced, in objects and within strings, and
// leaves d unchanged.
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
	// left is the number of bytes that embeds may still add.
	left int
}

// weigh subtracts an embedded value from the bound; nested embeds are subtracted on their own.
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

// value resolves the embeds of a value; stack has the embeds that are being resolved, so that a
// document which embeds itself is detected.
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
		// Sorted, so that the limits and the errors are the same every time.
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

// failed applies the policy to the error of an embed.
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
	// A document may embed another part of itself; the same part again would never end.
	here := found.ID.String() + "/" + e.Path
	if slices.Contains(stack, here) {
		return nil, broken(errCircular, "Embeds refer to each other in a circle: %s.", strings.Join(append(slices.Clone(stack), here), " -> "))
	}
	document, err := plainData(found.Data)
	if err != nil {
		return nil, err
	}
	return r.extract(ctx, document, e.Path, append(slices.Clip(stack), here))
}

// plainData returns the data of a revision as JSON values; that of an environment holds references.
func plainData(d Document) (any, error) {
	if _, ok := d["references"].(map[string]Entities); !ok {
		return map[string]any(d), nil
	}
	text, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("entity: writing an environment's references: %w", err)
	}
	return jsonvalue.Parse(text)
}

// extract returns the value at a path with its embeds resolved. A path may lead through an embed
// that is nested in the document; the others of the document are not resolved.
func (r *resolving) extract(ctx context.Context, value any, path string, stack []string) (any, error) {
	if path == "" {
		return r.value(ctx, value, stack)
	}
	resolved := false
	for names := strings.Split(path, "."); len(names) > 0; {
		if nested, ok := value.(map[string]any); ok && !resolved && nested[embedKey] != nil {
			var err error
			if value, err = r.object(ctx, nested, nested[embedKey], stack); err != nil {
				return nil, err
			}
			resolved = true
		}
		next, taken := step(value, names)
		if taken == 0 {
			return nil, broken(errPath, "The path %q of an embed leads nowhere at %q.", path, names[0])
		}
		value, names = next, names[taken:]
	}
	if resolved {
		return value, nil
	}
	return r.value(ctx, value, stack)
}

// step follows the first name of a path, or as few as make a name with dots, such as the key of
// an environment; taken is 0 if there is none.
func step(value any, names []string) (next any, taken int) {
	for taken = 1; taken <= len(names); taken++ {
		if next, ok := child(value, strings.Join(names[:taken], ".")); ok {
			return next, taken
		}
	}
	return nil, 0
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
