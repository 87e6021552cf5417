// Package browse holds the endpoints by which people find their way: the outline of a
// trace, the attributes that occur and their values, prices of models, and rejected
// spans. The reads themselves are in read/browse.
package browse

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
	"colonnade/domain/request"
	"colonnade/domain/trace"
	"colonnade/read/api"
	"colonnade/read/browse"
	"colonnade/read/order"
	"colonnade/read/statements"
)

// Deps are what the endpoints need.
type Deps struct {
	Reader *browse.Reader
	// Prices is the table by which spans are charged.
	Prices PriceTable
	// Caller returns the project of a request once the write is visible whose token the
	// request carries.
	Caller func(c *gin.Context) (context.Context, domain.ProjectID, error)
}

type (
	fieldsReply struct {
		Count  int            `json:"count"`
		Fields []browse.Field `json:"fields"`
	}
	valuesRequest struct {
		// Field is a field of spans (span_name, model, ...), or attributes with a Key.
		Field     string         `json:"field"`
		Key       string         `json:"key"`
		Prefix    string         `json:"prefix"`
		Windowing *api.Windowing `json:"windowing"`
	}
	valuesReply struct {
		Count  int            `json:"count"`
		Values []browse.Value `json:"values"`
	}
	rejectedReply struct {
		Count         int                   `json:"count"`
		RejectedSpans []browse.RejectedSpan `json:"rejected_spans"`
		// Next asks for the next page; empty on the last one.
		Next string `json:"next,omitempty"`
	}
	reasonsReply struct {
		Count   uint64                  `json:"count"`
		Reasons []browse.RejectedReason `json:"reasons"`
	}
)

// Mount mounts the endpoints.
func Mount(r api.Router, d Deps) {
	get := func(path, tag, summary string, reply any, query []domain.Parameter, h func(*gin.Context) error) {
		r.Handle(domain.Operation{Method: http.MethodGet, Path: path, Permission: domain.ViewSpans, Preview: true, Tag: tag, Summary: summary, Response: reply, Query: query}, h)
	}
	get("/traces/:trace_id/outline", "traces", "A trace as columns without payloads, in the order of start and span id. Answers 304 to the ETag in If-None-Match.", browse.Outline{}, []domain.Parameter{
		{Name: "limit", Type: "integer", Doc: "The largest number of spans, 50000 by default."},
		{Name: "next", Type: "integer", Doc: "The position to go on from, as next of the reply before."},
	}, d.outline)
	get("/spans/fields", "spans", "Attributes that occur, by the prefix of their paths.", fieldsReply{}, []domain.Parameter{
		{Name: "prefix", Type: "string", Doc: "The beginning of the dotted path, without attributes."},
		{Name: "limit", Type: "integer", Doc: "The largest number of attributes, 100 by default."},
	}, d.fields)
	r.Handle(domain.Operation{
		Method: http.MethodPost, Path: "/spans/values", Permission: domain.ViewSpans, Preview: true, Tag: "spans",
		Summary: "The most frequent values of a field or an attribute, among the spans of the last 24 hours or of a window.", Request: valuesRequest{}, Response: valuesReply{},
	}, d.values)
	bounds := []domain.Parameter{
		{Name: "oldest", Type: "string", Doc: "Lower bound on the time of the refusal, inclusive."},
		{Name: "newest", Type: "string", Doc: "Upper bound on the time of the refusal, exclusive."},
		{Name: "stage", Type: "string", Doc: "The step that refused the spans."},
		{Name: "reason", Type: "string", Doc: "The reason, in full."},
		{Name: "limit", Type: "integer", Doc: "The largest number of rows, 50 by default."},
	}
	d.mountPrices(r)
	get("/rejected-spans/summary", "spans", "Rejected spans counted by stage and reason.", reasonsReply{}, bounds, d.reasons)
	get("/rejected-spans", "spans", "Rejected spans, the latest first.", rejectedReply{}, slices.Concat(bounds, []domain.Parameter{{Name: "next", Type: "string", Doc: "The cursor of the page before."}}), d.rejected)
}

const (
	maxOutline   = 50_000
	defaultLimit = 50
	maxLimit     = 1000
	fieldsLimit  = 100
	// valuesFor is the window of values without one.
	valuesFor = 24 * time.Hour
)

func (d Deps) outline(c *gin.Context) error {
	id, err := trace.ParseTraceID(c.Param("trace_id"))
	if err != nil {
		return err
	}
	q := c.Request.URL.Query()
	limit, err := integer(q, "limit", maxOutline, 1, maxOutline)
	if err != nil {
		return err
	}
	from, err := integer(q, "next", 0, 0, browse.MaxOutlineSpans)
	if err != nil {
		return err
	}
	ctx, project, err := d.Caller(c)
	if err != nil {
		return err
	}
	found, err := d.Reader.Outline(ctx, project, id, from, limit)
	if err != nil {
		return err
	}
	if found == nil {
		return domain.E(domain.NotFound, "There is no trace %s.", id)
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(found); err != nil {
		return fmt.Errorf("api: writing an outline: %w", err)
	}
	// Annotations change the outline and not the version of the trace, so the tag is of the reply itself.
	sum := fnv.New64a()
	_, _ = sum.Write(body.Bytes()) // a hash never fails
	tag := `"` + strconv.FormatUint(sum.Sum64(), 16) + `"`
	c.Header("ETag", tag)
	c.Header("Cache-Control", "private, no-cache")
	for given := range strings.SplitSeq(c.GetHeader("If-None-Match"), ",") {
		if strings.TrimPrefix(strings.TrimSpace(given), "W/") == tag {
			c.Status(http.StatusNotModified)
			return nil
		}
	}
	c.Data(http.StatusOK, "application/json", body.Bytes())
	return nil
}

func (d Deps) fields(c *gin.Context) error {
	q := c.Request.URL.Query()
	limit, err := integer(q, "limit", fieldsLimit, 1, maxLimit)
	if err != nil {
		return err
	}
	ctx, project, err := d.Caller(c)
	if err != nil {
		return err
	}
	found, err := d.Reader.Fields(ctx, project, strings.TrimPrefix(q.Get("prefix"), "attributes."), limit)
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, fieldsReply{len(found), found})
	return nil
}

