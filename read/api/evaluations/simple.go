package evaluations

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity/entityschema"
	"colonnade/domain/evaluation"
	"colonnade/read/api"
	"colonnade/read/entities/runs"
)

// MountSimpleEvaluations mounts the questions about evaluations and queues as
// the ids that they are made of show them. Source: contract §5.8.
func MountSimpleEvaluations(r api.Router, reader *runs.Reader) {
	e := runRoutes{router: r, runs: reader}
	simple := func(method, path, summary string, request any, response entityschema.Schema, h func(*gin.Context) error) {
		e.mount(domain.Operation{Method: method, Path: "/simple/" + path, Summary: summary, Request: request, Response: response}, h)
	}
	simple(http.MethodGet, "evaluations/:evaluation_id", "One evaluation.", nil, entityschema.One("evaluation", evaluation.SimpleEvaluation{}), e.simpleEvaluation)
	simple(http.MethodPost, "evaluations/query", "List evaluations.", simpleEvaluationsQuery{},
		entityschema.List("evaluations", evaluation.SimpleEvaluation{}, domain.Window{}), e.simpleEvaluations)
	simple(http.MethodGet, "queues/:queue_id", "One queue with what it is made of.", nil, entityschema.One("queue", evaluation.SimpleQueue{}), e.simpleQueue)
	simple(http.MethodPost, "queues/query", "List queues.", simpleQueuesQuery{}, entityschema.List("queues", evaluation.SimpleQueue{}, domain.Window{}), e.simpleQueues)
	simple(http.MethodPost, "queues/:queue_id/scenarios/query", "List the scenarios of a queue: a person's, or all.", queueScenariosQuery{},
		entityschema.List("scenarios", evaluation.Scenario{}, domain.Window{}), e.queueScenarios)
}

type (
	simpleEvaluationsQuery struct {
		Evaluation runFilter       `json:"evaluation"`
		Windowing  *api.Windowing  `json:"windowing"`
		Jit        json.RawMessage `json:"jit"`
	}
	simpleQueueFilter struct {
		queueFilter
		Kind     *evaluation.QueueKind `json:"kind"`
		QueueIDs []uuid.UUID           `json:"queue_ids"`
	}
	simpleQueuesQuery struct {
		Queue     simpleQueueFilter `json:"queue"`
		Windowing *api.Windowing    `json:"windowing"`
	}
)

func (e runRoutes) simpleEvaluation(c *gin.Context) error {
	id, err := api.PathID(c, "evaluation_id")
	if err != nil {
		return err
	}
	found, err := e.runs.Run(c.Request.Context(), api.Project(c), id)
	if err != nil || found == nil {
		return replyOneOf[evaluation.Run](c, "", nil, err)
	}
	shown := found.Simple()
	return replyOneOf(c, "evaluation", &shown, nil)
}

func (e runRoutes) simpleEvaluations(c *gin.Context) error {
	var b simpleEvaluationsQuery
	if err := api.DecodeBody(c, &b, false); err != nil {
		return err
	}
	q, err := runsQuery{Run: b.Evaluation, Windowing: b.Windowing}.query()
	if err != nil {
		return err
	}
	found, err := e.runs.Runs(c.Request.Context(), api.Project(c), q)
	shown := domain.Page[*evaluation.SimpleEvaluation]{Next: found.Next}
	for _, run := range found.Items {
		one := run.Simple()
		shown.Items = append(shown.Items, &one)
	}
	return replyPage(c, "evaluations", q.Window, shown, err)
}

func (e runRoutes) simpleQueue(c *gin.Context) error {
	id, err := api.PathID(c, "queue_id")
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	queue, err := e.runs.Queue(ctx, api.Project(c), id)
	if err != nil || queue == nil {
		return replyOneOf[evaluation.Queue](c, "", nil, err)
	}
	run, err := e.runs.Run(ctx, api.Project(c), queue.RunID)
	if err != nil || run == nil {
		return replyOneOf[evaluation.Queue](c, "", nil, err)
	}
	shown := queue.Simple(run)
	return replyOneOf(c, "queue", &shown, nil)
}

func (e runRoutes) simpleQueues(c *gin.Context) error {
	var b simpleQueuesQuery
	if err := api.DecodeBody(c, &b, false); err != nil {
		return err
	}
	f := b.Queue
	if f.QueueIDs != nil {
		f.IDs = append(f.IDs, f.QueueIDs...)
		if f.IDs == nil {
			f.IDs = []uuid.UUID{}
		}
	}
	q, err := queuesQuery{Queue: f.queueFilter, Windowing: b.Windowing}.query()
	if err != nil {
		return err
	}
	ctx, project := c.Request.Context(), api.Project(c)
	if f.Kind != nil {
		if q.RunIDs, err = e.ofKind(c, *f.Kind, q.RunIDs); err != nil {
			return err
		}
	}
	found, err := e.runs.Queues(ctx, project, q)
	if err != nil {
		return err
	}
	shown, err := e.shown(c, found.Items)
	return replyPage(c, "queues", q.Window, domain.Page[*evaluation.SimpleQueue]{Items: shown, Next: found.Next}, err)
}

// ofKind are the runs of a kind of queues, among some if any are named.
func (e runRoutes) ofKind(c *gin.Context, kind evaluation.QueueKind, among []uuid.UUID) ([]uuid.UUID, error) {
	ids := []uuid.UUID{}
	q := runs.RunQuery{Common: runs.Common{IDs: among, Window: domain.Window{Order: domain.Ascending}}, Flags: evaluation.Flags{evaluation.IsQueue: true, kind.Flag(): true}}
	for {
		page, err := e.runs.Runs(c.Request.Context(), api.Project(c), q)
		if err != nil {
			return nil, err
		}
		for _, run := range page.Items {
			ids = append(ids, run.ID)
		}
		if page.Next == uuid.Nil {
			return ids, nil
		}
		q.Window.Next = page.Next
	}
}

// shown are queues as the runs behind them show them. Those may be more than a
// page of runs: none is kept longer than its queues are made.
func (e runRoutes) shown(c *gin.Context, queues []*evaluation.Queue) ([]*evaluation.SimpleQueue, error) {
	ids := make([]uuid.UUID, len(queues))
	of := map[uuid.UUID][]int{}
	for i, q := range queues {
		ids[i] = q.RunID
		of[q.RunID] = append(of[q.RunID], i)
	}
	out := make([]*evaluation.SimpleQueue, len(queues))
	q := runs.RunQuery{Common: runs.Common{IDs: ids}}
	for {
		page, err := e.runs.Runs(c.Request.Context(), api.Project(c), q)
		if err != nil {
			return nil, err
		}
		for _, run := range page.Items {
			for _, i := range of[run.ID] {
				one := queues[i].Simple(run)
				out[i] = &one
			}
		}
		if q.Window.Next = page.Next; page.Next == uuid.Nil {
			break
		}
	}
	// Who deletes a run meanwhile takes its queues along.
	return slices.DeleteFunc(out, func(q *evaluation.SimpleQueue) bool { return q == nil }), nil
}
