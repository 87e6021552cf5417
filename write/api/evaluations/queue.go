package evaluations

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity/entityschema"
	"colonnade/domain/evaluation"
	"colonnade/domain/request"
	"colonnade/domain/trace"
	"colonnade/write/api"
	"colonnade/write/evaluate"
)

// maxAdded is how many traces or testcases one request adds to a queue.
const maxAdded = 1000

// mountQueues mounts the commands on queues that are named by what people look at.
func (e simpleEvaluations) mountQueues() {
	op := domain.Operation{
		Method: http.MethodPost, Path: "/simple/queues/", Permission: domain.EditEvaluations, Tag: "evaluations", Preview: true, Timeout: startTimeout,
		Summary: "Create a queue of what people are to judge: what queries or testsets hold, or traces or testcases that are added one by one.",
		Request: queueCreation{}, Response: entityschema.One("queue", evaluation.SimpleQueue{}),
	}
	e.router.Handle(op, e.createQueue)
	op.Permission, op.Response = domain.AnnotateEvaluations, entityschema.One("queue_id", map[string]any{"type": "string", "format": "uuid"})
	op.Path, op.Summary, op.Request = "/simple/queues/:queue_id/traces/", "Add traces to a queue of traces, each once.", tracesAddition{}
	e.router.Handle(op, e.addTraces)
	op.Path, op.Summary, op.Request = "/simple/queues/:queue_id/testcases/", "Add testcases to a queue of testcases, each once.", testcasesAddition{}
	e.router.Handle(op, e.addTestcases)
	e.mountQueueRemovals()
}

// mountQueueRemovals mounts the deletion of queues, one or many.
func (e simpleEvaluations) mountQueueRemovals() {
	id := map[string]any{"type": "string", "format": "uuid"}
	op := domain.Operation{
		Method: http.MethodDelete, Path: "/simple/queues/", Permission: domain.EditEvaluations, Tag: "evaluations", Preview: true,
		Summary: "Delete queues, and the runs that were made for them; traces stay. A default queue goes with its run alone.",
		Request: queueIDs{}, Response: entityschema.List("queue_ids", id, domain.Window{}),
	}
	e.router.Handle(op, many(e.deps.Runs.DeleteSimpleQueues, "queue_ids", func(b queueIDs) ([]uuid.UUID, error) { return b.IDs, nil }))
	op.Path, op.Request, op.Response = "/simple/queues/:queue_id", nil, entityschema.One("queue_id", id)
	op.Summary = "Delete a queue, and the run that was made for it; traces stay. A default queue goes with its run alone."
	e.router.Handle(op, removeOne(e.deps.Runs.DeleteSimpleQueues, "queue_id"))
}

type queueCreation struct {
	Queue struct {
		recordBody
		Name        *string                    `json:"name"`
		Description *string                    `json:"description"`
		Flags       evaluation.GivenQueueFlags `json:"flags"`
		Data        *simpleQueueData           `json:"data" request:"required"`
	} `json:"queue" request:"required"`
}

type simpleQueueData struct {
	Kind        evaluation.QueueKind      `json:"kind"`
	Queries     []uuid.UUID               `json:"queries"`
	Testsets    []uuid.UUID               `json:"testsets"`
	Evaluators  evaluation.Targets        `json:"evaluators" request:"required"`
	Repeats     *int                      `json:"repeats"`
	Assignments [][]uuid.UUID             `json:"assignments"`
	Settings    *evaluation.QueueSettings `json:"settings"`
}

// kind checks what the data say of their source. Source: contract §5.8, the words of the reference.
func (d *simpleQueueData) kind() (evaluation.QueueKind, error) {
	queries, testsets := len(d.Queries) > 0, len(d.Testsets) > 0
	wrong := func(msg string) error { return request.Invalid("value_error", msg, nil, "body", "queue", "data") }
	switch {
	case queries && testsets:
		return "", wrong("simple queue source must be either queries or testsets")
	case queries && d.Kind != "" && d.Kind != evaluation.OfQueries:
		return "", wrong("query-backed queues must use kind='queries'")
	case testsets && d.Kind != "" && d.Kind != evaluation.OfTestsets:
		return "", wrong("testset-backed queues must use kind='testsets'")
	case d.Kind == evaluation.OfQueries && !queries:
		return "", wrong("kind='queries' requires query sources")
	case d.Kind == evaluation.OfTestsets && !testsets:
		return "", wrong("kind='testsets' requires testset sources")
	case queries:
		return evaluation.OfQueries, nil
	case testsets:
		return evaluation.OfTestsets, nil
	case d.Kind == "":
		return "", wrong("simple queue requires kind, queries, or testsets")
	default:
		return d.Kind, nil
	}
}

