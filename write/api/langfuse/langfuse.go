// Package langfuse holds the endpoints that the Langfuse SDK calls beside its OTLP exporter,
// so that an application switches by its host setting alone: scores become annotations.
// Spans come through write/otlp, the list of projects is in read/api/entities; what else
// that API has is not served. Paths begin with /public, because the server strips /api.
//
// Source: contract §0 row 42; the public API reference of Langfuse, ingestion and scores.
package langfuse

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/request"
	"colonnade/domain/simple"
	"colonnade/domain/trace"
	"colonnade/write/api"
	"colonnade/write/ingest"
	"colonnade/write/registry/entities"
)

// source is what the records of these endpoints name as their source.
const source = "langfuse"

// refusedEvent is the status within a reply of an event that is not served.
const refusedEvent = 400

// maxEvents bounds the events of one request.
const maxEvents = 1000

// Ensurer returns the references of the evaluator that a score names, and makes it where
// there is none; write/registry/entities does.
type Ensurer interface {
	EnsureEvaluator(ctx context.Context, caller domain.Principal, j entities.Judgment) (entity.Entities, error)
}

// Deps are the components that the endpoints call.
type Deps struct {
	Ingest   *ingest.Ingest
	Entities Ensurer
	Now      func() time.Time
	Random   io.Reader
}

type (
	// score is a score as the SDK sends it.
	score struct {
		// ID makes sending a score again replace it; one is made where it is absent.
		ID            string `json:"id"`
		TraceID       string `json:"traceId"`
		ObservationID string `json:"observationId"`
		SessionID     string `json:"sessionId"`
		DatasetRunID  string `json:"datasetRunId"`
		Name          string `json:"name"`
		// Value is a number, or the text of a category.
		Value    json.RawMessage `json:"value"`
		DataType string          `json:"dataType"`
		Comment  string          `json:"comment"`
		Metadata json.RawMessage `json:"metadata"`
		// Environment and ConfigID are kept below meta.
		Environment string `json:"environment"`
		ConfigID    string `json:"configId"`
		Source      string `json:"source"`
		// Timestamp is when it was given; the time of receipt where it is absent.
		Timestamp string `json:"timestamp"`
	}
	scoreReply struct {
		ID string `json:"id"`
	}
	event struct {
		ID        string          `json:"id"`
		Type      string          `json:"type"`
		Timestamp string          `json:"timestamp"`
		Body      json.RawMessage `json:"body"`
	}
	batch struct {
		Batch []event `json:"batch"`
	}
	success struct {
		ID     string `json:"id"`
		Status int    `json:"status"`
	}
	failure struct {
		ID      string `json:"id"`
		Status  int    `json:"status"`
		Message string `json:"message"`
		Error   string `json:"error"`
	}
	batchReply struct {
		Successes []success `json:"successes"`
		Errors    []failure `json:"errors"`
	}
)

// Mount mounts the endpoints.
func Mount(r api.Router, deps Deps) {
	op := domain.Operation{
		Method: http.MethodPost, Path: "/public/scores", Permission: domain.AddSpans, Tag: "langfuse", Request: score{}, Response: scoreReply{},
		Summary: "Take a score of the Langfuse SDK, which becomes an annotation. The address is /api/public/scores.",
	}
	r.Handle(op, deps.postScore)
	op.Path, op.Request, op.Response, op.Status = "/public/ingestion", batch{}, batchReply{}, http.StatusMultiStatus
	op.Summary = "Take the scores among the events of the Langfuse SDK. The address is /api/public/ingestion."
	r.Handle(op, deps.postBatch)
}

func (d Deps) postScore(c *gin.Context) error {
	var s score
	if err := decode(c, &s); err != nil {
		return err
	}
	span, id, err := d.span(c.Request.Context(), s)
	if err != nil {
		return err
	}
	receipt, err := d.Ingest.JSON(c.Request.Context(), source, []trace.Span{span}, nil)
	if err != nil {
		return err
	}
	api.SetToken(c, receipt)
	c.JSON(http.StatusOK, scoreReply{id})
	return nil
}

// decode reads a body whose unknown members are ignored: the SDK sends more with each release.
func decode(c *gin.Context, to any) error {
	data, err := io.ReadAll(c.Request.Body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, to); err != nil {
		return domain.Wrap(domain.Rejected, err, "The body is not the JSON of this endpoint: %s.", err)
	}
	return nil
}

func (d Deps) postBatch(c *gin.Context) error {
	var b batch
	if err := decode(c, &b); err != nil {
		return err
	}
	if len(b.Batch) > maxEvents {
		return domain.E(domain.TooLarge, "A request may hold at most %d events.", maxEvents)
	}
	reply := batchReply{Successes: []success{}, Errors: []failure{}}
	var spans []trace.Span
	for _, e := range b.Batch {
		span, err := d.event(c.Request.Context(), e)
		if err != nil {
			kind := domain.KindOf(err)
			if kind == domain.Internal || kind == domain.Unavailable {
				return err
			}
			reply.Errors = append(reply.Errors, failure{e.ID, refusedEvent, err.Error(), "Bad Request"})
			continue
		}
		reply.Successes = append(reply.Successes, success{e.ID, http.StatusCreated})
		if span != nil {
			spans = append(spans, *span)
		}
	}
	if len(spans) > 0 {
		receipt, err := d.Ingest.JSON(c.Request.Context(), source, spans, nil)
		if err != nil {
			return err
		}
		api.SetToken(c, receipt)
	}
	c.JSON(http.StatusMultiStatus, reply)
	return nil
}

