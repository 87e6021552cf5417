package rows

import (
	"bytes"
	"slices"

	"colonnade/domain"
	"colonnade/domain/semconv"
	"colonnade/domain/simple"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/write/sink/internal/native"
)

// The bounds of what a row of annotation_index copies. A row beyond them is marked as
// not whole, and readers read the payloads instead.
const (
	maxCopiedBytes = 32 << 10
	maxCopies      = 16
)

// HasAnnotation reports whether a span has rows in annotation_index: it has links, or
// it is a root that declares an annotation. The span alone decides, so that a change
// of the trace's type neither adds nor removes a row.
func HasAnnotation(e *Entry) bool {
	return len(e.Span.Links) > 0 || e.Span.IsRoot() && e.Declared == trace.Annotation
}

// HasEvaluator reports whether a span is a root that names an evaluator. It has a row
// in evaluation_index even if it is no annotation yet: its trace may become one, and
// readers find all spans that name an evaluator there.
func HasEvaluator(s *trace.Span) bool {
	return s.IsRoot() && slices.ContainsFunc(s.References, func(r trace.Reference) bool {
		return r.Key == evaluatorReference && schema.EvaluatorKey(r.ID, r.Slug) != ""
	})
}

// evaluatorReference is the key of the reference to an evaluator.
const evaluatorReference = "evaluator"

// AnnotationRows holds the rows of a batch for annotation_index and evaluation_index.
type AnnotationRows struct {
	Links   *annotationColumns
	Results *resultColumns
}

// NewAnnotationRows returns empty rows of both tables.
func NewAnnotationRows() *AnnotationRows {
	return &AnnotationRows{newAnnotationColumns(), newResultColumns()}
}

func (a *AnnotationRows) reset() {
	a.Links.Reset()
	a.Results.Reset()
}

// Append adds the rows of a span, if it has any.
func (a *AnnotationRows) Append(e *Entry, d *Content) {
	annotates := HasAnnotation(e)
	if !annotates && !HasEvaluator(e.Span) {
		return
	}
	f := annotationOf(e, d)
	if annotates {
		for i, l := range linksOf(e.Span) {
			a.Links.append(&f, l, i < maxCopies && len(f.outputs) <= maxCopiedBytes)
		}
	}
	if f.evaluatorKey != "" {
		a.Results.append(&f)
	}
}

// linksOf returns the targets of a span's links, each once, or the zero link if it
// has none.
func linksOf(s *trace.Span) []trace.Link {
	type target struct {
		trace trace.TraceID
		span  trace.SpanID
	}
	if len(s.Links) <= 1 {
		return append(make([]trace.Link, 0, 1), firstLink(s))
	}
	seen := make(map[target]bool, len(s.Links))
	out := make([]trace.Link, 0, len(s.Links))
	for _, l := range s.Links {
		if t := (target{l.TraceID, l.SpanID}); !seen[t] {
			seen[t] = true
			out = append(out, l)
		}
	}
	return out
}

func firstLink(s *trace.Span) (l trace.Link) {
	if len(s.Links) > 0 {
		l = s.Links[0]
	}
	return l
}

// annotation is the data of the rows of one span.
type annotation struct {
	e                                             *Entry
	origin, kind, channel                         uint8
	evaluator, application                        domain.Reference
	evaluatorKey, evaluatorRevision               string
	applicationRevision, testsetRevision, subject string
	outputs                                       []byte
	// leaves are those of the document whose path begins with outputsPath.
	d *Content
}

func annotationOf(e *Entry, d *Content) annotation {
	f := annotation{e: e, d: d, outputs: d.payloads[payloadOutputs]}
	refs := map[string]domain.Reference{}
	for _, r := range e.Span.References {
		refs[r.Key] = r.Reference
	}
	f.evaluator, f.application = refs[evaluatorReference], refs["application"]
	key := func(name string) string { return schema.EvaluatorKey(refs[name].ID, refs[name].Slug) }
	revision := func(name, of string) string {
		r := refs[name]
		return schema.RevisionKey(r.ID, r.Slug, r.Version, of)
	}
	f.evaluatorKey = key(evaluatorReference)
	f.evaluatorRevision = revision("evaluator_revision", f.evaluatorKey)
	f.applicationRevision = revision("application_revision", key("application"))
	f.testsetRevision = revision("testset_revision", key("testset"))
	f.subject = revision("testcase", "")
	origin, kind, channel := simple.Words(e.Span)
	f.origin, f.kind, f.channel = originEnum(origin), kindEnum(kind), channelEnum(channel)
	return f
}

// The numbers of the enum values in the tables. Source: migrations/clickhouse/0001_schema.sql.
func originEnum(o simple.Origin) uint8 {
	switch o {
	case simple.Custom:
		return 1
	case simple.Human:
		return 2
	default:
		return 3
	}
}

func kindEnum(k simple.Kind) uint8 {
	switch k {
	case simple.Adhoc:
		return 1
	case simple.Eval:
		return 2
	default:
		return 3
	}
}

func channelEnum(c simple.Channel) uint8 {
	switch c {
	case simple.OTLP:
		return 1
	case simple.Web:
		return 2
	case simple.SDK:
		return 3
	default:
		return 4
	}
}

// annotationKey holds the columns that both tables have.
type annotationKey struct {
	Columns
	project, start, sortHash, traceType, trace, span, version *native.Fixed
	evaluatorKey, applicationRevision, testsetRevision        *native.Dictionary
	testcase                                                  *native.String
}

