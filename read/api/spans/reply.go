package spans

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/domain/trace/tracejson"
	"colonnade/read/api"
	"colonnade/read/clickhouse"
)

// envelope is the shape of a reply that holds traces. Source: contract §0 row 10, §3.1.
type envelope uint8

const (
	envelopeList   envelope = iota + 1 // {count, traces: [{trace_id, spans}]}
	envelopeLegacy                     // {count, traces: {<trace_id>: {spans}}}
	envelopeTrace                      // {count, trace: {trace_id, spans}}, {count: 0} without one
)

const (
	// flushBytes is when a reply is sent on: a page of large spans never stands in memory twice.
	flushBytes = 256 << 10
	// writeBytes is what a client takes within stallTimeout, or it is disconnected.
	writeBytes   = 32 << 10
	stallTimeout = 30 * time.Second
	// keepBytes is the largest buffer that the pool keeps.
	keepBytes = 1 << 20
)

// writer builds a reply in a pooled buffer and sends it on as it grows. The
// status goes out with the first bytes: nothing may fail after the reader answered.
type writer struct {
	routes *Routes
	c      *gin.Context
	buf    []byte
	pooled *[]byte
	err    error
}

func (s *Routes) reply(c *gin.Context) *writer {
	pooled, ok := s.buffers.Get().(*[]byte)
	if !ok {
		pooled = new([]byte)
	}
	return &writer{routes: s, c: c, buf: (*pooled)[:0], pooled: pooled}
}

func (w *writer) release() {
	if cap(w.buf) <= keepBytes {
		*w.pooled = w.buf[:0]
		w.routes.buffers.Put(w.pooled)
	}
}

func (w *writer) flush() {
	if w.err != nil || len(w.buf) == 0 {
		return
	}
	if !w.c.Writer.Written() {
		w.c.Header("Content-Type", "application/json")
		w.c.Status(http.StatusOK)
	}
	for part := range slices.Chunk(w.buf, writeBytes) {
		w.deadline()
		if _, w.err = w.c.Writer.Write(part); w.err != nil {
			break
		}
	}
	w.buf = w.buf[:0]
}

// deadline gives the client stallTimeout to take the next bytes. What it reads slowly
// holds memory of the service.
func (w *writer) deadline() {
	err := http.NewResponseController(w.c.Writer).SetWriteDeadline(w.routes.now().Add(stallTimeout))
	if err != nil && !errors.Is(err, http.ErrNotSupported) { // a test has no connection
		w.err = err
	}
}

func (w *writer) open(count int, key string) {
	w.buf = append(w.buf, `{"count":`...)
	w.buf = strconv.AppendInt(w.buf, int64(count), 10)
	if key != "" {
		w.buf = append(w.buf, `,"`...)
		w.buf = append(w.buf, key...)
		w.buf = append(w.buf, `":`...)
	}
}

func (w *writer) spans(spans []trace.Span) {
	w.open(len(spans), "spans")
	w.buf = append(w.buf, '[')
	for i := range spans {
		w.next(i)
		w.buf = tracejson.AppendSpan(w.buf, api.Unwrapped(&spans[i]))
	}
	w.buf = append(w.buf, ']')
}

// flat is all spans of the traces, in one list.
func (w *writer) flat(traces [][]trace.Span) {
	n := 0
	for _, spans := range traces {
		n += len(spans)
	}
	w.open(n, "spans")
	w.buf = append(w.buf, '[')
	n = 0
	for _, spans := range traces {
		for i := range spans {
			w.next(n)
			w.buf = tracejson.AppendSpan(w.buf, api.Unwrapped(&spans[i]))
			n++
		}
	}
	w.buf = append(w.buf, ']')
}

// next separates element i from the one before it, and sends on what is there.
func (w *writer) next(i int) {
	if i > 0 {
		w.buf = append(w.buf, ',')
	}
	if len(w.buf) >= flushBytes {
		w.flush()
	}
}

func (w *writer) span(spans []trace.Span) {
	if len(spans) == 0 {
		w.open(0, "")
		return
	}
	w.open(1, "span")
	w.buf = tracejson.AppendSpan(w.buf, api.Unwrapped(&spans[0]))
}

