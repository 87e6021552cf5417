// Package evaluations holds the commands on evaluations: runs, scenarios, results,
// metrics and queues as records (runs.go), simple evaluations and queues, which
// are named by the revisions they are made of (simple.go, slice.go, queue.go),
// and the batch that is answered when it is done or as a stream (batch.go).
// Records are stored by write/registry/evaluations; write/evaluate executes runs.
package evaluations

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity/entityschema"
	"colonnade/domain/evaluation"
	"colonnade/domain/request"
	"colonnade/write/api"
	"colonnade/write/registry/evaluations"
)

// refreshTimeout is how long metrics of many traces may take to compute.
const refreshTimeout = 2 * time.Minute

// MountRuns mounts the commands on evaluation runs, their scenarios, results,
// metrics and queues. Source: contract §5.8.
func MountRuns(r api.Router, commands *evaluations.Runs) {
	e := runRoutes{commands}
	e.mountRuns(r)
	parts := func(name string, permission domain.Permission, record any) resource {
		return resource{r, name, name + "s", permission, record}
	}
	scenarios := parts("scenario", domain.AnnotateEvaluations, evaluation.Scenario{})
	scenarios.mount(http.MethodPost, "/", "Add scenarios to runs.", scenariosCreation{}, many(commands.AddScenarios, "scenarios", scenariosCreation.drafts))
	scenarios.mount(http.MethodPatch, "/", "Edit scenarios: given members change.", scenariosEdition{}, many(commands.EditScenarios, "scenarios", scenariosEdition.drafts))
	scenarios.editing("Edit a scenario: given members change.", scenarioEdition{}, editOne(commands.EditScenarios, "scenario", scenarioEdition.draft))
	deletes(scenarios, scenarioIDs{}, commands.DeleteScenarios, func(b scenarioIDs) []uuid.UUID { return b.IDs })

	results := parts("result", domain.AnnotateEvaluations, evaluation.Result{})
	results.mount(http.MethodPost, "/", "Set results; there is one of a step for each scenario and repeat.", resultsCreation{}, many(commands.SetResults, "results", resultsCreation.drafts))
	for _, method := range []string{http.MethodPatch, http.MethodPut} {
		results.mount(method, "/", "Edit results: given members change. One without an id is set as by POST.", resultsEdition{},
			many(commands.PutResults, "results", resultsEdition.drafts))
	}
	results.editing("Edit a result: given members change.", resultEdition{}, editOne(commands.EditResults, "result", resultEdition.draft))
	deletes(results, resultIDs{}, commands.DeleteResults, func(b resultIDs) []uuid.UUID { return b.IDs })

	metrics := resource{r, "metrics", "metrics", domain.AnnotateEvaluations, evaluation.Metrics{}}
	metrics.mount(http.MethodPost, "/", "Set metrics of runs, of scenarios or of stretches of time.", metricsCreation{}, many(commands.SetMetrics, "metrics", metricsCreation.drafts))
	for _, method := range []string{http.MethodPatch, http.MethodPut} {
		metrics.mount(method, "/", "Edit metrics: given members change. Those without an id are set as by POST.", metricsEdition{},
			many(commands.PutMetrics, "metrics", metricsEdition.drafts))
	}
	deletes(metrics, metricsIDs{}, commands.DeleteMetrics, func(b metricsIDs) []uuid.UUID { return b.IDs })
	metrics.operation(domain.Operation{
		Method: http.MethodPost, Path: "/evaluations/metrics/refresh", Summary: "Compute metrics again from the traces that results name.",
		Request: metricsRefresh{}, Response: metrics.list(), Timeout: refreshTimeout,
	}, e.refresh)

	queues := parts("queue", domain.EditEvaluations, evaluation.Queue{})
	queues.mount(http.MethodPost, "/", "Create queues of runs.", queuesCreation{}, many(commands.CreateQueues, "queues", queuesCreation.drafts))
	queues.mount(http.MethodPatch, "/", "Edit queues: given members change.", queuesEdition{}, many(commands.EditQueues, "queues", queuesEdition.drafts))
	queues.editing("Edit a queue: given members change.", queueEdition{}, editOne(commands.EditQueues, "queue", queueEdition.draft))
	deletes(queues, queueIDs{}, commands.DeleteQueues, func(b queueIDs) []uuid.UUID { return b.IDs })
}

type runRoutes struct{ runs *evaluations.Runs }

