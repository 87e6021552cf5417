// Package spans holds the endpoints that read spans and traces: queries and
// reads by id, simple traces and annotations, statistics, sessions and users.
// It decodes requests, asks a Reader or an Analyst, and writes replies.
//
// The meaning of a filter is in domain/filter; SQL is in read/filtersql,
// read/statements and read/analyticssql; read/traces and read/analytics run it.
package spans

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/trace"
	"colonnade/read/api"
	"colonnade/read/api/columns"
)

// Config bounds what one request may ask for.
type Config struct {
	// DefaultLimit is the page size of a window without a limit.
	DefaultLimit int
	// MaxLimit is the largest page; a larger limit is refused with a sentence
	// that says so, never cut down in silence.
	MaxLimit int
	// MaxIDs is how many ids a query string may list.
	MaxIDs int
}

// DefaultConfig suits a dashboard. The interface leaves both limits open (interface.md §8).
func DefaultConfig() Config {
	return Config{DefaultLimit: 50, MaxLimit: 1000, MaxIDs: 1000}
}

// Validate tells what is wrong with the configuration.
func (c Config) Validate() error {
	if c.DefaultLimit < 1 || c.MaxLimit < c.DefaultLimit || c.MaxIDs < 1 {
		return errors.New("api: limits of span queries must be 1 <= default <= max, and ids at least 1")
	}
	return nil
}

// SavedQuery gives the data ({formatting, filtering, windowing}) of the query
// revision that the references name; found is false where they name none.
// Source: contract §3.1.
type SavedQuery func(ctx context.Context, project domain.ProjectID, query, variant, revision domain.Reference) (data json.RawMessage, found bool, err error)

// Routes holds the routes that look at spans and traces.
type Routes struct {
	cfg     Config
	reader  Reader
	saved   SavedQuery
	scores  Scores
	now     func() time.Time
	buffers sync.Pool
}

// New makes the routes. Without saved (nil), requests that refer to a saved query are refused.
func New(cfg Config, reader Reader, saved SavedQuery, now func() time.Time) (*Routes, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Routes{cfg: cfg, reader: reader, saved: saved, now: now}
	s.buffers.New = func() any { return new([]byte) }
	return s, nil
}

// Mount mounts the routes of contract §3.1, the deprecated ones among them (§0 rows 8 and 24).
func (s *Routes) Mount(r api.Router) {
	r = leasing{r, s.reader}
	view := domain.Operation{Permission: domain.ViewSpans, Preview: true}
	ids := []domain.Parameter{
		{Name: "trace_id", Type: "array", Doc: "Trace ids, the parameter repeated for each."},
		{Name: "trace_ids", Type: "string", Doc: "Trace ids, joined by commas."},
	}
	op := view
	op.Query = []domain.Parameter{{Name: "explain", Type: "boolean", Doc: "true adds plan: the statements of the query with their rows, bytes and milliseconds. Needs the permission view_query_plan."}}
	op.Method, op.Path, op.Tag = http.MethodPost, "/traces/query", "traces"
	op.Summary = "Query traces: those of which some span matches the filter, each with all its spans as a tree."
	op.Request, op.Response = selectRequest{}, tracesReply{}
	r.Handle(op, s.query(focusTrace))

	op.Method, op.Path, op.Tag = http.MethodPost, "/spans/query", "spans"
	op.Summary = "Query spans that match the filter."
	op.Request, op.Response = selectRequest{}, spansReply{}
	r.Handle(op, s.query(focusSpan))

	op = view
	op.Method, op.Path, op.Tag = http.MethodGet, "/traces/", "traces"
	op.Summary, op.Query, op.Response = "Fetch traces by their ids.", ids, tracesReply{}
	r.Handle(op, s.listTraces)

	op.Path, op.Query, op.Timeout = "/traces/:trace_id", nil, streamTimeout
	op.Summary, op.Response = "Fetch a trace by its id.", traceReply{}
	r.Handle(op, s.oneTrace(envelopeTrace))
	op.Timeout = 0

	op.Path, op.Tag = "/spans/", "spans"
	op.Summary, op.Response = "Fetch spans by trace ids, span ids, or both.", spansReply{}
	op.Query = slices.Concat(ids, []domain.Parameter{
		{Name: "span_id", Type: "array", Doc: "Span ids, the parameter repeated for each."},
		{Name: "span_ids", Type: "string", Doc: "Span ids, joined by commas."},
	})
	r.Handle(op, s.listSpans)

	op.Path, op.Query = "/spans/:trace_id/:span_id", nil
	op.Summary, op.Response = "Fetch a span by its ids.", spanReply{}
	r.Handle(op, s.oneSpan)

	s.mountDeprecated(r, view)
}

