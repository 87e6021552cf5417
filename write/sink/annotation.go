package sink

import (
	"bytes"
	"context"
	"slices"

	"colonnade/domain"
	"colonnade/domain/semconv"
	"colonnade/domain/simple"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/write/sink/internal/native"
)

// The bounds of what a row of annotations copies: beyond them it says that it
// is not whole, and readers look in span_payloads_packed.
const (
	maxCopiedBytes = 32 << 10
	maxCopies      = 16
)

// annotates tells whether a span has rows in annotations: it points at what it
// is about, or it is a root that says it is an annotation. It follows from the
// span alone, so that a change of the trace's type moves no row in or out.
func annotates(e *entry) bool {
	return len(e.span.Links) > 0 || e.span.IsRoot() && e.declared == trace.Annotation
}

// judges tells whether a span is a root that names an evaluator. It has a row
// in evaluation_index even if nothing else of it says that it is an annotation: its
// trace may become one, and readers find all that name an evaluator there.
func judges(s *trace.Span) bool {
	return s.IsRoot() && slices.ContainsFunc(s.References, func(r trace.Reference) bool {
		return r.Key == evaluatorReference && schema.EvaluatorKey(r.ID, r.Slug) != ""
	})
}

// evaluatorReference is the key of the reference to an evaluator.
const evaluatorReference = "evaluator"

// annotationRows are the rows of a batch for annotation_index and evaluation_index.
type annotationRows struct {
	links   *annotationColumns
	results *resultColumns
}

func newAnnotationRows() *annotationRows {
	return &annotationRows{newAnnotationColumns(), newResultColumns()}
}

func (a *annotationRows) reset() {
	a.links.Reset()
	a.results.Reset()
}

// append adds the rows of a span, if it has any.
func (a *annotationRows) append(e *entry, d *document) {
	said := annotates(e)
	if !said && !judges(e.span) {
		return
	}
	f := factOf(e, d)
	if said {
		for i, l := range linksOf(e.span) {
			a.links.append(&f, l, i < maxCopies && len(f.outputs) <= maxCopiedBytes)
		}
	}
	if f.evaluatorKey != "" {
		a.results.append(&f)
	}
}

// linksOf gives what a span points at, each once; the zero link where it points at nothing.
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

// fact is what the rows of a span are made of.
type fact struct {
	e                                             *entry
	origin, kind, channel                         uint8
	evaluator, application                        domain.Reference
	evaluatorKey, evaluatorRevision               string
	applicationRevision, testsetRevision, subject string
	outputs                                       []byte
	// leaves are those of the document whose path begins with outputsPath.
	d *document
}