func (d Deps) values(c *gin.Context) error {
	var req valuesRequest
	if err := api.DecodeBody(c, &req, false); err != nil {
		return err
	}
	window, err := req.Windowing.Page()
	if err != nil {
		return err
	}
	v := statements.Values{Prefix: req.Prefix, Limit: window.Limit}
	if v.Limit == 0 {
		v.Limit = defaultLimit
	}
	if v.Limit > maxLimit {
		return request.Invalid("less_than_equal", "Input should be less than or equal to 1000", v.Limit, "body", "windowing", "limit")
	}
	var known bool
	v.Column, known = statements.TextColumn(req.Field)
	switch {
	case req.Field == "attributes" && req.Key != "":
		v.Path = req.Key
	case req.Field == "attributes":
		return request.Invalid("missing", "Field required", nil, "body", "key")
	case !known:
		return request.Invalid("value_error", "Input should be a field of text, or attributes", req.Field, "body", "field")
	}
	ctx, project, err := d.Caller(c)
	if err != nil {
		return err
	}
	v.Project = project
	if window.Oldest.IsZero() && window.Newest.IsZero() {
		window.Oldest = d.Reader.Now().Add(-valuesFor)
	}
	v.Range = order.Starts(micros(window.Oldest, order.MinMicros), micros(window.Newest, order.MaxMicros))
	found, err := d.Reader.Values(ctx, v)
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, valuesReply{len(found), found})
	return nil
}

func (d Deps) rejected(c *gin.Context) error {
	query, err := rejectedQuery(c.Request.URL.Query())
	if err != nil {
		return err
	}
	if text := c.Query("next"); text != "" {
		at, hash, _ := strings.Cut(text, ".")
		start, err1 := strconv.ParseInt(at, 10, 64)
		tie, err2 := strconv.ParseUint(hash, 10, 64)
		if err1 != nil || err2 != nil {
			return request.Invalid("value_error", "Input is not a cursor of this list", text, "query", "next")
		}
		query.Behind = &order.Position{Start: start, SortHash: tie}
	}
	ctx, project, err := d.Caller(c)
	if err != nil {
		return err
	}
	query.Project = project
	found, next, err := d.Reader.Rejected(ctx, query)
	if err != nil {
		return err
	}
	reply := rejectedReply{Count: len(found), RejectedSpans: found}
	if next != nil {
		reply.Next = strconv.FormatInt(next.Start, 10) + "." + strconv.FormatUint(next.SortHash, 10)
	}
	c.PureJSON(http.StatusOK, reply)
	return nil
}

func (d Deps) reasons(c *gin.Context) error {
	query, err := rejectedQuery(c.Request.URL.Query())
	if err != nil {
		return err
	}
	ctx, project, err := d.Caller(c)
	if err != nil {
		return err
	}
	query.Project = project
	found, err := d.Reader.RejectedReasons(ctx, query)
	if err != nil {
		return err
	}
	reply := reasonsReply{Reasons: found}
	for _, r := range found {
		reply.Count += r.Count
	}
	c.PureJSON(http.StatusOK, reply)
	return nil
}

// rejectedQuery parses what both endpoints of rejected spans have in common.
func rejectedQuery(q url.Values) (out statements.Rejected, err error) {
	out = statements.Rejected{Low: math.MinInt64, High: math.MaxInt64, Stage: q.Get("stage"), Reason: q.Get("reason")}
	if out.Limit, err = integer(q, "limit", defaultLimit, 1, maxLimit); err != nil {
		return out, err
	}
	return out, timeBounds(q, &out.Low, &out.High)
}

// timeBounds parses oldest and newest into an inclusive range of Unix microseconds, which
// stays as it is where they are absent.
func timeBounds(q url.Values, low, high *int64) error {
	for name, to := range map[string]*int64{"oldest": low, "newest": high} {
		text := q.Get(name)
		if text == "" {
			continue
		}
		at, ok := trace.ParseBound(text)
		if !ok {
			return request.Invalid("value_error", "Input is not a valid "+name, text, "query", name)
		}
		*to = at.UnixMicro()
	}
	if q.Get("newest") != "" {
		*high--
	}
	return nil
}

// integer parses a number of the query string within bounds.
func integer(q url.Values, name string, otherwise, least, most int) (int, error) {
	text := q.Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, request.Invalid("value_error", fmt.Sprintf("Input should be a whole number from %d to %d", least, most), text, "query", name)
	}
	return n, nil
}

// micros returns a time in Unix microseconds, or a bound in its place.
func micros(t time.Time, otherwise int64) int64 {
	if t.IsZero() {
		return otherwise
	}
	return t.UnixMicro()
}
