package simple

import (
	"maps"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/semconv"
	"colonnade/domain/trace"
)

// The flags that say origin, kind and channel; what they do not say is kept
// beside ag, under own. Source: contract §4.1.
const (
	flagFeedback   = "is_feedback"
	flagCustom     = "is_custom"
	flagEvaluation = "is_evaluation"
	flagSDK        = "is_sdk"
	flagWeb        = "is_web"
	flagEvaluator  = "is_evaluator"

	own        = "colonnade"
	ownKind    = "kind"
	ownChannel = "channel"
)

// New makes the span of a new record; it stands at start, Unix nanoseconds.
func New(f Face, r *Record, start int64) trace.Span {
	s := trace.Span{
		TraceID: r.TraceID, SpanID: r.SpanID, Type: f.Type(), SpanType: trace.Task, Name: r.name(f),
		Start: start, End: start, Attributes: map[string]any{},
	}
	ag := member(s.Attributes, semconv.Root)
	ag[semconv.Type] = map[string]any{semconv.TypeTrace: f.Type().String(), semconv.TypeSpan: trace.Task.String()}
	if f == Annotation {
		member(ag, semconv.Flags)[flagEvaluator] = true
	}
	r.Write(f, &s)
	r.WriteLinks(&s)
	return s
}

func (r *Record) name(f Face) string {
	if slug := r.References[f.Entity()].Slug; slug != "" {
		return slug
	}
	if f == Invocation {
		return "invocation"
	}
	return "annotation"
}

// Write puts what the record says into its span, in place of what the span
// sent for it before; all else of the span stays, its links too.
func (r *Record) Write(f Face, s *trace.Span) {
	ag := member(s.Attributes, semconv.Root)
	put(ag, semconv.Data, r.Data)
	if parked, ok := ag[semconv.Unsupported].(map[string]any); ok {
		delete(parked, semconv.Data) // it was part of the data
	}
	put(ag, semconv.Tags, r.Tags)
	put(ag, semconv.Meta, r.Meta)
	references := map[string]any{}
	for key, ref := range r.References {
		if key != Selector {
			references[key] = referenceObject(ref)
		}
	}
	put(ag, semconv.References, references)
	r.writeSelector(ag)
	r.writeWords(f, s.Attributes, ag)
}

// WriteLinks puts the record's links into its span in place of those it had.
func (r *Record) WriteLinks(s *trace.Span) {
	s.Links = nil
	for _, l := range r.Links {
		attributes := map[string]any{}
		maps.Copy(attributes, l.Attributes)
		attributes["key"] = l.Name
		s.Links = append(s.Links, trace.Link{TraceID: l.TraceID, SpanID: l.SpanID, Attributes: attributes})
	}
}

func (r *Record) writeSelector(ag map[string]any) {
	ref := r.References[Selector]
	selector, _ := ag[semconv.Selector].(map[string]any)
	if selector == nil && ref.IsZero() {
		return
	}
	selector = member(ag, semconv.Selector)
	for _, name := range []string{semconv.ID, semconv.Slug, semconv.Version} {
		delete(selector, name) // other members are not the record's
	}
	maps.Copy(selector, referenceObject(ref))
	if len(selector) == 0 {
		delete(ag, semconv.Selector)
	}
}

func (r *Record) writeWords(f Face, attributes, ag map[string]any) {
	flags := member(ag, semconv.Flags)
	if f != Invocation {
		set(flags, flagFeedback, r.Origin == Human)
		set(flags, flagCustom, r.Origin == Custom)
	}
	set(flags, flagEvaluation, r.Kind == Eval)
	set(flags, flagSDK, r.Channel == SDK)
	set(flags, flagWeb, r.Channel == Web)
	if len(flags) == 0 {
		delete(ag, semconv.Flags)
	}
	ours := member(attributes, own)
	delete(ours, ownKind)
	delete(ours, ownChannel)
	if r.Kind == Play {
		ours[ownKind] = string(Play)
	}
	if r.Channel == OTLP {
		ours[ownChannel] = string(OTLP)
	}
	if len(ours) == 0 {
		delete(attributes, own)
	}
}

