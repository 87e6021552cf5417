// Package evaluations holds the endpoints that read evaluation runs, their
// scenarios, results, metrics and queues, whole or in the simple form. The reads
// themselves are in read/entities/runs.
package evaluations

import (
	"fmt"
	"io"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity/entityschema"
	"colonnade/domain/evaluation"
	"colonnade/domain/request"
	"colonnade/read/api"
	"colonnade/read/entities/runs"
)

// MountRuns mounts the questions about evaluation runs, their scenarios,
// results, metrics and queues. Source: contract §5.8.
func MountRuns(r api.Router, reader *runs.Reader) {
	e := runRoutes{router: r, runs: reader}
	e.get("run", "One evaluation run.", evaluation.Run{}, e.run)
	e.get("scenario", "One scenario, with the traces that its results name.", evaluation.Scenario{}, e.scenario)
	e.get("result", "One result.", evaluation.Result{}, e.result)
	e.get("queue", "One queue.", evaluation.Queue{}, e.queue)
	e.mount(domain.Operation{
		Method: http.MethodGet, Path: "/evaluations/runs/:run_id/queues/default", Summary: "The queue in which people find what a run asks them.",
		Response: entityschema.One("queue", evaluation.Queue{}),
	}, e.defaultQueue)
	e.mount(domain.Operation{
		Method: http.MethodGet, Path: "/evaluations/metrics/:metrics_id", Summary: "The metrics of an id, as a list of one.", Response: entityschema.List("metrics", evaluation.Metrics{}, domain.Window{}),
	}, e.metrics)
	e.list("/runs/query", "List evaluation runs.", runsQuery{}, "runs", evaluation.Run{}, e.runList)
	e.list("/scenarios/query", "List scenarios, with the traces that their results name.", scenariosQuery{}, "scenarios", evaluation.Scenario{}, e.scenarioList)
	e.list("/results/query", "List results.", resultsQuery{}, "results", evaluation.Result{}, e.resultList)
	e.list("/metrics/query", "List metrics.", metricsQuery{}, "metrics", evaluation.Metrics{}, e.metricsList)
	e.list("/queues/query", "List queues.", queuesQuery{}, "queues", evaluation.Queue{}, e.queueList)
	e.list("/queues/:queue_id/scenarios/query", "List the scenarios of a queue: a person's, or all.", queueScenariosQuery{}, "scenarios", evaluation.Scenario{}, e.queueScenarios)
}

// runRoutes are the routes of runs and what belongs to them.
type runRoutes struct {
	router api.Router
	runs   *runs.Reader
}

func (e runRoutes) mount(op domain.Operation, h func(*gin.Context) error) {
	op.Permission, op.Tag, op.Preview = domain.ViewEvaluations, "evaluations", true
	e.router.Handle(op, h)
}

func (e runRoutes) get(name, summary string, record any, h func(*gin.Context) error) {
	e.mount(domain.Operation{
		Method: http.MethodGet, Path: "/evaluations/" + name + "s/:" + name + "_id", Summary: summary, Response: entityschema.One(name, record),
	}, h)
}

func (e runRoutes) list(path, summary string, request any, members string, record any, h func(*gin.Context) error) {
	e.mount(domain.Operation{
		Method: http.MethodPost, Path: "/evaluations" + path, Summary: summary, Request: request, Response: entityschema.List(members, record, domain.Window{}),
	}, h)
}

// decodeStorable reads a body strictly, and refuses what no store holds: it
// could not be asked for there either.
func decodeStorable(c *gin.Context, v any) error {
	data, err := io.ReadAll(c.Request.Body)
	if err != nil {
		return fmt.Errorf("api: reading the body: %w", err)
	}
	if _, err := request.ParseObject(data); err != nil {
		return err
	}
	return request.Decode(data, v)
}

// replyOneOf answers 200 with what was found, or with nothing. Source: contract §5.1.
func replyOneOf[T any](c *gin.Context, member string, found *T, err error) error {
	switch {
	case err != nil:
		return err
	case found == nil:
		c.PureJSON(http.StatusOK, gin.H{"count": 0})
	default:
		c.PureJSON(http.StatusOK, gin.H{"count": 1, member: found})
	}
	return nil
}

// replyPage answers with a page, and with its window when there is another.
func replyPage[T any](c *gin.Context, members string, window domain.Window, found domain.Page[*T], err error) error {
	if err != nil {
		return err
	}
	list := found.Items
	if list == nil {
		list = []*T{}
	}
	page := gin.H{"count": len(list), members: list}
	if found.Next != uuid.Nil {
		window.Next = found.Next
		page["windowing"] = window
	}
	c.PureJSON(http.StatusOK, page)
	return nil
}

