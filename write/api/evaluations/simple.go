package evaluations

import (
	"context"
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
	"colonnade/write/evaluate"
	"colonnade/write/registry/evaluations"
)

// SimpleDeps are what the routes of simple evaluations and queues call.
type SimpleDeps struct {
	Evaluate *evaluate.Evaluate
	Runs     *evaluations.Runs
}

// startTimeout is how long it may take to make the scenarios of a large testset.
const startTimeout = 2 * time.Minute

// MountSimple mounts the commands on evaluations that are named by
// the revisions they are made of, and on the places of their results. Source: contract §5.8.
func MountSimple(r api.Router, deps SimpleDeps) {
	e := simpleEvaluations{deps, r}
	one := entityschema.One("evaluation", evaluation.SimpleEvaluation{})
	e.mount(domain.EditEvaluations, http.MethodPost, "", "Create an evaluation out of revisions: ids, or ids with who carries their step out (auto, custom, human). "+
		"It is started, unless flags.is_active is false or its status is given.", evaluationCreation{}, one, e.create)
	e.mount(domain.EditEvaluations, http.MethodPatch, "/:evaluation_id", "Edit an evaluation: given members change; results of steps that go are gone.", evaluationEdition{}, one, e.edit)
	e.mount(domain.EditEvaluations, http.MethodDelete, "/:evaluation_id", "Delete an evaluation with all that belongs to it; traces stay.", nil,
		entityschema.One("evaluation_id", map[string]any{"type": "string", "format": "uuid"}), e.remove)
	for _, c := range []struct {
		name, summary string
		permission    domain.Permission
		command       func(context.Context, domain.Principal, uuid.UUID) (*evaluation.Run, error)
	}{
		{"start", "Run an evaluation: what its sources hold becomes scenarios, and what no result says yet is computed.", domain.RunEvaluations, deps.Evaluate.Start},
		{"stop", "Stop an evaluation: what is under way is given up, what is done stays.", domain.RunEvaluations, deps.Evaluate.Stop},
		{"close", "Close an evaluation to changes.", domain.EditEvaluations, e.closed},
		{"open", "Open an evaluation to changes again.", domain.EditEvaluations, e.opened},
	} {
		e.mount(c.permission, http.MethodPost, "/:evaluation_id/"+c.name, c.summary, nil, one, e.plain(c.command))
	}
	e.mountPlaces(one)
	e.mountQueues()
}

type simpleEvaluations struct {
	deps   SimpleDeps
	router api.Router
}

func (e simpleEvaluations) mount(p domain.Permission, method, path, summary string, request, response any, h func(*gin.Context) error) {
	if path == "" {
		path = "/"
	}
	op := domain.Operation{
		Method: method, Path: "/simple/evaluations" + path, Permission: p, Tag: "evaluations", Summary: summary, Preview: true,
		Request: request, Response: response, Timeout: startTimeout,
	}
	e.router.Handle(op, h)
}

// evaluationBody is a simple evaluation.
type evaluationBody struct {
	recordBody
	Name        *string                  `json:"name"`
	Description *string                  `json:"description"`
	Flags       evaluation.GivenRunFlags `json:"flags"`
}

func (b evaluationBody) draft(id uuid.UUID, status evaluation.Status) evaluation.RunDraft {
	d := evaluation.RunDraft{RecordDraft: b.recordBody.draft(id), Name: b.Name, Description: b.Description, Flags: b.Flags.Flags()}
	if status != "" {
		d.Status = status
	}
	return d
}

// evaluationData names the revisions that an evaluation is made of.
type evaluationData struct {
	Status           evaluation.Status       `json:"status"`
	QuerySteps       evaluation.Targets      `json:"query_steps"`
	TestsetSteps     evaluation.Targets      `json:"testset_steps"`
	ApplicationSteps evaluation.Targets      `json:"application_steps"`
	EvaluatorSteps   evaluation.Targets      `json:"evaluator_steps"`
	Repeats          *int                    `json:"repeats"`
	Concurrency      *evaluation.Concurrency `json:"concurrency"`
}

func (b evaluationData) empty() bool {
	return b.QuerySteps == nil && b.TestsetSteps == nil && b.ApplicationSteps == nil && b.EvaluatorSteps == nil && b.Repeats == nil && b.Concurrency == nil
}

