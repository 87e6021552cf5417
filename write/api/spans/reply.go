package spans

import (
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/request"
	"colonnade/domain/trace"
	"colonnade/domain/trace/spanmetrics"
	"colonnade/domain/trace/tracejson"
	"colonnade/write/api"
	"colonnade/write/ingest"
	"colonnade/write/normalize"
	"colonnade/write/otlp/wire"
)

// oneTrace is the first check of a body that holds one trace. Source: contract §1.11.
func oneTrace(b *traceBody) error {
	switch {
	case !b.has["trace"]:
		return domain.E(domain.Rejected, "Missing trace")
	case len(b.traces[0].spans) == 0:
		return domain.E(domain.Rejected, "Missing spans")
	default:
		return nil
	}
}

// nodesOf are the spans of the deprecated body that holds one trace.
func nodesOf(b *traceBody) ([]spanNode, error) {
	nodes := b.spans
	if b.has["traces"] {
		if len(b.traces) > 1 {
			return nil, domain.E(domain.Rejected, "Too many traces")
		}
		if len(b.traces) == 0 {
			return nil, domain.E(domain.Rejected, "Missing trace")
		}
		if len(nodes) > 0 {
			return nil, domain.E(domain.Rejected, "Give spans or traces, not both.")
		}
		nodes = b.traces[0].spans
	}
	if len(nodes) == 0 {
		return nil, domain.E(domain.Rejected, "Missing spans")
	}
	return nodes, nil
}

// oneRoot is oneRoot of the nodes that were read, unless what is wrong with one of
// them says more: a parent_id that is none is no missing root.
func (r *spanReader) oneRoot(nodes []spanNode) error {
	err := oneRoot(nodes)
	if err != nil && len(r.refused) > 0 {
		return r.invalid()
	}
	return err
}

// oneRoot wants one span without a parent. A span whose parent is not in the
// body stands beside it, as queries return it. Source: contract §1.11, §0 row 19.
func oneRoot(nodes []spanNode) error {
	roots := 0
	for i := range nodes {
		if nodes[i].members["parent_id"] == nil {
			roots++
		}
	}
	switch roots {
	case 0:
		return domain.E(domain.Rejected, "Missing root span")
	case 1:
		return nil
	default:
		return domain.E(domain.Rejected, "Too many root spans")
	}
}

// payloadIDs are the trace ids that a body names, each once; ok is false where one is malformed.
func payloadIDs(b *traceBody) (ids []trace.TraceID, ok bool) {
	seen := map[trace.TraceID]bool{}
	ok = true
	add := func(v any) {
		if v == nil {
			return
		}
		text, _ := v.(string)
		id, err := trace.ParseTraceID(text)
		ok = ok && err == nil
		if !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	var walk func(nodes []spanNode)
	walk = func(nodes []spanNode) {
		for i := range nodes {
			add(nodes[i].members["trace_id"])
			walk(nodes[i].children)
		}
	}
	for i := range b.traces {
		add(b.traces[i].id)
		walk(b.traces[i].spans)
	}
	walk(b.spans)
	return ids, ok
}

// distinct refuses a trace that holds a span twice: one of the two would be lost.
func distinct(spans []trace.Span) error {
	seen := make(map[ingest.Link]bool, len(spans))
	for i := range spans {
		id := ingest.Link{TraceID: spans[i].TraceID, SpanID: spans[i].SpanID}
		if seen[id] {
			return request.Invalid("value_error", "Span "+id.SpanID.String()+" is there twice", id.SpanID.String(), "body")
		}
		seen[id] = true
	}
	return nil
}

// invalid names what is wrong with the spans.
func (r *spanReader) invalid() error {
	const most = 32
	e := &domain.Error{Kind: domain.Invalid}
	for _, bad := range r.refused {
		e.Fields = append(e.Fields, bad.fields[:min(len(bad.fields), most-len(e.Fields))]...)
	}
	e.Message = e.Fields[0].Msg
	return e
}

// Normalize gives spans as the sink will store them, with the cumulative metrics
// of the spans at hand; times of creation are the store's and not set.
func Normalize(f *normalize.Normalizer, spans []trace.Span) ([]trace.Span, error) {
	data, err := wire.AppendBody(nil, spans)
	if err != nil {
		return nil, err
	}
	fitted, refused, err := f.Spans(normalize.Meta{ReceivedAt: time.Unix(0, 0).UTC()}, data)
	if err != nil {
		return nil, err
	}
	if len(refused) > 0 {
		return nil, domain.E(domain.Rejected, "Span %s: %s", refused[0].SpanID, refused[0].Reason)
	}
	byTrace := map[trace.TraceID][]*trace.Span{}
	for i := range fitted {
		s := &fitted[i]
		s.CreatedAt = time.Time{}
		byTrace[s.TraceID] = append(byTrace[s.TraceID], s)
	}
	for _, of := range byTrace {
		normalize.Trace(of)
		spanmetrics.Cumulate(of)
	}
	return fitted, nil
}

// replyShape is the form of a reply to a write of spans.
type replyShape uint8

const (
	replyTrace    replyShape = iota + 1 // {count, trace_id, trace}: contract §0 row 5
	replyTraceIDs                       // {count, trace_ids}
	replyLinks                          // {count, links}
)

// respondSpans answers a write. fitted are the spans of replyTrace.
func respondSpans(c *gin.Context, receipt ingest.Receipt, fitted []trace.Span, shape replyShape) error {
	api.SetToken(c, receipt)
	var dst []byte
	switch shape {
	case replyTrace:
		id := fitted[0].TraceID
		dst = append(dst, `{"count":1,"trace_id":"`+id.String()+`","trace":`...)
		dst = append(tracejson.AppendTrace(dst, id, trace.BuildTree(fitted)), '}')
	case replyTraceIDs:
		ids := traceIDs(receipt.Links)
		dst = append(dst, `{"count":`...)
		dst = strconv.AppendInt(dst, int64(len(ids)), 10)
		dst = append(dst, `,"trace_ids":[`...)
		for i, id := range ids {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, `"`+id.String()+`"`...)
		}
		dst = append(appendPartial(append(dst, ']'), receipt), '}')
	default:
		dst = append(dst, `{"count":`...)
		dst = strconv.AppendInt(dst, int64(receipt.Count), 10)
		dst = append(dst, `,"links":[`...)
		for i, l := range receipt.Links {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, `{"trace_id":"`+l.TraceID.String()+`","span_id":"`+l.SpanID.String()+`"}`...)
		}
		dst = append(appendPartial(append(dst, ']'), receipt), '}')
	}
	c.Data(http.StatusAccepted, "application/json", dst)
	return nil
}