func (e runRoutes) run(c *gin.Context) error {
	id, err := api.PathID(c, "run_id")
	if err != nil {
		return err
	}
	found, err := e.runs.Run(c.Request.Context(), api.Project(c), id)
	return replyOneOf(c, "run", found, err)
}

func (e runRoutes) scenario(c *gin.Context) error {
	id, err := api.PathID(c, "scenario_id")
	if err != nil {
		return err
	}
	found, err := e.runs.Scenario(c.Request.Context(), api.Project(c), id)
	return replyOneOf(c, "scenario", found, err)
}

func (e runRoutes) result(c *gin.Context) error {
	id, err := api.PathID(c, "result_id")
	if err != nil {
		return err
	}
	found, err := e.runs.Result(c.Request.Context(), api.Project(c), id)
	return replyOneOf(c, "result", found, err)
}

func (e runRoutes) queue(c *gin.Context) error {
	id, err := api.PathID(c, "queue_id")
	if err != nil {
		return err
	}
	found, err := e.runs.Queue(c.Request.Context(), api.Project(c), id)
	return replyOneOf(c, "queue", found, err)
}

func (e runRoutes) defaultQueue(c *gin.Context) error {
	id, err := api.PathID(c, "run_id")
	if err != nil {
		return err
	}
	found, err := e.runs.DefaultQueue(c.Request.Context(), api.Project(c), id)
	return replyOneOf(c, "queue", found, err)
}

func (e runRoutes) metrics(c *gin.Context) error {
	id, err := api.PathID(c, "metrics_id")
	if err != nil {
		return err
	}
	found, err := e.runs.MetricsByID(c.Request.Context(), api.Project(c), id)
	page := domain.Page[*evaluation.Metrics]{}
	if found != nil {
		page.Items = append(page.Items, found)
	}
	return replyPage(c, "metrics", domain.Window{}, page, err)
}

func (e runRoutes) runList(c *gin.Context) error {
	var b runsQuery
	if err := decodeStorable(c, &b); err != nil {
		return err
	}
	q, err := b.query()
	if err != nil {
		return err
	}
	found, err := e.runs.Runs(c.Request.Context(), api.Project(c), q)
	return replyPage(c, "runs", q.Window, found, err)
}

func (e runRoutes) scenarioList(c *gin.Context) error {
	var b scenariosQuery
	if err := decodeStorable(c, &b); err != nil {
		return err
	}
	q, err := b.Scenario.query(b.Windowing)
	if err != nil {
		return err
	}
	found, err := e.runs.Scenarios(c.Request.Context(), api.Project(c), q)
	return replyPage(c, "scenarios", q.Window, found, err)
}

func (e runRoutes) resultList(c *gin.Context) error {
	var b resultsQuery
	if err := decodeStorable(c, &b); err != nil {
		return err
	}
	q, err := b.query()
	if err != nil {
		return err
	}
	found, err := e.runs.Results(c.Request.Context(), api.Project(c), q)
	return replyPage(c, "results", q.Window, found, err)
}

func (e runRoutes) metricsList(c *gin.Context) error {
	var b metricsQuery
	if err := decodeStorable(c, &b); err != nil {
		return err
	}
	q, err := b.query()
	if err != nil {
		return err
	}
	found, err := e.runs.Metrics(c.Request.Context(), api.Project(c), q)
	return replyPage(c, "metrics", q.Window, found, err)
}

func (e runRoutes) queueList(c *gin.Context) error {
	var b queuesQuery
	if err := decodeStorable(c, &b); err != nil {
		return err
	}
	q, err := b.query()
	if err != nil {
		return err
	}
	found, err := e.runs.Queues(c.Request.Context(), api.Project(c), q)
	return replyPage(c, "queues", q.Window, found, err)
}

func (e runRoutes) queueScenarios(c *gin.Context) error {
	id, err := api.PathID(c, "queue_id")
	if err != nil {
		return err
	}
	var b queueScenariosQuery
	if err := decodeStorable(c, &b); err != nil {
		return err
	}
	if b.Queue.ID != nil && *b.Queue.ID != id {
		return domain.E(domain.Rejected, "The id in the body does not match the id in the path: %s.", id)
	}
	q, err := b.Scenario.query(b.Windowing)
	if err != nil {
		return err
	}
	found, err := e.runs.QueueScenarios(c.Request.Context(), api.Project(c), id, joined(b.Queue.UserID, b.Queue.UserIDs), q)
	return replyPage(c, "scenarios", q.Window, found, err)
}