func (b evaluationData) draft() (evaluate.Draft, error) {
	d := evaluate.Draft{
		Queries: b.QuerySteps.By(evaluation.Custom), Testsets: b.TestsetSteps.By(evaluation.Custom),
		Applications: b.ApplicationSteps.By(evaluation.Custom), Evaluators: b.EvaluatorSteps.By(evaluation.Custom), Concurrency: b.Concurrency,
	}
	repeats, err := readRepeats(b.Repeats, "body", "evaluation", "data", "repeats")
	d.Repeats = repeats
	return d, err
}

func readRepeats(given *int, loc ...any) (int, error) {
	if given == nil {
		return 0, nil
	}
	if *given < 1 || *given > evaluation.MaxRepeats {
		return 0, request.Invalid("value_error", "Repeats are 1 to 1000", *given, loc...)
	}
	return *given, nil
}

type (
	evaluationCreation struct {
		Evaluation struct {
			evaluationBody
			ID   json.RawMessage `json:"id"`
			Data *evaluationData `json:"data" request:"required"`
		} `json:"evaluation" request:"required"`
		Jit json.RawMessage `json:"jit"`
	}
	evaluationEdition struct {
		Evaluation struct {
			evaluationBody
			ID   uuid.UUID       `json:"id" request:"required"`
			Data *evaluationData `json:"data"`
		} `json:"evaluation" request:"required"`
		Jit json.RawMessage `json:"jit"`
	}
)

func (e simpleEvaluations) create(c *gin.Context) error {
	var b evaluationCreation
	if err := api.Decode(c, &b); err != nil {
		return err
	}
	of, err := b.Evaluation.Data.draft()
	if err != nil {
		return err
	}
	made, err := e.deps.Evaluate.Create(c.Request.Context(), api.Caller(c), b.Evaluation.draft(uuid.Nil, b.Evaluation.Data.Status), of)
	return replyRun(c, made, err)
}

func (e simpleEvaluations) edit(c *gin.Context) error {
	id, err := api.PathID(c, "evaluation_id")
	if err != nil {
		return err
	}
	var b evaluationEdition
	if err := api.Decode(c, &b); err != nil {
		return err
	}
	if b.Evaluation.ID != id {
		return domain.E(domain.Rejected, "The id in the body does not match the id in the path: %s.", id)
	}
	var of *evaluate.Draft
	var status evaluation.Status
	if data := b.Evaluation.Data; data != nil {
		status = data.Status
		if !data.empty() {
			d, err := data.draft()
			if err != nil {
				return err
			}
			of = &d
		}
	}
	edited, err := e.deps.Evaluate.Edit(c.Request.Context(), api.Caller(c), b.Evaluation.draft(id, status), of)
	return replyRun(c, edited, err)
}

func (e simpleEvaluations) remove(c *gin.Context) error {
	id, err := api.PathID(c, "evaluation_id")
	if err != nil {
		return err
	}
	gone, err := e.deps.Runs.DeleteRuns(c.Request.Context(), api.Caller(c), []uuid.UUID{id})
	return replyOne(c, "evaluation_id", gone, err)
}

func (e simpleEvaluations) closed(ctx context.Context, who domain.Principal, id uuid.UUID) (*evaluation.Run, error) {
	return firstRun(e.deps.Runs.CloseRuns(ctx, who, []uuid.UUID{id}, ""))
}

func (e simpleEvaluations) opened(ctx context.Context, who domain.Principal, id uuid.UUID) (*evaluation.Run, error) {
	return firstRun(e.deps.Runs.OpenRuns(ctx, who, []uuid.UUID{id}))
}

func firstRun(all []evaluation.Run, err error) (*evaluation.Run, error) {
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

// plain runs a command on the evaluation of the path.
func (e simpleEvaluations) plain(command func(context.Context, domain.Principal, uuid.UUID) (*evaluation.Run, error)) func(*gin.Context) error {
	return func(c *gin.Context) error {
		id, err := api.PathID(c, "evaluation_id")
		if err != nil {
			return err
		}
		if err := api.NoMembers(c); err != nil {
			return err
		}
		run, err := command(c.Request.Context(), api.Caller(c), id)
		return replyRun(c, run, err)
	}
}

func replyRun(c *gin.Context, run *evaluation.Run, err error) error {
	if err != nil {
		return err
	}
	if run == nil {
		return api.Reply(c, "", nil)
	}
	c.PureJSON(http.StatusOK, gin.H{"count": 1, "evaluation": run.Simple()})
	return nil
}
