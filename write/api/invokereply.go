package api

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/write/invoke"
)

// problemBase is where the fragments that name problems stand. Source: contract §6.
const problemBase = "https://agenta.ai/docs/misc/errors#"

const (
	mediaJSON   = "application/json"
	mediaSSE    = "text/event-stream"
	mediaNDJSON = "application/x-ndjson"
	mediaJSONL  = "application/jsonl"
)

func invokeMedia() []string { return []string{mediaJSON, mediaSSE, mediaNDJSON, mediaJSONL} }

// negotiate chooses how to answer; streams are chosen by name alone, or by the
// flag where the client takes anything. Source: contract §6.
func negotiate(c *gin.Context, wantsStream bool) (media string, stream bool, err error) {
	accept := c.GetHeader("Accept")
	natural := mediaJSON
	if wantsStream {
		natural = mediaNDJSON
	}
	if strings.TrimSpace(accept) == "" {
		return natural, wantsStream, nil
	}
	best, bestQ := "", 0.0
	for part := range strings.SplitSeq(accept, ",") {
		name, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		name = strings.ToLower(strings.TrimSpace(name))
		if name == "*/*" || name == "application/*" {
			name = natural
		}
		if q := quality(params); q > bestQ && slices.Contains(invokeMedia(), name) {
			best, bestQ = name, q
		}
	}
	if best == "" {
		return mediaJSON, false, &domain.Error{
			Kind: domain.NotAcceptable, Message: "The Accept header asks for a form that an invocation cannot be answered in.",
			Detail: notAcceptable{requested: accept},
		}
	}
	return best, best != mediaJSON, nil
}

// quality is the weight of a media type, 1 where none is given.
func quality(params string) float64 {
	for p := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if strings.EqualFold(name, "q") {
			var q float64
			if _, err := fmt.Sscanf(value, "%g", &q); err == nil {
				return q
			}
		}
	}
	return 1
}

// notAcceptable marks the error whose body names what could be had.
type notAcceptable struct{ requested string }

// invokeReply is the envelope of contract §6, with the outputs at the top, too. Source: contract §0 row 6.
type invokeReply struct {
	Version   string       `json:"version"`
	Status    invokeStatus `json:"status"`
	TraceID   string       `json:"trace_id"`
	SpanID    string       `json:"span_id"`
	SessionID string       `json:"session_id"`
	Data      struct {
		Outputs any `json:"outputs"`
	} `json:"data"`
	Outputs any `json:"outputs"`
}

type invokeStatus struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Type    string `json:"type,omitempty"`
}

// invokeWriter answers one invocation.
type invokeWriter struct {
	c       *gin.Context
	media   string
	status  func(error) int
	flowing bool
}

// begin names the trace before there is anything else to say.
func (w *invokeWriter) begin(r invoke.Reply) {
	w.c.Header("x-ag-version", invoke.Version)
	w.c.Header("x-ag-trace-id", r.TraceID.String())
	w.c.Header("x-ag-span-id", r.SpanID.String())
	w.c.Header("x-ag-session-id", r.SessionID)
	w.c.Header("traceparent", "00-"+r.TraceID.String()+"-"+r.SpanID.String()+"-01")
	w.c.Header("baggage", "ag.session.id="+r.SessionID)
}

// flow begins the stream: from here on, the status is 200 and an error is the last event.
func (w *invokeWriter) flow() {
	if w.flowing {
		return
	}
	w.flowing = true
	w.c.Header("Content-Type", w.media)
	w.c.Header("Cache-Control", "no-store")
	w.c.Header("X-Accel-Buffering", "no")
	w.c.Header("Trailer", domain.TokenHeader)
	w.c.Status(http.StatusOK)
}

// delta sends a piece of the outputs.
func (w *invokeWriter) delta(piece any) error {
	w.flow()
	return w.event(map[string]any{"delta": piece})
}

func (w *invokeWriter) event(value any) error {
	var dst []byte
	if w.media == mediaSSE {
		dst = append(dst, "data: "...)
	}
	dst = append(jsonvalue.Append(dst, invoke.Canonical(value)), '\n')
	if w.media == mediaSSE {
		dst = append(dst, '\n')
	}
	if _, err := w.c.Writer.Write(dst); err != nil {
		return err
	}
	w.c.Writer.Flush()
	return nil
}

// token tells where the trace stands: in a header, in a stream's trailer, and
// in its last event.
func (w *invokeWriter) token(r invoke.Reply, envelope map[string]any) {
	token := r.Token.String()
	if token == "" {
		return
	}
	w.c.Header(domain.TokenHeader, token)
	if w.flowing {
		envelope["token"] = token
	}
}

func (w *invokeWriter) succeed(r invoke.Reply, stream bool) error {
	message := "Success"
	if r.Lost != nil {
		message = "Success; the trace could not be recorded"
	}
	envelope := w.envelope(r, invokeStatus{Code: http.StatusOK, Message: message})
	envelope["data"] = map[string]any{"outputs": r.Outputs}
	envelope["outputs"] = r.Outputs
	if stream {
		w.flow()
		w.token(r, envelope)
		return w.event(envelope)
	}
	w.token(r, envelope)
	w.c.Data(http.StatusOK, mediaJSON, jsonvalue.Append(nil, invoke.Canonical(envelope)))
	return nil
}

func (w *invokeWriter) envelope(r invoke.Reply, status invokeStatus) map[string]any {
	s := map[string]any{"code": status.Code, "message": status.Message}
	if status.Type != "" {
		s["type"] = status.Type
	}
	envelope := map[string]any{"version": invoke.Version, "status": s}
	if !r.TraceID.IsZero() {
		envelope["trace_id"], envelope["span_id"], envelope["session_id"] = r.TraceID.String(), r.SpanID.String(), r.SessionID
	}
	return envelope
}

// fail answers in the envelope of an invocation; the engine chooses the status.
func (w *invokeWriter) fail(r invoke.Reply, err error) error {
	message := invoke.Message(err)
	envelope := w.envelope(r, invokeStatus{Code: w.status(err), Message: message, Type: problemBase + string(invoke.ProblemOf(err))})
	envelope["detail"] = message
	if w.flowing {
		w.token(r, envelope)
		return w.event(envelope)
	}
	w.token(r, envelope)
	failed := &domain.Error{Kind: domain.KindOf(err), Message: message, Body: envelope, Err: err}
	if e, ok := errors.AsType[*domain.Error](err); ok {
		failed.RetryAfter = e.RetryAfter
		if asked, ok := e.Detail.(notAcceptable); ok {
			failed.Body = map[string]any{
				"detail": message, "requested": asked.requested, "supported": invokeMedia(),
				"trace_id": r.TraceID.String(), "span_id": r.SpanID.String(),
			}
		}
	}
	return failed
}
