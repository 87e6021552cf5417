package evaluations

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity/entityschema"
	"colonnade/domain/evaluation"
	"colonnade/domain/request"
	"colonnade/write/api"
)

// mountPlaces mounts what is done to an evaluation by its places: steps,
// scenarios and repeats, and the results that stand there. A dimension of a
// slice that is left out means all of it.
func (e simpleEvaluations) mountPlaces(one entityschema.Schema) {
	at := "/:evaluation_id/"
	results := entityschema.List("results", evaluation.Result{}, domain.Window{})
	run := entityschema.One("run", evaluation.Run{})
	e.mount(domain.ViewEvaluations, http.MethodPost, at+"probe", "The results of a slice.", sliceBody{}, results, e.probe)
	e.mount(domain.AnnotateEvaluations, http.MethodPost, at+"populate", "Set results of an evaluation.", resultsCreation{}, results, e.populate)
	e.mount(domain.EditEvaluations, http.MethodPost, at+"steps/add", "Add steps to an evaluation; one whose key is there stays as it is.", stepsAddition{}, run, e.addSteps)
	e.mount(domain.AnnotateEvaluations, http.MethodPost, at+"scenarios/add", "Add scenarios without results.", scenariosAddition{},
		entityschema.List("scenarios", evaluation.Scenario{}, domain.Window{}), e.addScenarios)
	for _, path := range []string{"repeats", "repeats/set"} {
		e.mount(domain.EditEvaluations, http.MethodPost, at+path, "Say how often steps are done.", repeatsBody{}, run, e.setRepeats)
	}
	silent := func(p domain.Permission, path, summary string, request any, h func(*gin.Context) error) {
		e.router.Handle(domain.Operation{
			Method: http.MethodPost, Path: "/simple/evaluations" + at + path, Permission: p, Tag: "evaluations", Summary: summary, Preview: true,
			Request: request, Status: http.StatusNoContent, Timeout: startTimeout,
		}, h)
	}
	silent(domain.AnnotateEvaluations, "prune", "Remove the results of a slice, and from metrics what they gave.", sliceBody{}, e.prune)
	silent(domain.AnnotateEvaluations, "refresh", "Compute metrics of a slice and of the whole again.", sliceBody{}, e.refresh)
	silent(domain.EditEvaluations, "steps/remove", "Remove steps with their results.", stepsRemoval{}, e.removeSteps)
	silent(domain.AnnotateEvaluations, "scenarios/remove", "Remove scenarios with their results.", scenarioIDs{}, e.removeScenarios)
	e.router.Handle(domain.Operation{
		Method: http.MethodPost, Path: "/simple/evaluations" + at + "process", Permission: domain.RunEvaluations, Tag: "evaluations", Preview: true,
		Summary: "Have computed what no result says yet of a slice of the scenarios that are there; with overwrite also what some say.",
		Request: processBody{}, Response: one, Status: http.StatusAccepted, Timeout: startTimeout,
	}, e.process)
}

// sliceBody names places.
type sliceBody struct {
	ScenarioIDs []uuid.UUID `json:"scenario_ids"`
	StepKeys    []string    `json:"step_keys"`
	RepeatIdxs  []int       `json:"repeat_idxs"`
}

func (b sliceBody) slice() evaluation.Slice {
	return evaluation.Slice{Scenarios: b.ScenarioIDs, Steps: b.StepKeys, Repeats: b.RepeatIdxs}
}

type (
	processBody struct {
		sliceBody
		Overwrite bool `json:"overwrite"`
	}
	stepsAddition struct {
		Steps []evaluation.Step `json:"steps" request:"required"`
	}
	stepsRemoval struct {
		Keys []string `json:"step_keys" request:"required"`
	}
	scenariosAddition struct {
		Count     int             `json:"count" request:"required" minimum:"1"`
		Timestamp *time.Time      `json:"timestamp"`
		Interval  json.RawMessage `json:"interval"`
	}
	repeatsBody struct {
		Repeats *int `json:"repeats" request:"required"`
	}
)

// read reads the evaluation's id and the body.
func (e simpleEvaluations) read(c *gin.Context, into any) (uuid.UUID, error) {
	id, err := api.PathID(c, "evaluation_id")
	if err != nil {
		return id, err
	}
	return id, api.Decode(c, into)
}

