package simple

import (
	"maps"
	"slices"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/filter/filterjson"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/semconv"
	"colonnade/domain/trace"
)

// Query asks for records. Its zero value asks for all of a face; every member
// that is set restricts. Source: contract §4.2.
type Query struct {
	// Origin, Kind and Channel are those that a reader sees.
	Origin  Origin
	Kind    Kind
	Channel Channel
	// Tags and Meta hold where the record's contain them.
	Tags, Meta map[string]any
	// References hold where the record has one under that key with that id or
	// that slug, and with that version where one is given.
	References map[string]domain.Reference
	// Links hold where the record has each of them; with AnyLink, one of them.
	// A zero id stands for any.
	Links   []Link
	AnyLink bool
	// Own are the records' own ids; a zero SpanID stands for any.
	Own []Link
}

// Filter gives the filter that holds for the spans of these records: for the
// very spans of which Read makes such a record.
func (q *Query) Filter(f Face) (filter.Expr, error) {
	all := filter.And{
		filter.ParentID{In: []trace.SpanID{{}}},
		filter.TraceType{In: types(f)},
		filter.Or{exists(semconv.Root, semconv.Data), exists(semconv.Root, semconv.Unsupported, semconv.Data)},
	}
	all = append(all, q.own()...)
	all = append(all, q.words(f)...)
	contained, err := q.contained()
	if err != nil {
		return nil, err
	}
	all = append(all, contained...)
	for _, key := range slices.Sorted(maps.Keys(q.References)) {
		all = append(all, refersTo(key, q.References[key]))
	}
	return append(all, q.links()...), nil
}

func types(f Face) []trace.Type {
	if f == Trace {
		return []trace.Type{trace.Invocation, trace.Annotation}
	}
	return []trace.Type{f.Type()}
}

func exists(keys ...string) filter.Expr {
	return filter.Attribute{Of: filter.Attributes, Path: jsonvalue.JoinPath(keys...), Test: filter.Exists{}}
}

func (q *Query) own() []filter.Expr {
	if len(q.Own) == 0 {
		return nil
	}
	traces := filter.TraceID{}
	var pairs filter.Or
	for _, l := range q.Own {
		traces.In = append(traces.In, l.TraceID)
		one := filter.TraceID{In: []trace.TraceID{l.TraceID}}
		if l.SpanID.IsZero() {
			pairs = append(pairs, one)
		} else {
			pairs = append(pairs, filter.And{one, filter.SpanID{In: []trace.SpanID{l.SpanID}}})
		}
	}
	return []filter.Expr{traces, pairs}
}

// words says of origin, kind and channel what originOf, kindOf and channelOf read.
func (q *Query) words(f Face) []filter.Expr {
	flag := func(name string) filter.Expr { return is(true, semconv.Root, semconv.Flags, name) }
	not := func(e filter.Expr) filter.Expr { return filter.Not{Expr: e} }
	var all []filter.Expr
	switch {
	case f == Invocation && q.Origin != "" && q.Origin != Custom:
		all = append(all, filter.Or{}) // an invocation has no other
	case f == Invocation:
	case q.Origin == Human:
		all = append(all, flag(flagFeedback))
	case q.Origin == Custom:
		all = append(all, flag(flagCustom), not(flag(flagFeedback)))
	case q.Origin == Auto:
		all = append(all, not(flag(flagFeedback)), not(flag(flagCustom)))
	}
	ours := func(name, value string) filter.Expr { return is(value, own, name) }
	switch q.Kind {
	case Eval:
		all = append(all, flag(flagEvaluation))
	case Play:
		all = append(all, ours(ownKind, string(Play)), not(flag(flagEvaluation)))
	case Adhoc:
		all = append(all, not(flag(flagEvaluation)), not(ours(ownKind, string(Play))))
	}
	switch q.Channel {
	case SDK:
		all = append(all, flag(flagSDK))
	case Web:
		all = append(all, flag(flagWeb), not(flag(flagSDK)))
	case OTLP:
		all = append(all, ours(ownChannel, string(OTLP)), not(flag(flagSDK)), not(flag(flagWeb)))
	case API:
		all = append(all, not(flag(flagSDK)), not(flag(flagWeb)), not(ours(ownChannel, string(OTLP))))
	}
	return all
}

func is(value any, keys ...string) filter.Expr {
	return filter.Attribute{Of: filter.Attributes, Path: jsonvalue.JoinPath(keys...), Test: filter.Equal{Value: value}}
}

// contained makes conditions of tags and meta as a caller would write them.
func (q *Query) contained() ([]filter.Expr, error) {
	var conditions []any
	for name, object := range map[string]map[string]any{semconv.Tags: q.Tags, semconv.Meta: q.Meta} {
		for _, key := range slices.Sorted(maps.Keys(object)) {
			conditions = append(conditions, map[string]any{
				"field": "attributes", "key": jsonvalue.JoinPath(semconv.Root, name, key), "operator": "is", "value": object[key],
			})
		}
	}
	if len(conditions) == 0 {
		return nil, nil
	}
	e, err := filterjson.ParseValue(map[string]any{"conditions": conditions})
	return []filter.Expr{e}, err
}

func refersTo(key string, ref domain.Reference) filter.Expr {
	if key == Selector {
		named := referenceObject(ref)
		all := make(filter.And, 0, len(named))
		for member, value := range named {
			all = append(all, is(value, semconv.Root, semconv.Selector, member))
		}
		return all
	}
	var named filter.Or
	if ref.ID != uuid.Nil {
		named = append(named, filter.Reference{Key: key, ID: ref.ID})
	}
	if ref.Slug != "" {
		named = append(named, filter.Reference{Key: key, Slug: ref.Slug})
	}
	version := filter.Reference{Key: key, Version: ref.Version}
	switch {
	case len(named) == 0:
		return version // with no version either: any reference under the key
	case ref.Version == "":
		return named
	default:
		return filter.And{named, version}
	}
}

func (q *Query) links() []filter.Expr {
	all := make([]filter.Expr, len(q.Links))
	for i, l := range q.Links {
		all[i] = filter.Link{TraceID: l.TraceID, SpanID: l.SpanID}
	}
	if q.AnyLink && len(all) > 0 {
		return []filter.Expr{filter.Or(all)}
	}
	return all
}
