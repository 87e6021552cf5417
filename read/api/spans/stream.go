package spans

import (
	"context"
	"fmt"
	"time"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/domain/trace/tracejson"
	"colonnade/read/api"
)

// streamTimeout bounds the reply to a request for one trace, however large. A client
// that does not read is disconnected after stallTimeout.
const streamTimeout = 30 * time.Minute

// leasing is a router whose handlers count the memory of what they read until their
// reply is written.
type leasing struct {
	api.Router
	reader Reader
}

// Handle mounts an operation.
func (l leasing) Handle(op domain.Operation, h func(*gin.Context) error) {
	l.Router.Handle(op, func(c *gin.Context) error {
		ctx, release := l.reader.Lease(c.Request.Context())
		defer release()
		c.Request = c.Request.WithContext(ctx)
		return h(c)
	})
}

// writeTrace writes a trace, which is streamed if it is large.
func (s *Routes) writeTrace(ctx context.Context, c *gin.Context, project domain.ProjectID, id trace.TraceID, e envelope) error {
	spans, stream, err := s.reader.TraceByID(ctx, project, id)
	if err != nil {
		return err
	}
	w := s.reply(c)
	defer w.release()
	switch {
	case stream != nil:
		err = w.stream(stream, e)
	case spans != nil:
		w.traces([][]trace.Span{spans}, e)
	default:
		w.traces(nil, e)
	}
	if err != nil {
		return err
	}
	return w.end(domain.Window{})
}

// stream writes a trace whose spans are read while they are written. An error after
// the first bytes breaks the connection, so that the client does not take a part of
// the trace for all of it.
func (w *writer) stream(t *trace.Stream, e envelope) error {
	switch e {
	case envelopeTrace:
		w.open(1, "trace")
		w.buf = tracejson.AppendOpenTrace(w.buf, t.ID)
	case envelopeLegacy:
		w.open(1, "traces")
		w.buf = append(w.buf, `{"`+t.ID.String()+`":{"spans":`...)
	default:
		w.open(1, "traces")
		w.buf = tracejson.AppendOpenTrace(append(w.buf, '['), t.ID)
	}
	err := tracejson.Walk(t.Skeleton, func(text []byte) { w.buf = append(w.buf, text...) }, func(int32) error {
		span, err := t.Next()
		if err != nil {
			return err
		}
		w.buf = tracejson.AppendOpenSpan(w.buf, api.Unwrapped(span))
		if len(w.buf) >= flushBytes {
			w.flush()
		}
		return w.err
	})
	if err != nil {
		return fmt.Errorf("api: streaming trace %s: %w", t.ID, err)
	}
	switch e {
	case envelopeTrace:
		w.buf = append(w.buf, '}')
	case envelopeLegacy:
		w.buf = append(w.buf, "}}"...)
	default:
		w.buf = append(w.buf, "}]"...)
	}
	return nil
}