func (e runRoutes) mountRuns(r api.Router) {
	of := resource{r, "run", "runs", domain.EditEvaluations, evaluation.Run{}}
	of.mount(http.MethodPost, "/", "Create evaluation runs.", runsCreation{}, many(e.runs.CreateRuns, "runs", runsCreation.drafts))
	of.mount(http.MethodPatch, "/", "Edit evaluation runs: given members change.", runsEdition{}, many(e.runs.EditRuns, "runs", runsEdition.drafts))
	of.editing("Edit an evaluation run: given members change.", runEdition{}, editOne(e.runs.EditRuns, "run", runEdition.draft))
	deletes(of, runIDs{}, e.runs.DeleteRuns, func(b runIDs) []uuid.UUID { return b.IDs })

	closing := func(ctx context.Context, caller domain.Principal, ids []uuid.UUID) ([]evaluation.Run, error) {
		return e.runs.CloseRuns(ctx, caller, ids, "")
	}
	ids := func(b runIDs) ([]uuid.UUID, error) { return b.IDs, nil }
	of.mount(http.MethodPost, "/close", "Close evaluation runs to changes.", runIDs{}, many(closing, "runs", ids))
	of.mount(http.MethodPost, "/open", "Open evaluation runs to changes again.", runIDs{}, many(e.runs.OpenRuns, "runs", ids))
	of.operation(domain.Operation{
		Method: http.MethodPost, Path: "/evaluations/runs/:run_id/close", Summary: "Close an evaluation run to changes.", Response: of.single(),
		Query: []domain.Parameter{{Name: "status", Type: "string", Doc: "The last status, such as success; the one that the run has stays without it."}},
	}, e.close)
	of.operation(domain.Operation{Method: http.MethodPost, Path: "/evaluations/runs/:run_id/close/:status", Summary: "Close an evaluation run to changes, with a last status.", Response: of.single()}, e.close)
	of.operation(domain.Operation{Method: http.MethodPost, Path: "/evaluations/runs/:run_id/open", Summary: "Open an evaluation run to changes again.", Response: of.single()}, e.open)
}

func (e runRoutes) close(c *gin.Context) error {
	id, err := api.PathID(c, "run_id")
	if err != nil {
		return err
	}
	if err := api.NoMembers(c); err != nil {
		return err
	}
	status, err := lastStatus(c)
	if err != nil {
		return err
	}
	closed, err := e.runs.CloseRuns(c.Request.Context(), api.Caller(c), []uuid.UUID{id}, status)
	return replyOne(c, "run", closed, err)
}

// lastStatus reads the status of a close: that of the path, else that of the query string, as
// the reference's SDK sends it; empty where none is given.
func lastStatus(c *gin.Context) (status evaluation.Status, err error) {
	given, where := c.Param("status"), "path"
	if given == "" {
		given, where = c.Query("status"), "query"
	}
	if given == "" {
		return "", nil
	}
	if err := status.UnmarshalText([]byte(given)); err != nil {
		return "", request.Invalid("enum", err.Error(), given, where, "status")
	}
	return status, nil
}

func (e runRoutes) open(c *gin.Context) error {
	id, err := api.PathID(c, "run_id")
	if err != nil {
		return err
	}
	if err := api.NoMembers(c); err != nil {
		return err
	}
	opened, err := e.runs.OpenRuns(c.Request.Context(), api.Caller(c), []uuid.UUID{id})
	return replyOne(c, "run", opened, err)
}

// refresh waits for the traces that the caller has just written.
func (e runRoutes) refresh(c *gin.Context) error {
	var b metricsRefresh
	if err := api.Decode(c, &b); err != nil {
		return err
	}
	q, err := b.refresh()
	if err != nil {
		return err
	}
	if len(q.RunIDs) == 0 {
		return replyMany[evaluation.Metrics](c, "metrics", nil, nil)
	}
	token, err := domain.ParseToken(c.GetHeader(domain.TokenHeader))
	if err != nil {
		return err
	}
	pending, err := e.runs.Wait(c.Request.Context(), token)
	if err != nil {
		return err
	}
	if len(pending) > 0 {
		c.Header(domain.TokenHeader+"-Pending", pending.String())
	}
	set, err := e.runs.RefreshMetrics(c.Request.Context(), api.Caller(c), q)
	return replyMany(c, "metrics", set, err)
}

// resource is one sort of things below /evaluations/.
type resource struct {
	router        api.Router
	name, members string
	permission    domain.Permission
	record        any
}

func (s resource) single() entityschema.Schema { return entityschema.One(s.name, s.record) }
func (s resource) list() entityschema.Schema {
	return entityschema.List(s.members, s.record, domain.Window{})
}

func (s resource) operation(op domain.Operation, h func(*gin.Context) error) {
	op.Permission, op.Tag, op.Preview = s.permission, "evaluations", true
	s.router.Handle(op, h)
}