// Read gives the record that a span holds; ok is false where it holds no data
// and so is none.
func Read(f Face, s *trace.Span) (r Record, ok bool) {
	ag, _ := s.Attributes[semconv.Root].(map[string]any)
	r = Record{
		TraceID: s.TraceID, SpanID: s.SpanID,
		CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, CreatedBy: s.CreatedBy, UpdatedBy: s.UpdatedBy,
		Data: dataOf(ag), References: referencesOf(ag), Links: linksOf(s),
	}
	if len(r.Data) == 0 {
		return Record{}, false
	}
	r.Tags, _ = ag[semconv.Tags].(map[string]any)
	r.Meta, _ = ag[semconv.Meta].(map[string]any)
	flags, _ := ag[semconv.Flags].(map[string]any)
	ours, _ := s.Attributes[own].(map[string]any)
	r.Origin, r.Kind, r.Channel = originOf(f, flags), kindOf(flags, ours), channelOf(flags, ours)
	return r, true
}

func originOf(f Face, flags map[string]any) Origin {
	switch {
	case f == Invocation:
		return Custom // its origin is not stored (contract §4.4)
	case flags[flagFeedback] == true:
		return Human
	case flags[flagCustom] == true:
		return Custom
	default:
		return Auto
	}
}

func kindOf(flags, ours map[string]any) Kind {
	switch {
	case flags[flagEvaluation] == true:
		return Eval
	case ours[ownKind] == string(Play):
		return Play
	default:
		return Adhoc
	}
}

func channelOf(flags, ours map[string]any) Channel {
	switch {
	case flags[flagSDK] == true:
		return SDK
	case flags[flagWeb] == true:
		return Web
	case ours[ownChannel] == string(OTLP):
		return OTLP
	default:
		return API
	}
}

// dataOf is ag.data with what the fitting parked of it: a caller may record
// more than the four members, and reads all of it back.
func dataOf(ag map[string]any) map[string]any {
	data, _ := ag[semconv.Data].(map[string]any)
	parked, _ := ag[semconv.Unsupported].(map[string]any)
	more, _ := parked[semconv.Data].(map[string]any)
	if len(more) == 0 {
		return data
	}
	all := maps.Clone(more)
	maps.Copy(all, data)
	return all
}

func referencesOf(ag map[string]any) map[string]domain.Reference {
	found := map[string]domain.Reference{}
	objects, _ := ag[semconv.References].(map[string]any)
	for key, v := range objects {
		if ref := referenceFrom(v); !ref.IsZero() && semconv.ReferenceKey(key) {
			found[key] = ref
		}
	}
	if ref := referenceFrom(ag[semconv.Selector]); !ref.IsZero() {
		found[Selector] = ref
	}
	return found
}

func referenceFrom(v any) (ref domain.Reference) {
	object, _ := v.(map[string]any)
	if text, ok := object[semconv.ID].(string); ok {
		ref.ID, _ = uuid.Parse(text) // a malformed one never got past the fitting
	}
	ref.Slug, _ = object[semconv.Slug].(string)
	ref.Version, _ = object[semconv.Version].(string)
	return ref
}

func referenceObject(ref domain.Reference) map[string]any {
	object := map[string]any{}
	if ref.ID != uuid.Nil {
		object[semconv.ID] = ref.ID.String()
	}
	if ref.Slug != "" {
		object[semconv.Slug] = ref.Slug
	}
	if ref.Version != "" {
		object[semconv.Version] = ref.Version
	}
	return object
}

// linksOf names every link, so that none is hidden: those of instrumented
// programs may have no name, or one name for several.
func linksOf(s *trace.Span) []Link {
	links := make([]Link, 0, len(s.Links))
	var names Names
	for _, l := range s.Links {
		name := l.Key()
		if name == "" {
			name = "link"
		}
		link := Link{Name: names.Unique(name), TraceID: l.TraceID, SpanID: l.SpanID}
		if len(l.Attributes) > 1 || len(l.Attributes) == 1 && l.Key() == "" {
			link.Attributes = maps.Clone(l.Attributes)
			delete(link.Attributes, "key")
		}
		links = append(links, link)
	}
	if len(links) == 0 {
		return nil
	}
	return links
}

func member(object map[string]any, key string) map[string]any {
	m, ok := object[key].(map[string]any)
	if !ok {
		m = map[string]any{}
		object[key] = m
	}
	return m
}

// put sets a member, or removes it where there is nothing to say.
func put(object map[string]any, key string, value map[string]any) {
	if len(value) == 0 {
		delete(object, key)
		return
	}
	object[key] = value
}

func set(flags map[string]any, name string, on bool) {
	if on {
		flags[name] = true
		return
	}
	delete(flags, name)
}
