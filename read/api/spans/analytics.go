package spans

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/request"
	"colonnade/read/analytics"
	"colonnade/read/analyticssql"
	"colonnade/read/api"
	"colonnade/read/api/grouping"
)

// Analyst answers questions about many spans; read/analytics implements it.
type Analyst interface {
	// Query gives the buckets that hold anything, chronological.
	Query(ctx context.Context, project domain.ProjectID, q analytics.Question) (analytics.Answer, error)
	// Totals gives every bucket of the window.
	Totals(ctx context.Context, project domain.ProjectID, q analytics.Question) ([]analytics.TotalsBucket, error)
}

// Analytics holds the routes of statistics.
type Analytics struct {
	spans   *Routes
	analyst Analyst
}

// NewAnalytics makes the routes. They read filters, windows and tokens as those of spans do.
func NewAnalytics(spans *Routes, analyst Analyst) *Analytics {
	return &Analytics{spans: spans, analyst: analyst}
}

// Mount mounts the routes of contract §3.6, the deprecated ones among them.
func (a *Analytics) Mount(r api.Router) {
	op := domain.Operation{Method: http.MethodPost, Permission: domain.ViewSpans, Preview: true, Tag: "spans", Lazy: true}
	op.Path, op.Query = "/spans/analytics/query", analyticsParameters()
	op.Summary = "Statistics of attribute values in buckets of time. Takes root spans (focus span: all), by start_time (bucket_by: created_at)."
	op.Request, op.Response = analyticsRequest{}, analyticsReply{}
	r.Handle(op, a.query)
	old := op
	old.Path, old.Deprecated, old.Tag = "/tracing/analytics/query", true, "tracing"
	old.Summary = "Statistics of attribute values in buckets of time. Use /spans/analytics/query."
	r.Handle(old, a.query)

	old.Path = "/tracing/spans/analytics"
	old.Summary = "Totals of every bucket of a window. Use /spans/analytics/query."
	old.Request, old.Response, old.Query = queryRequest{}, totalsReply{}, legacyParameters()
	r.Handle(old, a.totals)
}

// metricSpec is a spec as requests carry it. Source: contract §3.6.
type metricSpec struct {
	Type metricType `json:"type"`
	// Path begins with "attributes.".
	Path string   `json:"path"`
	Bins *int     `json:"bins,omitempty"`
	VMin *float64 `json:"vmin,omitempty"`
	VMax *float64 `json:"vmax,omitempty"`
	// Edge is false to lay the centers of the first and the last bin on the ends.
	Edge *bool `json:"edge,omitempty"`
}

type metricType analytics.Type

// UnmarshalText reads the word on the wire.
func (t *metricType) UnmarshalText(b []byte) error {
	words := analytics.Types()
	known := make([]metricType, len(words))
	for i, w := range words {
		known[i] = metricType(w)
	}
	return api.OneOf(t, string(b), known...)
}

// bucketBy is the time by which spans fall into buckets.
type bucketBy string

const (
	byStartTime bucketBy = "start_time"
	byCreatedAt bucketBy = "created_at"
)

// UnmarshalText reads the word on the wire.
func (b *bucketBy) UnmarshalText(text []byte) error {
	return api.OneOf(b, string(text), byStartTime, byCreatedAt)
}

// analyticsRequest is the body of the analytics endpoints. The window bounds
// the time that BucketBy names, oldest inclusive, newest exclusive; its limit
// and order mean nothing here.
type analyticsRequest struct {
	queryRequest
	Specs    []metricSpec `json:"specs"`
	BucketBy bucketBy     `json:"bucket_by"`
	// Stats names the numbers of each metric that the reply has; without it, all.
	Stats []string `json:"stats"`
	grouping.Request
}

// question reads a request of either endpoint.
func (a *Analytics) question(c *gin.Context, req *queryRequest) (q analytics.Question, nothing bool, err error) {
	f := req.Focus
	if f == "" {
		f = focusTrace
	}
	p, err := a.spans.plan(c, f, req)
	if err != nil {
		return q, false, err
	}
	if p.window.Next != uuid.Nil {
		return q, false, domain.E(domain.Rejected, "Analytics have no pages: windowing.next means nothing here.")
	}
	return analytics.Question{
		Where: p.where, Roots: f == focusTrace, Oldest: p.window.Oldest, Newest: p.window.Newest, Interval: p.window.Interval, Rate: p.window.Rate,
	}, p.nothing, nil
}