// mount mounts a command on many.
func (s resource) mount(method, path, summary string, request any, h func(*gin.Context) error) {
	s.operation(domain.Operation{Method: method, Path: "/evaluations/" + s.members + path, Summary: summary, Request: request, Response: s.list()}, h)
}

// editing mounts the edit of the one of the path.
func (s resource) editing(summary string, request any, h func(*gin.Context) error) {
	s.operation(domain.Operation{Method: http.MethodPatch, Path: "/evaluations/" + s.members + "/:" + s.name + "_id", Summary: summary, Request: request, Response: s.single()}, h)
}

// deletes mounts the removal of many and, where things are answered one by one, of one.
func deletes[B any](s resource, request B, remove removal, ids func(B) []uuid.UUID) {
	member := s.name + "_id"
	uuids := map[string]any{"type": "string", "format": "uuid"}
	s.operation(domain.Operation{
		Method: http.MethodDelete, Path: "/evaluations/" + s.members + "/", Summary: "Delete " + s.members + ", with all that belongs to them.",
		Request: request, Response: entityschema.List(member+"s", uuids, domain.Window{}),
	}, many(remove, member+"s", func(b B) ([]uuid.UUID, error) { return ids(b), nil }))
	if s.name == s.members { // one of them is answered as a list, because the word has no singular
		s.operation(domain.Operation{
			Method: http.MethodDelete, Path: "/evaluations/" + s.members + "/:" + member, Summary: "Delete " + s.members + " by their id.",
			Response: entityschema.List(member+"s", uuids, domain.Window{}),
		}, func(c *gin.Context) error {
			id, err := api.PathID(c, member)
			if err != nil {
				return err
			}
			gone, err := remove(c.Request.Context(), api.Caller(c), []uuid.UUID{id})
			return replyMany(c, member+"s", gone, err)
		})
		return
	}
	s.operation(domain.Operation{
		Method: http.MethodDelete, Path: "/evaluations/" + s.members + "/:" + member, Summary: "Delete a " + s.name + ", with all that belongs to it.",
		Response: entityschema.One(member, uuids),
	}, removeOne(remove, member))
}

// removal deletes things and gives the ids of those that were there.
type removal = func(ctx context.Context, caller domain.Principal, ids []uuid.UUID) ([]uuid.UUID, error)

// many reads a body of drafts, runs a command on them and answers with what it gives.
func many[B, D, T any](command func(context.Context, domain.Principal, []D) ([]T, error), members string, drafts func(B) ([]D, error)) func(*gin.Context) error {
	return func(c *gin.Context) error {
		var b B
		if err := api.Decode(c, &b); err != nil {
			return err
		}
		given, err := drafts(b)
		if err != nil {
			return err
		}
		done, err := command(c.Request.Context(), api.Caller(c), given)
		return replyMany(c, members, done, err)
	}
}

// named is a draft with the id of what it edits.
type named interface{ Named() uuid.UUID }

// editOne reads a body with the draft of the one that the path names.
func editOne[B any, D named, T any](command func(context.Context, domain.Principal, []D) ([]T, error), member string, draft func(B) (D, error)) func(*gin.Context) error {
	return func(c *gin.Context) error {
		id, err := api.PathID(c, member+"_id")
		if err != nil {
			return err
		}
		var b B
		if err := api.Decode(c, &b); err != nil {
			return err
		}
		d, err := draft(b)
		if err != nil {
			return err
		}
		if d.Named() != id {
			return domain.E(domain.Rejected, "The id in the body does not match the id in the path: %s.", id)
		}
		done, err := command(c.Request.Context(), api.Caller(c), []D{d})
		return replyOne(c, member, done, err)
	}
}

// removeOne deletes the one that the path names.
func removeOne(remove removal, member string) func(*gin.Context) error {
	return func(c *gin.Context) error {
		id, err := api.PathID(c, member)
		if err != nil {
			return err
		}
		gone, err := remove(c.Request.Context(), api.Caller(c), []uuid.UUID{id})
		return replyOne(c, member, gone, err)
	}
}

func replyMany[T any](c *gin.Context, members string, list []T, err error) error {
	if err != nil {
		return err
	}
	if list == nil {
		list = []T{}
	}
	c.PureJSON(http.StatusOK, gin.H{"count": len(list), members: list})
	return nil
}

func replyOne[T any](c *gin.Context, member string, list []T, err error) error {
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return api.Reply(c, "", nil)
	}
	c.PureJSON(http.StatusOK, gin.H{"count": 1, member: list[0]})
	return nil
}