func (d *simpleQueueData) draft() (q evaluate.QueueDraft, err error) {
	if q.Kind, err = d.kind(); err != nil {
		return q, err
	}
	human := false
	for _, t := range d.Evaluators.By(evaluation.Human) {
		q.Of.Evaluators = append(q.Of.Evaluators, t)
		human = human || t.Origin == evaluation.Human
	}
	if !human {
		return q, request.Invalid("value_error", "simple queues must have at least one human evaluator", nil, "body", "queue", "data", "evaluators")
	}
	if q.Of.Repeats, err = readRepeats(d.Repeats, "body", "queue", "data", "repeats"); err != nil {
		return q, err
	}
	for _, id := range d.Queries {
		q.Of.Queries = append(q.Of.Queries, evaluation.Target{ID: id, Origin: evaluation.Custom})
	}
	for _, id := range d.Testsets {
		q.Of.Testsets = append(q.Of.Testsets, evaluation.Target{ID: id, Origin: evaluation.Custom})
	}
	q.Data = &evaluation.QueueData{UserIDs: d.Assignments}
	if s := d.Settings; s != nil {
		q.Data.BatchSize, q.Data.BatchOffset = s.BatchSize, s.BatchOffset
	}
	return q, q.Data.Check("body", "queue", "data", "settings")
}

func (e simpleEvaluations) createQueue(c *gin.Context) error {
	var b queueCreation
	if err := api.Decode(c, &b); err != nil {
		return err
	}
	d, err := b.Queue.Data.draft()
	if err != nil {
		return err
	}
	d.RecordDraft, d.Name, d.Description, d.Flags = b.Queue.draft(uuid.Nil), b.Queue.Name, b.Queue.Description, b.Queue.Flags.Flags()
	if d.Flags == nil {
		d.Flags = evaluation.Flags{}
	}
	if d.Data.BatchSize != nil || d.Data.BatchOffset != nil {
		d.Flags[evaluation.IsSequential] = true
	}
	queue, run, err := e.deps.Evaluate.CreateQueue(c.Request.Context(), api.Caller(c), d)
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, gin.H{"count": 1, "queue": queue.Simple(run)})
	return nil
}

type (
	tracesAddition struct {
		IDs []trace.TraceID `json:"trace_ids" request:"required"`
	}
	testcasesAddition struct {
		IDs []uuid.UUID `json:"testcase_ids" request:"required"`
	}
)

func (e simpleEvaluations) addTraces(c *gin.Context) error {
	id, err := api.PathID(c, "queue_id")
	if err != nil {
		return err
	}
	var b tracesAddition
	if err := api.Decode(c, &b); err != nil {
		return err
	}
	if err := few(len(b.IDs), "trace_ids"); err != nil {
		return err
	}
	found, err := e.deps.Evaluate.AddTraces(c.Request.Context(), api.Caller(c), id, b.IDs)
	return replyAdded(c, id, found, err)
}

func (e simpleEvaluations) addTestcases(c *gin.Context) error {
	id, err := api.PathID(c, "queue_id")
	if err != nil {
		return err
	}
	var b testcasesAddition
	if err := api.Decode(c, &b); err != nil {
		return err
	}
	if err := few(len(b.IDs), "testcase_ids"); err != nil {
		return err
	}
	found, err := e.deps.Evaluate.AddTestcases(c.Request.Context(), api.Caller(c), id, b.IDs)
	return replyAdded(c, id, found, err)
}

func few(n int, member string) error {
	if n > maxAdded {
		return request.Invalid("too_long", "At most 1000 can be added at once", n, "body", member)
	}
	return nil
}

func replyAdded(c *gin.Context, queue uuid.UUID, found bool, err error) error {
	if err != nil {
		return err
	}
	if !found {
		return api.Reply(c, "", nil)
	}
	c.PureJSON(http.StatusOK, gin.H{"count": 1, "queue_id": queue})
	return nil
}
