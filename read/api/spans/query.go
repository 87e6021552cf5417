package spans

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/filter/filterjson"
	"colonnade/domain/request"
	"colonnade/read/api"
	"colonnade/read/api/columns"
)

// focus is what a query lists.
type focus string

const (
	focusTrace focus = "trace"
	focusSpan  focus = "span"
)

// UnmarshalText reads the word on the wire.
func (f *focus) UnmarshalText(b []byte) error {
	return api.OneOf(f, string(b), focusTrace, focusSpan)
}

// format is how a list of traces comes: as trees, or (opentelemetry) as one flat list of their spans.
type format string

const (
	formatAgenta        format = "agenta"
	formatOpenTelemetry format = "opentelemetry"
)

// UnmarshalText reads the word on the wire.
func (f *format) UnmarshalText(b []byte) error {
	return api.OneOf(f, string(b), formatAgenta, formatOpenTelemetry)
}

// queryRequest is the body of the query endpoints: {filtering, windowing}, or
// the flat keys of the deprecated ones (contract §0 row 9), or references to a
// saved query (§3.1).
type queryRequest struct {
	Filtering        json.RawMessage   `json:"filtering"`
	Windowing        *api.Windowing    `json:"windowing"`
	QueryRef         *domain.Reference `json:"query_ref"`
	QueryVariantRef  *domain.Reference `json:"query_variant_ref"`
	QueryRevisionRef *domain.Reference `json:"query_revision_ref"`

	Focus    focus           `json:"focus"`
	Format   format          `json:"format"`
	Filter   json.RawMessage `json:"filter"`
	Oldest   *time.Time      `json:"oldest" request:"bound"`
	Newest   *time.Time      `json:"newest" request:"bound"`
	Limit    *int            `json:"limit" minimum:"1"`
	Interval *int            `json:"interval" minimum:"1"`
	Rate     *float64        `json:"rate" minimum:"0" maximum:"1"`
}

// plan is a request understood.
type plan struct {
	focus  focus
	format format
	where  filter.Expr
	window domain.Window
	// selected is nil for a query that returns whole spans.
	selected *columns.Selection
	// nothing tells that a saved query was not found: the list is empty (contract §3.1).
	nothing bool
}

// plan checks a request and turns it into what the reader is asked.
func (s *Routes) plan(c *gin.Context, f focus, req *queryRequest) (plan, error) {
	p := plan{focus: f, format: req.Format}
	filtering, loc := req.Filtering, "filtering"
	if given(req.Filter) {
		if given(filtering) {
			return p, domain.E(domain.Rejected, "Give filtering or filter, not both.")
		}
		filtering, loc = unquote(req.Filter), "filter"
	}
	w, at := req.Windowing, []any{"body", "windowing"}
	if flat := req.flatWindow(); flat != nil {
		if w != nil {
			return p, domain.E(domain.Rejected, "Give windowing or the keys newest, oldest, limit, interval and rate, not both.")
		}
		w, at = flat, []any{"body"}
	}
	if w == nil {
		w = &api.Windowing{}
	}
	if req.QueryRef != nil || req.QueryVariantRef != nil || req.QueryRevisionRef != nil {
		if given(filtering) {
			return p, domain.E(domain.Rejected, "A saved query brings its own filtering.")
		}
		saved, found, err := s.savedQuery(c.Request.Context(), domain.PrincipalFrom(c.Request.Context()).Project, f, req)
		if err != nil || !found {
			p.nothing = true
			return p, err
		}
		if filtering, err = saved.over(w); err != nil {
			return p, err
		}
	}
	var err error
	if p.where, err = filterjson.Parse(filtering, "body", loc); err != nil {
		return p, err
	}
	p.window, err = s.Window(w, at)
	return p, err
}

// given tells whether a member holds more than null.
func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// unquote takes a filter out of the string that some clients put it in.
func unquote(raw json.RawMessage) json.RawMessage {
	var text string
	if raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
		return json.RawMessage(text)
	}
	return raw
}

func (r *queryRequest) flatWindow() *api.Windowing {
	if r.Oldest == nil && r.Newest == nil && r.Limit == nil && r.Interval == nil && r.Rate == nil {
		return nil
	}
	return &api.Windowing{Newest: r.Newest, Oldest: r.Oldest, Limit: r.Limit, Interval: r.Interval, Rate: r.Rate}
}

