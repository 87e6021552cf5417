package invoke

import (
	"context"
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/write/api"
	"colonnade/write/invoke"
	"colonnade/write/invoke/handler"
)

// errNotAcceptable is the refusal of an Accept header that names none of the media types of a reply.
func errNotAcceptable(c *gin.Context) error {
	return &domain.Error{
		Kind: domain.NotAcceptable, Message: "The Accept header asks for a form that an invocation cannot be answered in.",
		Detail: notAcceptable{requested: c.GetHeader("Accept")},
	}
}

// notAcceptable marks the error whose body names what could be had.
type notAcceptable struct{ requested string }

// invokeReply is the envelope of contract §6, with the outputs at the top, too. Source: contract §0 row 6.
type invokeReply struct {
	Version   string               `json:"version"`
	Status    api.InvocationStatus `json:"status"`
	TraceID   string               `json:"trace_id"`
	SpanID    string               `json:"span_id"`
	SessionID string               `json:"session_id"`
	Data      struct {
		Outputs any `json:"outputs"`
	} `json:"data"`
	Outputs any `json:"outputs"`
}

// invokeWriter answers one invocation.
type invokeWriter struct {
	*api.EventStream
	c      *gin.Context
	status func(error) int
	// encrypt returns a token as clients get it; the engine does it for the header.
	encrypt func(ctx context.Context, token domain.Token) string
}

// begin names the trace before there is anything else to say.
func (w *invokeWriter) begin(r invoke.Reply) {
	w.c.Header("x-ag-version", handler.Version)
	w.c.Header("x-ag-trace-id", r.TraceID.String())
	w.c.Header("x-ag-span-id", r.SpanID.String())
	w.c.Header("x-ag-session-id", r.SessionID)
	w.c.Header("traceparent", "00-"+r.TraceID.String()+"-"+r.SpanID.String()+"-01")
	w.c.Header("baggage", "ag.session.id="+r.SessionID)
}

// delta sends a piece of the outputs.
func (w *invokeWriter) delta(piece any) error {
	w.Start()
	return w.event(map[string]any{"delta": piece})
}

func (w *invokeWriter) event(value any) error { return w.Send(handler.Canonical(value)) }

// token tells where the trace stands: in a header, in a stream's trailer, and
// in its last event.
func (w *invokeWriter) token(r invoke.Reply, envelope map[string]any) {
	token := r.Token.String()
	if token == "" {
		return
	}
	w.c.Header(domain.TokenHeader, token)
	if text := w.encrypt(w.c.Request.Context(), r.Token); w.Started() && text != "" {
		envelope["token"] = text
	}
}

func (w *invokeWriter) succeed(r invoke.Reply, stream bool) error {
	message := "Success"
	if r.Lost != nil {
		message = "Success; the trace could not be recorded"
	}
	envelope := w.envelope(r, api.InvocationStatus{Code: http.StatusOK, Message: message})
	envelope["data"] = map[string]any{"outputs": r.Outputs}
	envelope["outputs"] = r.Outputs
	if stream {
		w.Start()
		w.token(r, envelope)
		return w.event(envelope)
	}
	w.token(r, envelope)
	w.c.Data(http.StatusOK, api.MediaJSON, jsonvalue.Append(nil, handler.Canonical(envelope)))
	return nil
}

func (w *invokeWriter) envelope(r invoke.Reply, status api.InvocationStatus) map[string]any {
	s := map[string]any{"code": status.Code, "message": status.Message}
	if status.Type != "" {
		s["type"] = status.Type
	}
	envelope := map[string]any{"version": handler.Version, "status": s}
	if !r.TraceID.IsZero() {
		envelope["trace_id"], envelope["span_id"], envelope["session_id"] = r.TraceID.String(), r.SpanID.String(), r.SessionID
	}
	return envelope
}

// fail answers in the envelope of an invocation; the engine chooses the status.
func (w *invokeWriter) fail(r invoke.Reply, err error) error {
	message := handler.Message(err)
	envelope := w.envelope(r, api.InvocationStatus{Code: w.status(err), Message: message, Type: handler.ProblemOf(err).URL()})
	envelope["detail"] = message
	if w.Started() {
		w.token(r, envelope)
		return w.event(envelope)
	}
	w.token(r, envelope)
	failed := &domain.Error{Kind: domain.KindOf(err), Message: message, Body: envelope, Err: err}
	if e, ok := errors.AsType[*domain.Error](err); ok {
		failed.RetryAfter = e.RetryAfter
		if asked, ok := e.Detail.(notAcceptable); ok {
			failed.Body = map[string]any{
				"detail": message, "requested": asked.requested, "supported": api.StreamMedia(),
				"trace_id": r.TraceID.String(), "span_id": r.SpanID.String(),
			}
		}
	}
	return failed
}
