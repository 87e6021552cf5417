package spans

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/request"
	"colonnade/domain/semconv"
	"colonnade/domain/simple"
	"colonnade/domain/trace"
	"colonnade/read/api"
)

// MountSimple mounts the routes that look at simple traces, annotations and
// invocations; commands on them are the write side's. Source: contract §4.
func (s *Routes) MountSimple(r api.Router) {
	r = leasing{r, s.reader}
	for _, f := range []simple.Face{simple.Trace, simple.Annotation, simple.Invocation} {
		view := simples{Routes: s, face: f}
		op := domain.Operation{Permission: domain.ViewSpans, Preview: true, Tag: f.Members()}
		op.Method, op.Path, op.Summary = http.MethodGet, f.Path()+":trace_id", "Fetch a simple "+f.Member()+" by its trace id."
		one, list, _ := simple.Views(f)
		op.Response = one
		if f != simple.Trace {
			op.Query = []domain.Parameter{{Name: "span_id", Type: "string", Doc: "The span that holds the record; the trace's root without it."}}
		}
		r.Handle(op, view.fetch)
		op.Method, op.Path, op.Summary = http.MethodPost, f.Path()+"query", "Query simple "+f.Members()+" by what they say, refer to and are linked with."
		op.Response = list
		op.Query, op.Request = nil, queryView(f)
		r.Handle(op, view.list)
	}
}

// simples is one face.
type simples struct {
	*Routes
	face simple.Face
}

// fetch gives the record that a trace holds: in its first root, or in the span that is named.
func (s simples) fetch(c *gin.Context) error {
	id, err := trace.ParseTraceID(c.Param("trace_id"))
	if err != nil {
		return err
	}
	var spanID trace.SpanID
	if text := c.Query("span_id"); text != "" && s.face != simple.Trace {
		if spanID, err = trace.ParseSpanID(text); err != nil {
			return err
		}
	}
	ctx, project, err := s.Caller(c)
	if err != nil {
		return err
	}
	found, err := s.reader.TracesByID(ctx, project, []trace.TraceID{id})
	if err != nil {
		return err
	}
	w := s.reply(c)
	defer w.release()
	if record, ok := s.recordOf(found, spanID); ok {
		w.open(1, s.face.Member())
		w.buf = record.AppendJSON(w.buf)
	} else {
		w.open(0, "")
	}
	return w.end(domain.Window{})
}

func (s simples) recordOf(found [][]trace.Span, id trace.SpanID) (simple.Record, bool) {
	if len(found) == 0 {
		return simple.Record{}, false
	}
	span := trace.BuildTree(found[0])[0].Span
	if !id.IsZero() {
		at := slices.IndexFunc(found[0], func(x trace.Span) bool { return x.SpanID == id })
		if at < 0 {
			return simple.Record{}, false
		}
		span = &found[0][at]
	}
	return s.record(span)
}

// record is what a span holds, which is looked into for it.
func (s simples) record(span *trace.Span) (simple.Record, bool) {
	jsonvalue.Expand(span.Attributes)
	return simple.Read(s.face, api.Unwrapped(span))
}

// list gives a page of the records that a query asks for.
func (s simples) list(c *gin.Context) error {
	q, w, err := s.read(c)
	if err != nil {
		return err
	}
	window, err := s.Window(&w, []any{"body", "windowing"})
	if err != nil {
		return err
	}
	where, err := q.Filter(s.face)
	if err != nil {
		return err
	}
	ctx, project, err := s.Caller(c)
	if err != nil {
		return err
	}
	page, err := s.reader.Records(ctx, project, where, window)
	if err != nil {
		return err
	}
	records := make([]simple.Record, 0, len(page.Items))
	for i := range page.Items {
		if record, ok := s.record(&page.Items[i]); ok {
			records = append(records, record)
		}
	}
	out := s.reply(c)
	defer out.release()
	out.open(len(records), s.face.Members())
	out.buf = append(out.buf, '[')
	for i := range records {
		out.next(i)
		out.buf = records[i].AppendJSON(out.buf)
	}
	out.buf = append(out.buf, ']')
	return out.end(page.Following(window))
}

// simpleQuery is what a query says of the records. Source: contract §4.2.
type simpleQuery struct {
	Origin     simple.Origin               `json:"origin"`
	Kind       simple.Kind                 `json:"kind"`
	Channel    simple.Channel              `json:"channel"`
	Tags       map[string]any              `json:"tags"`
	Meta       map[string]any              `json:"meta"`
	References map[string]domain.Reference `json:"references"`
	Links      json.RawMessage             `json:"links"`
}