func (w *writer) traces(traces [][]trace.Span, e envelope) {
	if e == envelopeTrace {
		if len(traces) == 0 {
			w.open(0, "")
			return
		}
		w.open(1, "trace")
		w.trace(traces[0])
		return
	}
	opening, closing := byte('['), byte(']')
	if e == envelopeLegacy {
		opening, closing = '{', '}'
	}
	w.open(len(traces), "traces")
	w.buf = append(w.buf, opening)
	for i, spans := range traces {
		w.next(i)
		if e == envelopeLegacy {
			w.buf = append(w.buf, '"')
			w.buf = append(w.buf, spans[0].TraceID.String()...)
			w.buf = append(w.buf, `":{"spans":`...)
			w.buf = append(tracejson.AppendTree(w.buf, api.Tree(spans)), '}')
		} else {
			w.trace(spans)
		}
	}
	w.buf = append(w.buf, closing)
}

func (w *writer) trace(spans []trace.Span) {
	w.buf = tracejson.AppendTrace(w.buf, spans[0].TraceID, api.Tree(spans))
}

// end closes the envelope, with the window when there is another page, and sends the rest.
func (w *writer) end(window domain.Window) error {
	if window.Next != uuid.Nil {
		text, err := json.Marshal(window)
		if err != nil {
			return fmt.Errorf("api: writing a window: %w", err)
		}
		w.buf = append(w.buf, `,"windowing":`...)
		w.buf = append(w.buf, text...)
	}
	if err := w.plan(); err != nil {
		return err
	}
	w.buf = append(w.buf, '}')
	w.flush()
	if w.err != nil {
		return fmt.Errorf("api: sending a reply: %w", w.err)
	}
	return nil
}

// What the API page shows of the replies; the replies themselves are appended text.
type (
	spanView struct {
		TraceID       string         `json:"trace_id"`
		SpanID        string         `json:"span_id"`
		ParentID      string         `json:"parent_id,omitempty"`
		TraceType     string         `json:"trace_type"`
		SpanType      string         `json:"span_type"`
		SpanKind      string         `json:"span_kind"`
		SpanName      string         `json:"span_name"`
		StartTime     time.Time      `json:"start_time"`
		EndTime       time.Time      `json:"end_time"`
		StatusCode    string         `json:"status_code"`
		StatusMessage string         `json:"status_message,omitempty"`
		SessionID     string         `json:"session_id,omitempty"`
		UserID        string         `json:"user_id,omitempty"`
		AgentID       string         `json:"agent_id,omitempty"`
		Attributes    map[string]any `json:"attributes"`
		References    []partView     `json:"references,omitempty"`
		Links         []linkView     `json:"links,omitempty"`
		Hashes        []partView     `json:"hashes,omitempty"`
		Events        []eventView    `json:"events,omitempty"`
		Resource      map[string]any `json:"resource,omitempty"`
		Scope         *trace.Scope   `json:"scope,omitempty"`
		CreatedAt     time.Time      `json:"created_at"`
		UpdatedAt     time.Time      `json:"updated_at,omitzero"`
		CreatedByID   uuid.UUID      `json:"created_by_id,omitzero"`
		UpdatedByID   uuid.UUID      `json:"updated_by_id,omitzero"`
		Spans         map[string]any `json:"spans,omitempty"`
	}
	partView struct {
		domain.Reference
		Attributes map[string]any `json:"attributes,omitempty"`
	}
	linkView struct {
		TraceID    string         `json:"trace_id"`
		SpanID     string         `json:"span_id"`
		Attributes map[string]any `json:"attributes,omitempty"`
	}
	eventView struct {
		Name       string         `json:"name"`
		Timestamp  time.Time      `json:"timestamp"`
		Attributes map[string]any `json:"attributes,omitempty"`
	}
	traceView struct {
		TraceID string              `json:"trace_id,omitempty"`
		Spans   map[string]spanView `json:"spans"`
	}
	spanReply struct {
		Count int       `json:"count"`
		Span  *spanView `json:"span,omitempty"`
	}
	spansReply struct {
		Count     int               `json:"count"`
		Spans     []spanView        `json:"spans,omitempty"`
		Columns   map[string][]any  `json:"columns,omitempty"`
		Plan      []clickhouse.Step `json:"plan,omitempty"`
		Windowing *domain.Window    `json:"windowing,omitempty"`
	}
	traceReply struct {
		Count int        `json:"count"`
		Trace *traceView `json:"trace,omitempty"`
	}
	tracesReply struct {
		Count     int               `json:"count"`
		Traces    []traceView       `json:"traces,omitempty"`
		Columns   map[string][]any  `json:"columns,omitempty"`
		Plan      []clickhouse.Step `json:"plan,omitempty"`
		Windowing *domain.Window    `json:"windowing,omitempty"`
	}
	legacyReply struct {
		Count     int                  `json:"count"`
		Traces    map[string]traceView `json:"traces,omitempty"`
		Spans     []spanView           `json:"spans,omitempty"`
		Windowing *domain.Window       `json:"windowing,omitempty"`
	}
)
