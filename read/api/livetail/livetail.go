// Package livetail is the endpoint of live tails: it sends spans as server-sent events
// while they become visible. Package read/tail finds them.
package livetail

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
	"colonnade/domain/filter/filterjson"
	"colonnade/read/api"
	"colonnade/read/tail"
)

// Deps are what the endpoint needs.
type Deps struct {
	Hub *tail.Hub
	// Allowed returns an error if the caller of a context may no longer read spans: a
	// tail stays open long after the check at its beginning. Any other error than a refusal means
	// that the check could not be made.
	Allowed func(ctx context.Context) error
	Now     func() time.Time
}

// Mount mounts the endpoint.
func Mount(r api.Router, deps Deps) {
	r.Handle(domain.Operation{
		Method: http.MethodGet, Path: "/spans/tail", Permission: domain.ViewSpans, Tag: "spans", Stream: true,
		Summary: "Follow spans as they become visible: events ready, span (a span as queries return it), dropped ({count}: spans that the client read too slowly to get) and end ({reason}).",
		Query: []domain.Parameter{
			{Name: "filtering", Type: "string", Doc: "A filter as JSON text, as in the bodies of queries. All spans without it."},
		},
	}, deps.follow)
}

// follow answers with server-sent events until the client leaves, the caller loses the
// permission to read, or the service stops.
func (d Deps) follow(c *gin.Context) error {
	ctx := c.Request.Context()
	where, err := filterjson.Parse(json.RawMessage(c.Query("filtering")), "query", "filtering")
	if err != nil {
		return err
	}
	t, err := d.Hub.Open(ctx, domain.PrincipalFrom(ctx).Project, where)
	if err != nil {
		return err
	}
	defer t.Close()
	cfg := d.Hub.Config()
	out := newEvents(c, d.Now, cfg.StallTimeout)
	out.event("ready", []byte("{}"))
	checked := d.Now()
	for out.flush() {
		batch, err := take(ctx, t, cfg.Heartbeat)
		switch {
		case ctx.Err() != nil:
			return nil // the client left
		case err != nil:
			out.comment("heartbeat")
		}
		if d.Now().Sub(checked) >= cfg.Heartbeat {
			if checked = d.Now(); refused(d.Allowed(ctx)) {
				batch = tail.Batch{End: tail.Forbidden}
			}
		}
		if out.batch(batch); batch.End != "" {
			out.flush()
			return nil
		}
	}
	return nil // the client reads nothing
}

func take(ctx context.Context, t *tail.Tail, timeout time.Duration) (tail.Batch, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return t.Take(ctx)
}

func refused(err error) bool {
	kind := domain.KindOf(err)
	return err != nil && (kind == domain.Unauthenticated || kind == domain.Forbidden)
}

// events writes server-sent events. Source: HTML Living Standard, 9.2.
type events struct {
	c       *gin.Context
	control *http.ResponseController
	now     func() time.Time
	stall   time.Duration
	buffer  bytes.Buffer
}

func newEvents(c *gin.Context, now func() time.Time, stall time.Duration) *events {
	h := c.Writer.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // a proxy in between passes events on as they come
	e := &events{c: c, control: http.NewResponseController(c.Writer), now: now, stall: stall}
	_ = e.control.SetReadDeadline(time.Time{}) // otherwise it ends the request's context; not every writer has one
	return e
}

func (e *events) event(name string, data []byte) {
	e.buffer.WriteString("event: " + name + "\ndata: ")
	e.buffer.Write(data)
	e.buffer.WriteString("\n\n")
}

func (e *events) comment(text string) { e.buffer.WriteString(": " + text + "\n\n") }

func (e *events) batch(b tail.Batch) {
	for _, text := range b.Spans {
		e.event("span", text)
	}
	if b.Dropped > 0 {
		e.event("dropped", []byte(`{"count":`+strconv.FormatUint(b.Dropped, 10)+`}`))
	}
	if b.End != "" {
		e.event("end", []byte(`{"reason":"`+string(b.End)+`"}`))
	}
}

// flush sends what was written. It returns false if the client took nothing for the
// stall timeout, or is gone.
func (e *events) flush() bool {
	err := e.control.SetWriteDeadline(e.now().Add(e.stall))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return false
	}
	_, err = e.c.Writer.Write(e.buffer.Bytes())
	e.buffer.Reset()
	if err != nil {
		return false
	}
	return e.control.Flush() == nil
}
