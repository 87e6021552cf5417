package evaluations

import (
	"context"
	"maps"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/request"
	"colonnade/write/api"
	"colonnade/write/evaluate/runner"
	"colonnade/write/invoke/handler"
)

// BatchDeps are what the route of evaluations calls.
type BatchDeps struct {
	Runner *runner.Runner
	// Timeout is how long a run may take, its traces included.
	Timeout time.Duration
	// EncryptToken returns a token as clients get it.
	EncryptToken func(ctx context.Context, token domain.Token) string
	// Status returns the status code of the reply to an error.
	Status func(err error) int
}

// maxEvaluationBytes bounds a request: its testcases are in it.
const maxEvaluationBytes = 16 << 20

// MountBatch mounts the batch: an application revision over testcases,
// judged by evaluator revisions. Source: interface.md §1.
func MountBatch(r api.Router, deps BatchDeps) {
	e := batchEndpoint{deps}
	r.Handle(domain.Operation{
		Method: http.MethodPost, Path: "/simple/evaluations/run", Permission: domain.RunEvaluations, Tag: "evaluations",
		Summary: "Run an application revision over testcases, given or those of a testset, and judge each answer. Answers when all is done, or tells each outcome " +
			"as it comes to a caller that accepts text/event-stream or application/x-ndjson.",
		Request: evaluationRequest{}, Response: evaluationReply{}, Remember: true, Limit: maxEvaluationBytes, Timeout: deps.Timeout,
	}, e.run)
}

type batchEndpoint struct{ deps BatchDeps }

// evaluationRequest documents the body; the references are those of
// retrieve and of queries.
type evaluationRequest struct {
	Evaluation struct {
		ApplicationRef         *domain.Reference  `json:"application_ref"`
		ApplicationVariantRef  *domain.Reference  `json:"application_variant_ref"`
		ApplicationRevisionRef *domain.Reference  `json:"application_revision_ref"`
		EnvironmentRef         *domain.Reference  `json:"environment_ref"`
		EnvironmentVariantRef  *domain.Reference  `json:"environment_variant_ref"`
		EnvironmentRevisionRef *domain.Reference  `json:"environment_revision_ref"`
		Key                    string             `json:"key"`
		EvaluatorRefs          []domain.Reference `json:"evaluator_refs"`
		EvaluatorVariantRefs   []domain.Reference `json:"evaluator_variant_refs"`
		EvaluatorRevisionRefs  []domain.Reference `json:"evaluator_revision_refs"`
		Testcases              []testcaseBody     `json:"testcases"`
		TestsetRef             *domain.Reference  `json:"testset_ref"`
		TestsetVariantRef      *domain.Reference  `json:"testset_variant_ref"`
		TestsetRevisionRef     *domain.Reference  `json:"testset_revision_ref"`
		Concurrency            int                `json:"concurrency" minimum:"1"`
		Tags                   map[string]any     `json:"tags"`
		Meta                   map[string]any     `json:"meta"`
	} `json:"evaluation"`
}

type testcaseBody struct {
	ID   uuid.UUID      `json:"id"`
	Data map[string]any `json:"data"`
}

func readEvaluation(body *request.Object) runner.Batch {
	body.Require("evaluation")
	o := body.Object("evaluation")
	e := runner.Batch{}
	if o != nil {
		e.Subject = entity.Applications().ReadRetrieval(o)
		if e.Testset = entity.Testsets().ReadRefs(o); e.Testset.IsZero() {
			o.Require("testcases")
		}
		for _, level := range []entity.Level{entity.LevelArtifact, entity.LevelVariant, entity.LevelRevision} {
			for _, ref := range entity.ReadReferences(o, entity.Evaluators().Member(level)+"_refs") {
				q := entity.Retrieval{Family: entity.Evaluators()}
				*q.Refs.At(level) = ref
				e.Evaluators = append(e.Evaluators, q)
			}
		}
		for _, t := range o.Objects("testcases") {
			t.Require("data")
			e.Testcases = append(e.Testcases, runner.Testcase{ID: t.UUID("id"), Data: canonicalMap(t.Map("data"))})
			t.FailUnknown()
		}
		if n := o.Int("concurrency", 1); n != nil {
			e.Concurrency = *n
		}
		e.Tags, e.Meta = canonicalMap(o.Map("tags")), canonicalMap(o.Map("meta"))
		o.FailUnknown()
	}
	body.FailUnknown()
	return e
}