func (s *Routes) mountDeprecated(r api.Router, op domain.Operation) {
	op.Deprecated, op.Tag = true, "tracing"
	op.Method, op.Path, op.Lazy = http.MethodPost, "/tracing/spans/query", true
	op.Summary = "Query spans or traces, as focus says. Use /spans/query or /traces/query."
	op.Request, op.Response = queryRequest{}, legacyReply{}
	op.Query = legacyParameters()
	r.Handle(op, s.legacyQuery(focusTrace, true))

	op.Path = "/tracing/traces/query"
	op.Summary = "Query traces. Use /traces/query."
	r.Handle(op, s.legacyQuery(focusTrace, false))

	op.Method, op.Path, op.Lazy = http.MethodGet, "/tracing/traces/:trace_id", false
	op.Summary = "Fetch a trace by its id. Use /traces/{trace_id}."
	op.Request, op.Query, op.Timeout = nil, nil, streamTimeout
	r.Handle(op, s.oneTrace(envelopeLegacy))
}

// Caller returns the project of a request that may read, after its write is
// visible: a token in the request is waited for, and what is still not
// visible then is named in the reply, never left out in silence.
func (s *Routes) Caller(c *gin.Context) (context.Context, domain.ProjectID, error) {
	ctx := c.Request.Context()
	token, err := domain.ParseToken(c.GetHeader(domain.TokenHeader))
	if err != nil {
		return nil, domain.ProjectID{}, err
	}
	if len(token) > 0 {
		pending, err := s.reader.Wait(ctx, token)
		if err != nil {
			return nil, domain.ProjectID{}, fmt.Errorf("api: waiting for a write: %w", err)
		}
		if len(pending) > 0 {
			c.Header(TokenPendingHeader, pending.String())
		}
	}
	return ctx, domain.PrincipalFrom(ctx).Project, nil
}

// TokenPendingHeader names, in a reply to a read that carried a token, the
// positions that were not visible yet when the read was answered.
const TokenPendingHeader = domain.TokenHeader + "-Pending"

// query serves the canonical query endpoints.
func (s *Routes) query(f focus) func(*gin.Context) error {
	return func(c *gin.Context) error {
		var req selectRequest
		if err := api.DecodeBody(c, &req, false); err != nil {
			return err
		}
		if req.Focus != "" && req.Focus != f {
			return domain.E(domain.Rejected, "This endpoint queries with focus %s.", f)
		}
		q, err := s.plan(c, f, &req.queryRequest)
		if err != nil {
			return err
		}
		if err := req.decide(&q); err != nil {
			return err
		}
		if err := s.explain(c); err != nil {
			return err
		}
		return s.answer(c, q, envelopeList)
	}
}

// legacyQuery serves the deprecated query endpoints, whose parameters may also stand in the query string.
func (s *Routes) legacyQuery(f focus, choose bool) func(*gin.Context) error {
	return func(c *gin.Context) error {
		req, err := s.requestFromQuery(c)
		if err != nil {
			return err
		}
		if err := api.DecodeBody(c, &req, true); err != nil {
			return err
		}
		if req.Focus != "" && req.Focus != f && !choose {
			return domain.E(domain.Rejected, "This endpoint queries with focus %s.", f)
		}
		q, err := s.plan(c, cmp.Or(req.Focus, f), &req)
		if err != nil {
			return err
		}
		return s.answer(c, q, envelopeLegacy)
	}
}