func factOf(e *entry, d *document) fact {
	f := fact{e: e, d: d, outputs: d.texts[textOutputs]}
	refs := map[string]domain.Reference{}
	for _, r := range e.span.References {
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
	origin, kind, channel := simple.Words(e.span)
	f.origin, f.kind, f.channel = originEnum(origin), kindEnum(kind), channelEnum(channel)
	return f
}

// The numbers of the words in the tables. Source: migrations/clickhouse/0001_schema.sql.
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

// annotationKey is the columns that both tables have.
type annotationKey struct {
	columns
	project, start, tie, traceType, trace, span, version *native.Fixed
	evaluatorKey, applicationRevision, testsetRevision   *native.Dictionary
	testcase                                             *native.String
}

func (c *annotationKey) make() {
	c.project = c.fixed("project_id", typeUUID, 16)
	c.start = c.fixed("start_time", typeTime, 8)
	c.tie = c.fixed("sort_hash", "UInt64", 8)
	c.traceType = c.fixed("trace_type", typeEnum, 1)
	c.trace = c.fixed("trace_id", typeTrace, 16)
	c.span = c.fixed("span_id", typeSpan, 8)
	c.version = c.fixed("version", "UInt64", 8)
	c.evaluatorKey = c.word("evaluator_key")
	c.applicationRevision = c.word("application_revision")
	c.testsetRevision = c.word("testset_revision")
	c.testcase = c.text("testcase")
}

func (c *annotationKey) append(f *fact) {
	e, s := f.e, f.e.span
	c.project.UUID(e.key.project)
	c.start.Int64(e.start)
	c.tie.Uint64(e.tie)
	c.traceType.Uint8(uint8(s.Type))
	c.trace.Bytes(s.TraceID[:])
	c.span.Bytes(s.SpanID[:])
	c.version.Uint64(e.version)
	c.evaluatorKey.Append(f.evaluatorKey)
	c.applicationRevision.Append(f.applicationRevision)
	c.testsetRevision.Append(f.testsetRevision)
	c.testcase.Append(f.subject)
}

// resultColumns are the rows of the table evaluation_index.
type resultColumns struct {
	annotationKey
	evaluatorID *native.Fixed
}

func newResultColumns() *resultColumns {
	c := &resultColumns{}
	c.make()
	c.evaluatorID = c.fixed("evaluator_id", typeUUID, 16)
	return c
}

func (c *resultColumns) append(f *fact) {
	c.annotationKey.append(f)
	c.evaluatorID.UUID(f.evaluator.ID)
}

// annotationColumns are the rows of the table annotation_index.
type annotationColumns struct {
	annotationKey
	linkTrace, linkSpan, origin, kind, channel, whole *native.Fixed
	evaluatorSlug, evaluatorRevision, applicationSlug *native.Dictionary
	outputs, strValues                                *native.String
	numKeys, strKeys, boolKeys                        *native.Dictionary
	numValues, boolValues                             *native.Fixed
	numbers, strings, bools                           *native.List
}

func newAnnotationColumns() *annotationColumns {
	c := &annotationColumns{}
	c.make()
	c.linkTrace = c.fixed("link_trace_id", typeTrace, 16)
	c.linkSpan = c.fixed("link_span_id", typeSpan, 8)
	c.origin = c.fixed("origin", typeEnum, 1)
	c.kind = c.fixed("kind", typeEnum, 1)
	c.channel = c.fixed("channel", typeEnum, 1)
	c.evaluatorSlug = c.word("evaluator_slug")
	c.evaluatorRevision = c.word("evaluator_revision")
	c.applicationSlug = c.word("application_slug")
	c.numKeys, c.strKeys, c.boolKeys = native.NewDictionary(), native.NewDictionary(), native.NewDictionary()
	c.numValues, c.boolValues, c.strValues = native.NewFixed(8), native.NewFixed(1), &native.String{}
	c.numbers, c.strings, c.bools = native.NewList(c.numKeys, c.numValues), native.NewList(c.strKeys, c.strValues), native.NewList(c.boolKeys, c.boolValues)
	c.Add("numbers", "Map("+typeWord+", Float64)", c.numbers)
	c.Add("strings", "Map("+typeWord+", String)", c.strings)
	c.Add("bools", "Map("+typeWord+", Bool)", c.bools)
	c.outputs = c.text("outputs")
	c.whole = c.fixed("whole", "Bool", 1)
	return c
}

// append adds a row; whole tells that it copies the outputs.
func (c *annotationColumns) append(f *fact, l trace.Link, whole bool) {
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
		c.leaves(f.d)
		c.outputs.AppendBytes(f.outputs)
	} else {
		c.outputs.Append("")
	}
	c.numbers.End()
	c.strings.End()
	c.bools.End()
	c.whole.Bool(whole)
}

// outputsPath is where the outputs begin among the leaves of a span. Those
// below are named by what follows; outputs that are one value have no name.
const outputsPath = semconv.Root + "." + semconv.Data + "." + semconv.Outputs

func (c *annotationColumns) leaves(d *document) {
	for i := range d.leaves {
		l := &d.leaves[i]
		path, ok := bytes.CutPrefix(d.pathOf(l), []byte(outputsPath))
		if !ok || len(path) > 0 && path[0] != '.' {
			continue
		}
		name := string(bytes.TrimPrefix(path, []byte{'.'}))
		switch l.kind {
		case kindNumber:
			c.numKeys.Append(name)
			c.numValues.Float64(l.number)
		case kindString:
			c.strKeys.Append(name)
			c.strValues.Append(l.text)
		case kindBool:
			c.boolKeys.Append(name)
			c.boolValues.Bool(l.number != 0)
		default: // what no map holds is in outputs
		}
	}
}

// writeAnnotations inserts a batch's rows of both tables. They come before the
// spans, so that a repetition that finds a span knows them stored; a row that
// is stored twice all the same is replaced by its equal.
func (w *worker) writeAnnotations(ctx context.Context, b *batch) error {
	rows := b.rows.annotations
	if rows.links.Rows() == 0 && rows.results.Rows() == 0 {
		return nil
	}
	var saying []*entry
	for _, e := range b.entries {
		if annotates(e) || judges(e.span) {
			saying = append(saying, e)
		}
	}
	if err := w.writeTable(ctx, b, schema.AnnotationIndex, &rows.links.Block, saying); err != nil {
		return err
	}
	return w.writeTable(ctx, b, schema.EvaluationIndex, &rows.results.Block, saying)
}

// annotationsOf makes a table's rows of some entries anew; nil for a table of spans.
func (w *worker) annotationsOf(entries []*entry, table string) *native.Block {
	if table != schema.AnnotationIndex && table != schema.EvaluationIndex {
		return nil
	}
	rows, document := newAnnotationRows(), &document{}
	for _, e := range entries {
		document.render(e.span, e.declared)
		rows.append(e, document)
	}
	if table == schema.EvaluationIndex {
		return &rows.results.Block
	}
	return &rows.links.Block
}