// canonicalMap turns what the form read into canonical JSON; nil stays nil.
func canonicalMap(m map[string]any) map[string]any {
	if m == nil {
		return nil
	}
	out, _ := handler.Canonical(m).(map[string]any)
	return out
}

func (e batchEndpoint) run(c *gin.Context) error {
	body, err := api.ReadObject(c)
	if err != nil {
		return err
	}
	request := readEvaluation(body)
	if err := body.Err(); err != nil {
		return err
	}
	media, stream, ok := api.NegotiateStream(c, false)
	if !ok {
		return domain.E(domain.NotAcceptable, "An evaluation is answered as %s, %s, %s or %s.", api.MediaJSON, api.MediaSSE, api.MediaNDJSON, api.MediaJSONL)
	}
	w := evaluationWriter{EventStream: api.NewEventStream(c, media), statusOf: e.deps.Status}
	if stream {
		request.Begun, request.Progress = w.begun, w.progress
	}
	reply, err := e.deps.Runner.RunBatch(c.Request.Context(), request)
	// What was written is named to a client that has gone, too: its stream may still have a reader.
	token := e.deps.EncryptToken(context.WithoutCancel(c.Request.Context()), reply.Token)
	if err != nil {
		if !w.Started() {
			return err
		}
		return w.event(map[string]any{"type": "error", "status": w.status(err), "evaluation": w.evaluation(reply), "token": token})
	}
	if positions := reply.Token.String(); positions != "" {
		c.Header(domain.TokenHeader, positions) // encrypted by cmd/internal/server/token
	}
	whole := map[string]any{"count": int64(1), "evaluation": w.evaluation(reply), "token": token}
	if stream {
		whole["type"] = "done"
		return w.event(whole)
	}
	c.Data(http.StatusOK, api.MediaJSON, jsonvalue.Append(nil, whole))
	return nil
}

// evaluationReply documents the answer, which is written as canonical JSON.
type evaluationReply struct {
	Count      int `json:"count"`
	Evaluation struct {
		ID         uuid.UUID                     `json:"id"`
		Status     string                        `json:"status"`
		References map[string]domain.Reference   `json:"references"`
		Evaluators []map[string]domain.Reference `json:"evaluators"`
		Scenarios  []scenarioBody                `json:"scenarios"`
	} `json:"evaluation"`
	Token string `json:"token"`
}

type scenarioBody struct {
	Index       int                 `json:"index"`
	TestcaseID  uuid.UUID           `json:"testcase_id"`
	Status      string              `json:"status"`
	Invocation  outcomeBody         `json:"invocation"`
	Annotations []outcomeBody       `json:"annotations"`
	Links       map[string]linkBody `json:"links"`
}

type outcomeBody struct {
	Evaluator string               `json:"evaluator,omitempty"`
	TraceID   string               `json:"trace_id,omitempty"`
	SpanID    string               `json:"span_id,omitempty"`
	Status    api.InvocationStatus `json:"status"`
	Score     *float64             `json:"score,omitempty"`
	Success   *bool                `json:"success,omitempty"`
}

type linkBody struct {
	TraceID string `json:"trace_id"`
	SpanID  string `json:"span_id"`
}

// evaluationWriter says what a run does.
type evaluationWriter struct {
	*api.EventStream
	statusOf func(error) int
}

func (w evaluationWriter) event(value any) error { return w.Send(handler.Canonical(value)) }

// Statuses of scenarios and runs. Source: contract §5.8.
const (
	statusSuccess = "success"
	statusErrors  = "errors"
)