func (a *Analytics) query(c *gin.Context) error {
	var req analyticsRequest
	var err error
	if req.queryRequest, err = a.spans.requestFromQuery(c); err != nil {
		return err
	}
	if err := a.fromQuery(c, &req); err != nil {
		return err
	}
	if err := api.DecodeBody(c, &req, true); err != nil {
		return err
	}
	specs, err := specsOf(req.Specs, "body")
	if err != nil {
		return err
	}
	if err := analytics.CheckStats(req.Stats); err != nil {
		return err
	}
	q, nothing, err := a.question(c, &req.queryRequest)
	if err != nil {
		return err
	}
	q.Specs = specs
	if q.Grouping, err = req.Grouping(specs); err != nil {
		return err
	}
	if req.BucketBy == byCreatedAt {
		q.Axis = analyticssql.ByCreation
	}
	ctx, project, err := a.spans.Caller(c)
	if err != nil {
		return err
	}
	var answer analytics.Answer
	if !nothing {
		if answer, err = a.analyst.Query(ctx, project, q); err != nil {
			return err
		}
	}
	c.JSON(http.StatusOK, replyTo(answer, q, &req))
	return nil
}

// fromQuery reads the keys of the query string that only analytics have.
func (a *Analytics) fromQuery(c *gin.Context, req *analyticsRequest) error {
	q := c.Request.URL.Query()
	if text := q.Get("specs"); text != "" {
		if err := request.DecodeAt([]byte(text), &req.Specs, "query", "specs"); err != nil {
			return err
		}
		if _, err := specsOf(req.Specs, "query"); err != nil {
			return err
		}
	}
	return api.FromQuery(q, "bucket_by", &req.BucketBy, func(s string) (b bucketBy, err error) { return b, b.UnmarshalText([]byte(s)) })
}

// maxPathBytes is the longest path of a spec: with each of its numbers the path
// up to there is asked for as well, for it may name a list.
const maxPathBytes = 1024

// specsOf checks specs, which stand in the body or the query; there being none means
// the default ones.
func specsOf(in []metricSpec, where string) ([]analytics.Spec, error) {
	if in == nil {
		return analytics.DefaultSpecs(), nil
	}
	if len(in) > analytics.MaxSpecs {
		return nil, request.Invalid("too_long", fmt.Sprintf("There are at most %d specs", analytics.MaxSpecs), nil, where, "specs")
	}
	out := make([]analytics.Spec, 0, len(in))
	seen := map[string]bool{}
	for i, m := range in {
		s := analytics.Spec{Type: analytics.Type(m.Type), Path: m.Path, Min: m.VMin, Max: m.VMax, Centered: m.Edge != nil && !*m.Edge}
		wrong := func(msg string, input any, name string) error {
			return request.Invalid("value_error", msg, input, where, "specs", i, name)
		}
		if s.Type == "" {
			s.Type = analytics.None
		}
		if s.Path == "" {
			s.Path = "*"
		}
		if m.Bins != nil {
			if s.Bins = *m.Bins; s.Bins < 1 || s.Bins > analytics.MaxBins {
				return nil, wrong("Input should be between 1 and 10000", s.Bins, "bins")
			}
		}
		if m.VMin != nil && m.VMax != nil && *m.VMin > *m.VMax {
			return nil, wrong("Input should not be below vmin", *m.VMax, "vmax")
		}
		keys := jsonvalue.SplitPath(s.Path)
		switch {
		case s.Type == analytics.None:
		case len(s.Path) > maxPathBytes:
			return nil, wrong("A path has at most 1024 bytes", nil, "path")
		case keys[0] != "attributes" || len(keys) < 2:
			return nil, wrong("Input should begin with attributes.", s.Path, "path")
		case seen[s.Path]:
			return nil, wrong("Another spec has this path already", s.Path, "path")
		}
		s.Keys, seen[s.Path] = keys[1:], true
		out = append(out, s)
	}
	return out, nil
}

func analyticsParameters() []domain.Parameter {
	return slices.Concat(legacyParameters(), []domain.Parameter{
		{Name: "specs", Type: "string", Doc: "Metric specs as JSON text, a list of {type, path, bins, vmin, vmax, edge}."},
		{Name: "bucket_by", Type: "string", Doc: "start_time (the default) or created_at: the time that windows and buckets go by."},
	})
}