func traceIDs(links []ingest.Link) []trace.TraceID {
	var ids []trace.TraceID
	seen := map[trace.TraceID]bool{}
	for _, l := range links {
		if !seen[l.TraceID] {
			seen[l.TraceID] = true
			ids = append(ids, l.TraceID)
		}
	}
	return ids
}

// appendPartial appends which spans were refused, in the form of an OTLP reply. Source: contract §0 row 1.
func appendPartial(dst []byte, receipt ingest.Receipt) []byte {
	if receipt.Rejected.Count == 0 {
		return dst
	}
	dst = append(dst, `,"partialSuccess":{"rejectedSpans":`...)
	dst = strconv.AppendInt(dst, int64(receipt.Rejected.Count), 10)
	dst = append(dst, `,"errorMessage":`...)
	return append(jsonvalue.AppendString(dst, receipt.Message()), '}')
}

// What the API page shows of the bodies; they are read and written as text.
type (
	spanView struct {
		// Members of a span that are unknown are kept below ag.unsupported.
		_ struct{} `request:"open"`

		TraceID       string           `json:"trace_id"`
		SpanID        string           `json:"span_id"`
		ParentID      string           `json:"parent_id,omitempty"`
		TraceType     string           `json:"trace_type,omitempty"`
		SpanType      string           `json:"span_type,omitempty"`
		SpanKind      string           `json:"span_kind,omitempty"`
		SpanName      string           `json:"span_name,omitempty"`
		StartTime     time.Time        `json:"start_time,omitzero"`
		EndTime       time.Time        `json:"end_time,omitzero"`
		StatusCode    string           `json:"status_code,omitempty"`
		StatusMessage string           `json:"status_message,omitempty"`
		SessionID     string           `json:"session_id,omitempty"`
		UserID        string           `json:"user_id,omitempty"`
		AgentID       string           `json:"agent_id,omitempty"`
		Attributes    map[string]any   `json:"attributes,omitempty"`
		References    []map[string]any `json:"references,omitempty"`
		Links         []map[string]any `json:"links,omitempty"`
		Events        []map[string]any `json:"events,omitempty"`
		Resource      map[string]any   `json:"resource,omitempty"`
		Scope         *trace.Scope     `json:"scope,omitempty"`
		Spans         map[string]any   `json:"spans,omitempty"`
	}
	traceView struct {
		TraceID string              `json:"trace_id"`
		Spans   map[string]spanView `json:"spans"`
	}
	traceRequest struct {
		Trace traceView `json:"trace"`
	}
	tracesRequest struct {
		Traces []traceView `json:"traces"`
	}
	tracingRequest struct {
		Spans  []spanView           `json:"spans,omitempty"`
		Traces map[string]traceView `json:"traces,omitempty"`
	}
	traceReply struct {
		Count   int        `json:"count"`
		TraceID string     `json:"trace_id,omitempty"`
		Trace   *traceView `json:"trace,omitempty"`
	}
	traceIDsReply struct {
		Count    int      `json:"count"`
		TraceIDs []string `json:"trace_ids"`
	}
	linksReply struct {
		Count int           `json:"count"`
		Links []ingest.Link `json:"links"`
	}
)