// event returns the span of one event of a batch; nil for one that asks for nothing.
func (d Deps) event(ctx context.Context, e event) (*trace.Span, error) {
	switch e.Type {
	case "score-create":
		var s score
		if err := json.Unmarshal(e.Body, &s); err != nil {
			return nil, domain.Wrap(domain.Rejected, err, "The body of the event is no score: %s.", err)
		}
		if s.Timestamp == "" {
			s.Timestamp = e.Timestamp
		}
		span, _, err := d.span(ctx, s)
		return &span, err
	case "sdk-log":
		return nil, nil //nolint:nilnil // nothing is asked for
	default:
		return nil, domain.E(domain.Rejected, "Events of type %q are not served here: spans are taken by OTLP at /api/public/otel/v1/traces, which current versions of the SDK use.", e.Type)
	}
}

// span returns the annotation of a score and the id of the score.
func (d Deps) span(ctx context.Context, s score) (trace.Span, string, error) {
	if s.Name == "" {
		return trace.Span{}, "", request.Invalid("missing", "Field required", nil, "body", "name")
	}
	value, err := jsonvalue.Parse(s.Value)
	if err != nil || value == nil {
		return trace.Span{}, "", request.Invalid("missing", "Field required", nil, "body", "value")
	}
	if s.ID == "" {
		id, err := uuid.NewRandomFromReader(d.Random)
		if err != nil {
			return trace.Span{}, "", fmt.Errorf("langfuse: make an id: %w", err)
		}
		s.ID = id.String()
	}
	record := simple.Record{
		Origin: simple.Custom, Kind: simple.Adhoc, Channel: simple.SDK,
		Data: map[string]any{"outputs": outputs(s, value)}, Meta: meta(s),
		References: map[string]domain.Reference{"evaluator": {Slug: slug(s.Name)}},
	}
	digest := sha256.Sum256([]byte("langfuse score " + s.ID))
	copy(record.TraceID[:], digest[:])
	copy(record.SpanID[:], digest[len(record.TraceID):])
	if record.Links, err = links(s); err != nil {
		return trace.Span{}, "", err
	}
	if err := d.ensure(ctx, &record); err != nil {
		return trace.Span{}, "", err
	}
	at := d.Now()
	if given, ok := trace.ParseTime(s.Timestamp); ok {
		at = given
	}
	return simple.New(simple.Annotation, &record, at.UnixNano()), s.ID, nil
}

// ensure makes the evaluator of a score, where the caller may do more than add spans: a key
// that anybody can read off a page must not fill the list of evaluators.
func (d Deps) ensure(ctx context.Context, r *simple.Record) error {
	caller := domain.PrincipalFrom(ctx)
	if !caller.Allows(domain.EditSpans) {
		return nil
	}
	found, err := d.Entities.EnsureEvaluator(ctx, caller, entities.Judgment{Refs: entity.Refs{Artifact: r.References["evaluator"]}, Data: r.Data})
	if err != nil {
		return err
	}
	for key, ref := range found {
		if ref.ID != uuid.Nil {
			r.References[key] = ref
		}
	}
	return nil
}

// outputs returns what a score says.
func outputs(s score, value any) map[string]any {
	if n, ok := jsonvalue.Float64(value); ok && strings.EqualFold(s.DataType, "BOOLEAN") {
		value = n != 0
	}
	out := map[string]any{"score": value}
	if s.Comment != "" {
		out["comment"] = s.Comment
	}
	return out
}

// meta returns what a score says beside.
func meta(s score) map[string]any {
	out := map[string]any{"score_id": s.ID}
	for key, value := range map[string]string{
		"name": s.Name, "data_type": s.DataType, "session_id": s.SessionID, "dataset_run_id": s.DatasetRunID,
		"environment": s.Environment, "config_id": s.ConfigID, "source": s.Source,
	} {
		if value != "" {
			out[key] = value
		}
	}
	if metadata, err := jsonvalue.Parse(s.Metadata); err == nil && metadata != nil {
		out["metadata"] = metadata
	}
	return out
}

// links returns what a score is about: an observation, or a whole trace, whose link has no
// span id. A score of a session has none.
func links(s score) ([]simple.Link, error) {
	if s.TraceID == "" {
		if s.SessionID == "" && s.DatasetRunID == "" {
			return nil, request.Invalid("missing", "Field required", nil, "body", "traceId")
		}
		return nil, nil
	}
	link := simple.Link{Name: "invocation"}
	var err error
	if link.TraceID, err = trace.ParseTraceID(s.TraceID); err != nil {
		return nil, request.Invalid("value_error", "Invalid traceId.", s.TraceID, "body", "traceId")
	}
	if s.ObservationID != "" {
		if link.SpanID, err = trace.ParseSpanID(s.ObservationID); err != nil {
			return nil, request.Invalid("value_error", "Invalid observationId.", s.ObservationID, "body", "observationId")
		}
	}
	return []simple.Link{link}, nil
}

// slug returns the name of a score as the slug of an evaluator.
func slug(name string) string {
	const maxSlug = 200
	valid := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.", r) {
			return r
		}
		return '-'
	}
	out := strings.TrimLeft(strings.Map(valid, name), ".")
	if out = out[:min(len(out), maxSlug)]; slices.Contains([]string{"", "-"}, out) {
		return "score"
	}
	return out
}