type (
	tracesQuery struct {
		Trace     simpleQuery     `json:"trace"`
		Links     json.RawMessage `json:"links"`
		Windowing api.Windowing   `json:"windowing"`
	}
	annotationsQuery struct {
		Annotation simpleQuery     `json:"annotation"`
		Links      json.RawMessage `json:"annotation_links"`
		Windowing  api.Windowing   `json:"windowing"`
	}
	invocationsQuery struct {
		Invocation simpleQuery     `json:"invocation"`
		Links      json.RawMessage `json:"invocation_links"`
		Windowing  api.Windowing   `json:"windowing"`
	}
)

func queryView(f simple.Face) any {
	switch f {
	case simple.Annotation:
		return annotationsQuery{}
	case simple.Invocation:
		return invocationsQuery{}
	default:
		return tracesQuery{}
	}
}

// read reads a query's body.
func (s simples) read(c *gin.Context) (q simple.Query, w api.Windowing, err error) {
	var asked simpleQuery
	var own json.RawMessage
	ownMember := s.face.LinkMember() + "s"
	switch s.face {
	case simple.Annotation:
		var b annotationsQuery
		err = api.DecodeBody(c, &b, false)
		asked, own, w = b.Annotation, b.Links, b.Windowing
	case simple.Invocation:
		var b invocationsQuery
		err = api.DecodeBody(c, &b, false)
		asked, own, w = b.Invocation, b.Links, b.Windowing
	default:
		var b tracesQuery
		err = api.DecodeBody(c, &b, false)
		asked, own, w = b.Trace, b.Links, b.Windowing
	}
	if err != nil {
		return q, w, err
	}
	q = simple.Query{
		Origin: asked.Origin, Kind: asked.Kind, Channel: asked.Channel, Tags: asked.Tags, Meta: asked.Meta, References: asked.References,
	}
	for key, ref := range q.References {
		if !semconv.ReferenceKey(key) && key != simple.Selector {
			return q, w, request.Invalid("extra_forbidden", "Extra inputs are not permitted", ref, "body", s.face.Member(), "references", key)
		}
		if ref == (domain.Reference{}) {
			delete(q.References, key) // a null or empty one restricts nothing
		}
	}
	if q.Links, q.AnyLink, err = readLinks(asked.Links, "body", s.face.Member(), "links"); err != nil {
		return q, w, err
	}
	if q.Own, _, err = readLinks(own, "body", ownMember); err != nil {
		return q, w, err
	}
	for i, l := range q.Own {
		if l.TraceID.IsZero() {
			return q, w, request.Invalid("missing", "Field required", nil, "body", ownMember, i, "trace_id")
		}
	}
	return q, w, nil
}

// readLinks reads links as a list, or as a map by any names. A null or an
// absent id stands for any; a link without ids is refused.
func readLinks(raw json.RawMessage, loc ...any) (links []simple.Link, list bool, err error) {
	if !given(raw) {
		return nil, false, nil
	}
	v, err := jsonvalue.Parse(raw)
	if err != nil {
		return nil, false, err
	}
	add := func(v, key any) error {
		object, ok := v.(map[string]any)
		if !ok {
			return request.Invalid("dict_type", "Input should be a valid dictionary", v, slices.Concat(loc, []any{key})...)
		}
		l, err := linkOf(object, slices.Concat(loc, []any{key}))
		links = append(links, l)
		return err
	}
	switch v := v.(type) {
	case []any:
		list = true
		for i, e := range v {
			if err := add(e, i); err != nil {
				return nil, false, err
			}
		}
	case map[string]any:
		for name, e := range v {
			if e == nil {
				continue
			}
			if err := add(e, name); err != nil {
				return nil, false, err
			}
		}
	default:
		return nil, false, request.Invalid("dict_type", "Input should be a valid dictionary or list", v, loc...)
	}
	return links, list, nil
}

func linkOf(object map[string]any, loc []any) (l simple.Link, err error) {
	for key, v := range object {
		at := slices.Concat(loc, []any{key})
		text, isText := v.(string)
		switch {
		case v == nil || key == "attributes":
		case key != "trace_id" && key != "span_id":
			return l, request.Invalid("extra_forbidden", "Extra inputs are not permitted", v, at...)
		case !isText:
			return l, request.Invalid("string_type", "Input should be a valid string", v, at...)
		case key == "trace_id":
			if l.TraceID, err = trace.ParseTraceID(text); err != nil {
				return l, request.Invalid("value_error", "Invalid trace_id.", v, at...)
			}
		default:
			if l.SpanID, err = trace.ParseSpanID(text); err != nil {
				return l, request.Invalid("value_error", "Invalid span_id.", v, at...)
			}
		}
	}
	if l.TraceID.IsZero() && l.SpanID.IsZero() {
		return l, request.Invalid("missing", "Field required", nil, slices.Concat(loc, []any{"trace_id"})...)
	}
	return l, nil
}