func (c *annotationKey) addColumns() {
	c.project = c.Fixed("project_id", TypeUUID, 16)
	c.start = c.Fixed("start_time", TypeTime, 8)
	c.sortHash = c.Fixed("sort_hash", "UInt64", 8)
	c.traceType = c.Fixed("trace_type", TypeEnum, 1)
	c.trace = c.Fixed("trace_id", TypeTraceID, 16)
	c.span = c.Fixed("span_id", TypeSpanID, 8)
	c.version = c.Fixed("version", "UInt64", 8)
	c.evaluatorKey = c.LowCardinality("evaluator_key")
	c.applicationRevision = c.LowCardinality("application_revision")
	c.testsetRevision = c.LowCardinality("testset_revision")
	c.testcase = c.Text("testcase")
}

func (c *annotationKey) append(f *annotation) {
	e, s := f.e, f.e.Span
	c.project.UUID(e.Key.Project)
	c.start.Int64(e.Start)
	c.sortHash.Uint64(e.SortHash)
	c.traceType.Uint8(uint8(s.Type))
	c.trace.Bytes(s.TraceID[:])
	c.span.Bytes(s.SpanID[:])
	c.version.Uint64(e.Version)
	c.evaluatorKey.Append(f.evaluatorKey)
	c.applicationRevision.Append(f.applicationRevision)
	c.testsetRevision.Append(f.testsetRevision)
	c.testcase.Append(f.subject)
}

// resultColumns holds the rows of the table evaluation_index.
type resultColumns struct {
	annotationKey
	evaluatorID *native.Fixed
}

func newResultColumns() *resultColumns {
	c := &resultColumns{}
	c.addColumns()
	c.evaluatorID = c.Fixed("evaluator_id", TypeUUID, 16)
	return c
}

func (c *resultColumns) append(f *annotation) {
	c.annotationKey.append(f)
	c.evaluatorID.UUID(f.evaluator.ID)
}

// annotationColumns holds the rows of the table annotation_index.
type annotationColumns struct {
	annotationKey
	linkTrace, linkSpan, origin, kind, channel, whole *native.Fixed
	evaluatorSlug, evaluatorRevision, applicationSlug *native.Dictionary
	outputs, stringValues                             *native.String
	numberKeys, stringKeys, boolKeys                  *native.Dictionary
	numberValues, boolValues                          *native.Fixed
	numbers, strings, bools                           *native.List
}

func newAnnotationColumns() *annotationColumns {
	c := &annotationColumns{}
	c.addColumns()
	c.linkTrace = c.Fixed("link_trace_id", TypeTraceID, 16)
	c.linkSpan = c.Fixed("link_span_id", TypeSpanID, 8)
	c.origin = c.Fixed("origin", TypeEnum, 1)
	c.kind = c.Fixed("kind", TypeEnum, 1)
	c.channel = c.Fixed("channel", TypeEnum, 1)
	c.evaluatorSlug = c.LowCardinality("evaluator_slug")
	c.evaluatorRevision = c.LowCardinality("evaluator_revision")
	c.applicationSlug = c.LowCardinality("application_slug")
	c.numberKeys, c.stringKeys, c.boolKeys = native.NewDictionary(), native.NewDictionary(), native.NewDictionary()
	c.numberValues, c.boolValues, c.stringValues = native.NewFixed(8), native.NewFixed(1), &native.String{}
	c.numbers, c.strings, c.bools = native.NewList(c.numberKeys, c.numberValues), native.NewList(c.stringKeys, c.stringValues), native.NewList(c.boolKeys, c.boolValues)
	c.Add("numbers", "Map("+typeLowCardinality+", Float64)", c.numbers)
	c.Add("strings", "Map("+typeLowCardinality+", String)", c.strings)
	c.Add("bools", "Map("+typeLowCardinality+", Bool)", c.bools)
	c.outputs = c.Text("outputs")
	c.whole = c.Fixed("whole", "Bool", 1)
	return c
}

// append adds a row; whole reports that it copies the outputs.
func (c *annotationColumns) append(f *annotation, l trace.Link, whole bool) {
	c.annotationKey.append(f)
	c.linkTrace.Bytes(l.TraceID[:])
	c.linkSpan.Bytes(l.SpanID[:])
	c.origin.Uint8(f.origin)
	c.kind.Uint8(f.kind)
	c.channel.Uint8(f.channel)
	c.evaluatorSlug.Append(f.evaluator.Slug)
	c.evaluatorRevision.Append(f.evaluatorRevision)
	c.applicationSlug.Append(f.application.Slug)
	if whole {
		c.attributes(f.d)
		c.outputs.AppendBytes(f.outputs)
	} else {
		c.outputs.Append("")
	}
	c.numbers.End()
	c.strings.End()
	c.bools.End()
	c.whole.Bool(whole)
}

// outputsPath is the path of the outputs among the flattened attributes of a span.
// A value below it is named by the rest of its path; outputs of one value have no name.
const outputsPath = semconv.Root + "." + semconv.Data + "." + semconv.Outputs

func (c *annotationColumns) attributes(d *Content) {
	for i := range d.attributes {
		l := &d.attributes[i]
		path, ok := bytes.CutPrefix(d.pathOf(l), []byte(outputsPath))
		if !ok || len(path) > 0 && path[0] != '.' {
			continue
		}
		name := string(bytes.TrimPrefix(path, []byte{'.'}))
		switch l.kind {
		case KindNumber:
			c.numberKeys.Append(name)
			c.numberValues.Float64(l.number)
		case KindString:
			c.stringKeys.Append(name)
			c.stringValues.Append(l.text)
		case KindBool:
			c.boolKeys.Append(name)
			c.boolValues.Bool(l.number != 0)
		default: // the copied outputs have it
		}
	}
}

// MayHaveAnnotations reports whether a trace may have rows in annotation_index or
// evaluation_index: it declares an annotation, has links or names an evaluator.
func MayHaveAnnotations(declared trace.Type, linked, hasEvaluator bool) bool {
	return linked || hasEvaluator || declared == trace.Annotation
}