// Window checks a window and fills in what it leaves open.
func (s *Routes) Window(w *api.Windowing, at []any) (domain.Window, error) {
	out := domain.Window{Limit: s.cfg.DefaultLimit, Order: domain.Descending, Rate: w.Rate}
	wrong := func(kind, msg string, input any, name string) error {
		return request.Invalid(kind, msg, input, slices.Concat(at, []any{name})...)
	}
	if w.Limit != nil {
		switch out.Limit = *w.Limit; {
		case out.Limit < 1: // contract §0 row 53
			return out, wrong("greater_than_equal", "Input should be greater than or equal to 1", out.Limit, "limit")
		case out.Limit > s.cfg.MaxLimit:
			return out, wrong("less_than_equal", fmt.Sprintf("Input should be less than or equal to %d: ask for the rest with windowing.next", s.cfg.MaxLimit), out.Limit, "limit")
		}
	}
	if w.Interval != nil {
		if out.Interval = *w.Interval; out.Interval < 1 {
			return out, wrong("greater_than_equal", "Input should be greater than or equal to 1", out.Interval, "interval")
		}
	}
	if w.Rate != nil && !(*w.Rate >= 0 && *w.Rate <= 1) { // not the other way round: NaN
		return out, wrong("value_error", "Input should be between 0 and 1", *w.Rate, "rate")
	}
	if w.Order != "" {
		out.Order = domain.Order(w.Order)
	}
	if w.Newest != nil {
		out.Newest = *w.Newest
	}
	if w.Oldest != nil {
		out.Oldest = *w.Oldest
	}
	if w.Next != nil {
		out.Next = *w.Next
	}
	return out, nil
}

func legacyParameters() []domain.Parameter {
	return []domain.Parameter{
		{Name: "focus", Type: "string", Doc: "trace (the default) or span."},
		{Name: "format", Type: "string", Doc: "agenta (the default) or opentelemetry, a flat list of spans."},
		{Name: "filter", Type: "string", Doc: "A filter as JSON text."},
		{Name: "oldest", Type: "string", Doc: "Lower bound on the start time."},
		{Name: "newest", Type: "string", Doc: "Upper bound on the start time."},
		{Name: "limit", Type: "integer", Doc: "Page size."},
		{Name: "interval", Type: "integer", Doc: "Bucket width in minutes, for analytics."},
		{Name: "rate", Type: "number", Doc: "The share of traces to look at, 0 to 1."},
	}
}

// requestFromQuery reads the flat keys of a query string (contract §3.1), and checks
// them: what is refused later is said of the body. Other parameters, such as
// project_id, are not ours.
func (s *Routes) requestFromQuery(c *gin.Context) (queryRequest, error) {
	var req queryRequest
	q := c.Request.URL.Query()
	if text := q.Get("filter"); text != "" {
		req.Filter = json.RawMessage(text)
	}
	for _, err := range []error{
		api.FromQuery(q, "focus", &req.Focus, func(s string) (f focus, err error) { return f, f.UnmarshalText([]byte(s)) }),
		api.FromQuery(q, "format", &req.Format, func(s string) (f format, err error) { return f, f.UnmarshalText([]byte(s)) }),
		api.FromQuery(q, "oldest", &req.Oldest, api.ParseTime),
		api.FromQuery(q, "newest", &req.Newest, api.ParseTime),
		api.FromQuery(q, "limit", &req.Limit, api.PointerTo(strconv.Atoi)),
		api.FromQuery(q, "interval", &req.Interval, api.PointerTo(strconv.Atoi)),
		api.FromQuery(q, "rate", &req.Rate, api.PointerTo(api.ParseNumber)),
	} {
		if err != nil {
			return req, err
		}
	}
	if flat := req.flatWindow(); flat != nil {
		if _, err := s.Window(flat, []any{"query"}); err != nil {
			return req, err
		}
	}
	if given(req.Filter) {
		if _, err := filterjson.Parse(unquote(req.Filter), "query", "filter"); err != nil {
			return req, err
		}
	}
	return req, nil
}