func (w evaluationWriter) begun(r runner.BatchReply) error {
	w.Start()
	started := w.evaluation(r)
	delete(started, "scenarios")
	started["status"] = "running"
	return w.event(map[string]any{"type": "started", "evaluation": started, "testcases": int64(len(r.Scenarios))})
}

// progress tells of one outcome, with its outputs.
func (w evaluationWriter) progress(s runner.Scenario, o runner.Outcome) error {
	event := w.outcome(o)
	event["type"] = "invocation"
	if o.Evaluator != "" {
		event["type"] = "annotation"
	}
	event["index"], event["testcase_id"] = int64(s.Index), s.TestcaseID.String()
	if o.Outputs != nil {
		event["outputs"] = o.Outputs
	}
	return w.event(event)
}

func (w evaluationWriter) evaluation(r runner.BatchReply) map[string]any {
	status := statusSuccess
	scenarios := make([]any, len(r.Scenarios))
	for i, s := range r.Scenarios {
		shown := w.scenario(s)
		if scenarios[i] = shown; shown["status"] != statusSuccess {
			status = statusErrors
		}
	}
	evaluators := make([]any, len(r.Evaluators))
	for i, e := range r.Evaluators {
		evaluators[i] = shownEntities(e)
	}
	references := shownEntities(r.Subject)
	maps.Copy(references, shownEntities(r.Testset))
	return map[string]any{
		"id": r.ID.String(), "status": status, "references": references, "evaluators": evaluators, "scenarios": scenarios,
	}
}

// scenario has both traces under links, by which scenarios are followed. Source: interface.md §1.
func (w evaluationWriter) scenario(s runner.Scenario) map[string]any {
	status := statusSuccess
	links := map[string]any{}
	link := func(name string, o runner.Outcome) {
		if o.Err != nil || o.TraceID.IsZero() {
			status = statusErrors
		}
		if !o.TraceID.IsZero() {
			links[name] = map[string]any{"trace_id": o.TraceID.String(), "span_id": o.SpanID.String()}
		}
	}
	link("invocation", s.Invocation)
	annotations := make([]any, len(s.Annotations))
	for i, o := range s.Annotations {
		annotations[i] = w.outcome(o)
		link(o.Evaluator, o)
	}
	return map[string]any{
		"index": int64(s.Index), "testcase_id": s.TestcaseID.String(), "status": status,
		"invocation": w.outcome(s.Invocation), "annotations": annotations, "links": links,
	}
}

func (w evaluationWriter) outcome(o runner.Outcome) map[string]any {
	out := map[string]any{"status": map[string]any{"code": int64(http.StatusOK), "message": "Success"}}
	if o.Err != nil {
		out["status"] = w.status(o.Err)
	}
	if o.TraceID.IsZero() {
		out["status"] = map[string]any{"code": int64(0), "message": "Not run"}
	} else {
		out["trace_id"], out["span_id"] = o.TraceID.String(), o.SpanID.String()
	}
	if o.Evaluator != "" {
		out["evaluator"] = o.Evaluator
	}
	if o.Score != nil {
		out["score"] = *o.Score
	}
	if o.Success != nil {
		out["success"] = *o.Success
	}
	return out
}

// status is an error as the envelope of an invocation has it.
func (w evaluationWriter) status(err error) map[string]any {
	return map[string]any{
		"code": int64(w.statusOf(err)), "message": handler.Message(err), "type": handler.ProblemOf(err).URL(),
	}
}

func shownEntities(all entity.Entities) map[string]any {
	out := map[string]any{}
	for name, ref := range maps.All(all) {
		shown := map[string]any{}
		if ref.ID != uuid.Nil {
			shown["id"] = ref.ID.String()
		}
		if ref.Slug != "" {
			shown["slug"] = ref.Slug
		}
		if ref.Version != "" {
			shown["version"] = ref.Version
		}
		out[name] = shown
	}
	return out
}