// answer runs a plan and writes its envelope. A filter that is one condition
// on trace_id is a fetch by id, whatever the window says (contract §3.2).
func (s *Routes) answer(c *gin.Context, q plan, e envelope) error {
	ctx, project, err := s.Caller(c)
	if err != nil {
		return err
	}
	ids, byID := q.where.(filter.TraceID)
	if byID && len(ids.In) == 1 && q.focus == focusTrace && q.format != formatOpenTelemetry && q.selected == nil && !q.nothing {
		return s.writeTrace(ctx, c, project, ids.In[0], e)
	}
	var spans domain.Page[trace.Span]
	var traces domain.Page[[]trace.Span]
	switch {
	case q.nothing:
	case q.focus == focusSpan && byID:
		spans.Items, err = s.reader.SpansByID(ctx, project, ids.In, nil)
	case q.focus == focusSpan:
		spans, err = s.reader.Spans(ctx, project, q.where, q.window)
	case byID:
		traces.Items, err = s.reader.TracesByID(ctx, project, ids.In)
	default:
		traces, err = s.reader.Traces(ctx, project, q.where, q.window)
	}
	if err != nil {
		return err
	}
	var rows []columns.Row
	if q.selected != nil {
		if rows, err = s.rows(ctx, project, &q, spans.Items, traces.Items); err != nil {
			return err
		}
	}
	w := s.reply(c)
	defer w.release()
	switch {
	case q.selected != nil:
		if err := w.columns(&q, rows); err != nil {
			return err
		}
		if q.focus == focusSpan {
			return w.end(spans.Following(q.window))
		}
	case q.focus == focusSpan:
		w.spans(spans.Items)
		return w.end(spans.Following(q.window))
	case q.format == formatOpenTelemetry:
		w.flat(traces.Items)
	default:
		w.traces(traces.Items, e)
	}
	return w.end(traces.Following(q.window))
}

func (s *Routes) listTraces(c *gin.Context) error {
	ids, err := api.QueryIDs(c, "trace_id", s.cfg.MaxIDs, trace.ParseTraceID)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return domain.E(domain.Rejected, "At least one trace_id query parameter is required.")
	}
	ctx, project, err := s.Caller(c)
	if err != nil {
		return err
	}
	if len(ids) == 1 {
		return s.writeTrace(ctx, c, project, ids[0], envelopeList)
	}
	traces, err := s.reader.TracesByID(ctx, project, ids)
	if err != nil {
		return err
	}
	w := s.reply(c)
	defer w.release()
	w.traces(traces, envelopeList)
	return w.end(domain.Window{})
}

func (s *Routes) oneTrace(e envelope) func(*gin.Context) error {
	return func(c *gin.Context) error {
		id, err := trace.ParseTraceID(c.Param("trace_id"))
		if err != nil {
			return err
		}
		ctx, project, err := s.Caller(c)
		if err != nil {
			return err
		}
		return s.writeTrace(ctx, c, project, id, e)
	}
}

func (s *Routes) listSpans(c *gin.Context) error {
	traceIDs, err := api.QueryIDs(c, "trace_id", s.cfg.MaxIDs, trace.ParseTraceID)
	if err != nil {
		return err
	}
	spanIDs, err := api.QueryIDs(c, "span_id", s.cfg.MaxIDs, trace.ParseSpanID)
	if err != nil {
		return err
	}
	if len(traceIDs)+len(spanIDs) == 0 {
		return domain.E(domain.Rejected, "At least one trace_id or span_id query parameter is required.")
	}
	ctx, project, err := s.Caller(c)
	if err != nil {
		return err
	}
	spans, err := s.reader.SpansByID(ctx, project, traceIDs, spanIDs)
	if err != nil {
		return err
	}
	w := s.reply(c)
	defer w.release()
	w.spans(spans)
	return w.end(domain.Window{})
}

func (s *Routes) oneSpan(c *gin.Context) error {
	traceID, err := trace.ParseTraceID(c.Param("trace_id"))
	if err != nil {
		return err
	}
	spanID, err := trace.ParseSpanID(c.Param("span_id"))
	if err != nil {
		return err
	}
	ctx, project, err := s.Caller(c)
	if err != nil {
		return err
	}
	spans, err := s.reader.SpansByID(ctx, project, []trace.TraceID{traceID}, []trace.SpanID{spanID})
	if err != nil {
		return err
	}
	w := s.reply(c)
	defer w.release()
	w.span(spans)
	return w.end(domain.Window{})
}
