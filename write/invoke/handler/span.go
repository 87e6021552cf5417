package handler

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"colonnade/domain"
	"colonnade/domain/trace"
)

// NewRecorder returns a recorder without spans.
func NewRecorder(now func() time.Time, random io.Reader) *Recorder {
	return &Recorder{now: now, random: random}
}

// Recorder gathers the spans of one invocation; children may be added from several goroutines.
type Recorder struct {
	mu     sync.Mutex
	now    func() time.Time
	random io.Reader
	spans  []*trace.Span
}

// Span is one span of an invocation that is under way. It is recorded from its
// start on; what has not ended when the invocation does ends with it. A nil
// Span records nothing.
type Span struct {
	rec  *Recorder
	span *trace.Span
}

// Start begins a span below parent (zero for none of ours).
func (r *Recorder) Start(id trace.TraceID, parent trace.SpanID, name string, typ trace.SpanType, kind trace.Kind) (*Span, error) {
	s := &trace.Span{
		TraceID: id, ParentID: parent, Name: name, SpanType: typ, Kind: kind,
		Attributes: map[string]any{"ag": map[string]any{"type": map[string]any{"span": typ.String()}}},
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := io.ReadFull(r.random, s.SpanID[:]); err != nil {
		return nil, fmt.Errorf("invoke: making a span id: %w", err)
	}
	s.SpanID[0] |= 1 // all zeros is no id
	s.Start = r.now().UnixNano()
	r.spans = append(r.spans, s)
	return &Span{rec: r, span: s}, nil
}

// Child begins a span of a type below this one. End it.
func (s *Span) Child(name string, typ trace.SpanType) (*Span, error) {
	if s == nil {
		return nil, nil //nolint:nilnil // a nil Span is one that records nothing
	}
	kind := trace.KindInternal
	if typ == trace.LLM || typ == trace.Chat || typ == trace.Completion || typ == trace.Embedding {
		kind = trace.KindClient
	}
	return s.rec.Start(s.span.TraceID, s.span.SpanID, name, typ, kind)
}

// Set puts a value at a path of the attributes, such as ("ag", "data",
// "inputs"). The value is copied into canonical form, so that the caller may
// go on using it.
func (s *Span) Set(value any, path ...string) {
	if s == nil {
		return
	}
	value = Canonical(value)
	s.rec.mu.Lock()
	defer s.rec.mu.Unlock()
	at := s.span.Attributes
	for _, name := range path[:len(path)-1] {
		next, ok := at[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			at[name] = next
		}
		at = next
	}
	at[path[len(path)-1]] = value
}

// End ends the span, well or with an error; only the first time counts.
func (s *Span) End(err error) {
	if s == nil {
		return
	}
	s.rec.mu.Lock()
	defer s.rec.mu.Unlock()
	if s.span.End != 0 {
		return
	}
	s.span.End = s.rec.now().UnixNano()
	s.span.Status = trace.StatusOK
	if err == nil {
		return
	}
	s.span.Status, s.span.StatusMessage = trace.StatusError, Message(err)
	exception := map[string]any{"type": string(ProblemOf(err)), "message": Message(err)}
	ag, ok := s.span.Attributes["ag"].(map[string]any)
	if ok {
		ag["exception"] = exception
	}
	s.span.Events = append(s.span.Events, trace.Event{
		Name: "exception", Time: s.span.End,
		Attributes: map[string]any{"exception.type": exception["type"], "exception.message": exception["message"]},
	})
}

// TraceID is that of the invocation.
func (s *Span) TraceID() trace.TraceID {
	if s == nil {
		return trace.TraceID{}
	}
	return s.span.TraceID
}

// Start returns when the span began, in nanoseconds of Unix time.
func (s *Span) Start() int64 {
	s.rec.mu.Lock()
	defer s.rec.mu.Unlock()
	return s.span.Start
}

// SpanID is the span's own.
func (s *Span) SpanID() trace.SpanID {
	if s == nil {
		return trace.SpanID{}
	}
	return s.span.SpanID
}

// Traceparent is the header that makes a service we call continue below this
// span. Source: W3C Trace Context.
func (s *Span) Traceparent() string {
	if s == nil {
		return ""
	}
	return "00-" + s.span.TraceID.String() + "-" + s.span.SpanID.String() + "-01"
}

// Rename changes the name of a span that is not published yet.
func (r *Recorder) Rename(s *Span, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.span.Name = name
}

// Link adds links to a span, each with its name as the key.
func (r *Recorder) Link(s *Span, links map[string]trace.Link) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(links)) {
		l := links[name]
		l.Attributes = map[string]any{"key": name}
		s.span.Links = append(s.span.Links, l)
	}
}

// Finish ends what is still open and gives all spans.
func (r *Recorder) Finish() []trace.Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]trace.Span, len(r.spans))
	for i, s := range r.spans {
		if s.End == 0 {
			s.End = r.now().UnixNano()
		}
		out[i] = *s
	}
	return out
}

// Message is what a caller and a trace may know of an error: the words of a
// domain.Error, and of any other nothing.
func Message(err error) string {
	if e, ok := errors.AsType[*domain.Error](err); ok && e.Message != "" {
		return e.Message
	}
	return "An unexpected error occurred. Please try again later or contact support."
}

// ParseTraceparent reads the header of a caller whose trace is to be
// continued; false where there is none or it is malformed, which W3C Trace
// Context says to ignore.
func ParseTraceparent(header string) (trace.TraceID, trace.SpanID, bool) {
	var id trace.TraceID
	var parent trace.SpanID
	if len(header) < 55 || header[2] != '-' || header[35] != '-' || header[52] != '-' || header[:2] == "ff" || header[:2] == "00" && len(header) != 55 {
		return id, parent, false
	}
	_, err1 := hex.Decode(id[:], []byte(header[3:35]))
	_, err2 := hex.Decode(parent[:], []byte(header[36:52]))
	return id, parent, err1 == nil && err2 == nil && !id.IsZero() && !parent.IsZero()
}

// NewTraceID makes one of random bytes.
func NewTraceID(random io.Reader) (id trace.TraceID, err error) {
	if _, err = io.ReadFull(random, id[:]); err != nil {
		return id, fmt.Errorf("invoke: making a trace id: %w", err)
	}
	if binary.BigEndian.Uint64(id[:]) == 0 {
		id[0] = 1
	}
	return id, nil
}