func (a *Analytics) totals(c *gin.Context) error {
	req, err := a.spans.requestFromQuery(c)
	if err != nil {
		return err
	}
	if err := api.DecodeBody(c, &req, true); err != nil {
		return err
	}
	q, nothing, err := a.question(c, &req)
	if err != nil {
		return err
	}
	ctx, project, err := a.spans.Caller(c)
	if err != nil {
		return err
	}
	reply := totalsReply{Buckets: []totalsBucket{}}
	if nothing {
		c.JSON(http.StatusOK, reply)
		return nil
	}
	buckets, err := a.analyst.Totals(ctx, project, q)
	if err != nil {
		return err
	}
	for _, b := range buckets {
		reply.Buckets = append(reply.Buckets, totalsBucket{b.Timestamp, b.Interval, totalsOf(b.Total), totalsOf(b.Errors)})
	}
	reply.Count = len(reply.Buckets)
	c.JSON(http.StatusOK, reply)
	return nil
}

// The replies. Source: contract §3.6.
type (
	analyticsReply struct {
		Count   int             `json:"count"`
		Buckets []metricsBucket `json:"buckets"`
		Query   askedQuery      `json:"query"`
		Specs   []metricSpec    `json:"specs"`
	}
	metricsBucket struct {
		Timestamp time.Time `json:"timestamp"`
		// Interval is the bucket's width in minutes.
		Interval int                         `json:"interval"`
		Metrics  map[string]analytics.Metric `json:"metrics"`
		Groups   []grouping.Group            `json:"groups,omitempty"`
	}
	// askedQuery is the query as it was understood: with the window and the interval that were taken.
	askedQuery struct {
		Formatting askedFormatting `json:"formatting"`
		Filtering  json.RawMessage `json:"filtering,omitempty"`
		Windowing  domain.Window   `json:"windowing"`
		BucketBy   bucketBy        `json:"bucket_by"`
	}
	askedFormatting struct {
		Focus focus `json:"focus"`
	}
	totalsReply struct {
		Count   int            `json:"count"`
		Buckets []totalsBucket `json:"buckets"`
	}
	totalsBucket struct {
		Timestamp time.Time `json:"timestamp"`
		Interval  int       `json:"interval"`
		Total     totals    `json:"total"`
		Errors    totals    `json:"errors"`
	}
	// totals are analytics.Totals; a sum that is no number is left out.
	totals struct {
		Count    uint64   `json:"count"`
		Duration *float64 `json:"duration,omitempty"`
		Costs    *float64 `json:"costs,omitempty"`
		Tokens   *float64 `json:"tokens,omitempty"`
	}
)

func totalsOf(t analytics.Totals) totals {
	return totals{t.Count, analytics.Finite(t.Duration), analytics.Finite(t.Costs), analytics.Finite(t.Tokens)}
}

func replyTo(a analytics.Answer, q analytics.Question, req *analyticsRequest) analyticsReply {
	reply := analyticsReply{Count: len(a.Buckets), Buckets: []metricsBucket{}, Specs: []metricSpec{}}
	for _, b := range a.Buckets {
		req.choose(b.Metrics)
		reply.Buckets = append(reply.Buckets, metricsBucket{b.Timestamp, b.Interval, b.Metrics, req.groups(b.Groups)})
	}
	for _, s := range q.Specs {
		m := metricSpec{Type: metricType(s.Type), Path: s.Path, VMin: s.Min, VMax: s.Max}
		if s.Bins > 0 {
			m.Bins = &s.Bins
		}
		if s.Centered {
			m.Edge = new(bool)
		}
		reply.Specs = append(reply.Specs, m)
	}
	reply.Query = askedQuery{
		Formatting: askedFormatting{focusSpan}, BucketBy: byStartTime,
		Windowing: domain.Window{Oldest: a.Oldest, Newest: a.Newest, Interval: a.Interval, Rate: q.Rate},
	}
	if q.Roots {
		reply.Query.Formatting.Focus = focusTrace
	}
	if q.Axis == analyticssql.ByCreation {
		reply.Query.BucketBy = byCreatedAt
	}
	switch {
	case given(req.Filtering):
		reply.Query.Filtering = req.Filtering
	case given(req.Filter):
		reply.Query.Filtering = unquote(req.Filter)
	}
	return reply
}

// choose leaves of each metric the numbers that the request names.
func (r *analyticsRequest) choose(metrics map[string]analytics.Metric) {
	if r.Stats == nil {
		return
	}
	for path, metric := range metrics {
		metrics[path] = metric.Only(r.Stats)
	}
}

// groups returns the groups of a bucket as the reply has them.
func (r *analyticsRequest) groups(of []analytics.Group) []grouping.Group {
	out := make([]grouping.Group, 0, len(of))
	for _, g := range of {
		r.choose(g.Metrics)
		out = append(out, grouping.Group{Key: g.Key, Metrics: g.Metrics})
	}
	return out
}