func (e simpleEvaluations) probe(c *gin.Context) error {
	var b sliceBody
	id, err := e.read(c, &b)
	if err != nil {
		return err
	}
	found, err := e.deps.Evaluate.Probe(c.Request.Context(), api.Caller(c), id, b.slice())
	return replyMany(c, "results", found, err)
}

func (e simpleEvaluations) populate(c *gin.Context) error {
	var b resultsCreation
	id, err := e.read(c, &b)
	if err != nil {
		return err
	}
	drafts, err := b.drafts()
	if err != nil {
		return err
	}
	set, err := e.deps.Evaluate.Populate(c.Request.Context(), api.Caller(c), id, drafts)
	return replyMany(c, "results", set, err)
}

func (e simpleEvaluations) process(c *gin.Context) error {
	var b processBody
	id, err := e.read(c, &b)
	if err != nil {
		return err
	}
	run, err := e.deps.Evaluate.Process(c.Request.Context(), api.Caller(c), id, b.slice(), b.Overwrite)
	if err != nil || run == nil {
		return replyRun(c, nil, err)
	}
	c.PureJSON(http.StatusAccepted, gin.H{"count": 1, "evaluation": run.Simple()})
	return nil
}

func (e simpleEvaluations) prune(c *gin.Context) error {
	var b sliceBody
	id, err := e.read(c, &b)
	if err != nil {
		return err
	}
	return done(c, e.deps.Evaluate.Prune(c.Request.Context(), api.Caller(c), id, b.slice()))
}

// refresh waits for the traces that the caller has just written.
func (e simpleEvaluations) refresh(c *gin.Context) error {
	var b sliceBody
	id, err := e.read(c, &b)
	if err != nil {
		return err
	}
	token, err := domain.ParseToken(c.GetHeader(domain.TokenHeader))
	if err != nil {
		return err
	}
	pending, err := e.deps.Runs.Wait(c.Request.Context(), token)
	if err != nil {
		return err
	}
	if len(pending) > 0 {
		c.Header(domain.TokenHeader+"-Pending", pending.String())
	}
	return done(c, e.deps.Evaluate.Refresh(c.Request.Context(), api.Caller(c), id, b.slice()))
}

func done(c *gin.Context, err error) error {
	if err == nil {
		c.Status(http.StatusNoContent)
	}
	return err
}

func (e simpleEvaluations) addSteps(c *gin.Context) error {
	var b stepsAddition
	id, err := e.read(c, &b)
	if err != nil {
		return err
	}
	return replyWhole(c)(e.deps.Evaluate.AddSteps(c.Request.Context(), api.Caller(c), id, b.Steps))
}

func (e simpleEvaluations) removeSteps(c *gin.Context) error {
	var b stepsRemoval
	id, err := e.read(c, &b)
	if err != nil {
		return err
	}
	_, err = e.deps.Evaluate.RemoveSteps(c.Request.Context(), api.Caller(c), id, b.Keys)
	return done(c, err)
}

func (e simpleEvaluations) setRepeats(c *gin.Context) error {
	var b repeatsBody
	id, err := e.read(c, &b)
	if err != nil {
		return err
	}
	repeats, err := readRepeats(b.Repeats, "body", "repeats")
	if err != nil {
		return err
	}
	return replyWhole(c)(e.deps.Evaluate.SetRepeats(c.Request.Context(), api.Caller(c), id, repeats))
}

// replyWhole answers with a run as it is.
func replyWhole(c *gin.Context) func(*evaluation.Run, error) error {
	return func(run *evaluation.Run, err error) error {
		if err != nil || run == nil {
			return replyRun(c, nil, err)
		}
		c.PureJSON(http.StatusOK, gin.H{"count": 1, "run": run})
		return nil
	}
}

func (e simpleEvaluations) addScenarios(c *gin.Context) error {
	var b scenariosAddition
	id, err := e.read(c, &b)
	if err != nil {
		return err
	}
	if b.Count < 1 {
		return request.Invalid("greater_than_equal", "Input should be greater than or equal to 1", b.Count, "body", "count")
	}
	made, err := e.deps.Evaluate.AddScenarios(c.Request.Context(), api.Caller(c), id, b.Count, b.Timestamp)
	return replyMany(c, "scenarios", made, err)
}

func (e simpleEvaluations) removeScenarios(c *gin.Context) error {
	var b scenarioIDs
	id, err := e.read(c, &b)
	if err != nil {
		return err
	}
	return done(c, e.deps.Evaluate.RemoveScenarios(c.Request.Context(), api.Caller(c), id, b.IDs))
}
