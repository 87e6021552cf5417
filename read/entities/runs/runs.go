// Package runs answers questions about evaluations: single runs, scenarios,
// results and queues, lists of them and of metrics, and whose scenarios of a
// queue are. It only looks; every statement carries the project.
//
// It asks as read/entities does and by its means. Not here: commands
// (write/registry/evaluations), rules (domain/evaluation), what traces hold
// (read/traces), bodies (read/api/evaluations, its caller).
package runs

import (
	"context"

	sq "github.com/Masterminds/squirrel"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/evaluation"
	"colonnade/migrations/schema"
	"colonnade/read/entities"
)

// Reader answers. It is safe for concurrent use.
type Reader struct{ registry *entities.Registry }

// New makes an inert room.
func New(r *entities.Registry) *Reader { return &Reader{registry: r} }

const byID = ` e WHERE e.project_id = $1 AND e.id = $2`

// one gives the row of an id; nil when there is none.
func one[T any, P entities.Row[T]](ctx context.Context, r *Reader, doing, columns, table string, project domain.ProjectID, id uuid.UUID) (*T, error) {
	found, err := entities.All[T, P](ctx, r.registry, doing, `SELECT `+columns+` FROM `+table+byID, uuid.UUID(project), id)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// Run gives a run; nil when there is none.
func (r *Reader) Run(ctx context.Context, project domain.ProjectID, id uuid.UUID) (*evaluation.Run, error) {
	return one[evaluation.Run](ctx, r, "reading an evaluation run", schema.RunColumns, "evaluation_runs", project, id)
}

// Scenario gives a scenario with its links; nil when there is none.
func (r *Reader) Scenario(ctx context.Context, project domain.ProjectID, id uuid.UUID) (*evaluation.Scenario, error) {
	found, err := one[evaluation.Scenario](ctx, r, "reading a scenario", schema.ScenarioColumns, "evaluation_scenarios", project, id)
	if err != nil || found == nil {
		return nil, err
	}
	return found, r.link(ctx, project, []*evaluation.Scenario{found})
}

// Result gives a result; nil when there is none.
func (r *Reader) Result(ctx context.Context, project domain.ProjectID, id uuid.UUID) (*evaluation.Result, error) {
	return one[evaluation.Result](ctx, r, "reading a result", schema.ResultColumns, "evaluation_results", project, id)
}

// Queue gives a queue; nil when there is none.
func (r *Reader) Queue(ctx context.Context, project domain.ProjectID, id uuid.UUID) (*evaluation.Queue, error) {
	return one[evaluation.Queue](ctx, r, "reading an evaluation queue", schema.QueueColumns, "evaluation_queues", project, id)
}

// DefaultQueue returns the default queue of a run; nil when it has none that is not archived.
func (r *Reader) DefaultQueue(ctx context.Context, project domain.ProjectID, run uuid.UUID) (*evaluation.Queue, error) {
	found, err := entities.All[evaluation.Queue](ctx, r.registry, "reading the default queue of a run", `SELECT `+schema.QueueColumns+` FROM evaluation_queues e
WHERE e.project_id = $1 AND e.run_id = $2 AND (e.flags ->> 'is_default') = 'true' AND e.deleted_at IS NULL`, uuid.UUID(project), run)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// MetricsByID returns metrics; nil when there are none.
func (r *Reader) MetricsByID(ctx context.Context, project domain.ProjectID, id uuid.UUID) (*evaluation.Metrics, error) {
	return one[evaluation.Metrics](ctx, r, "reading metrics", schema.MetricsColumns, "evaluation_metrics", project, id)
}

// tied is a result's trace.
type tied struct {
	scenario uuid.UUID
	link     evaluation.Link
}

// Targets are the addresses of selectLinks' columns.
func (t *tied) Targets() []any {
	return []any{&t.scenario, &t.link.Attributes.Key, &t.link.Attributes.RepeatIdx, (*evaluation.TraceText)(&t.link.TraceID), (*evaluation.SpanText)(&t.link.SpanID)}
}

const selectLinks = `SELECT e.scenario_id, e.step_key, e.repeat_idx, e.trace_id, e.span_id FROM evaluation_results e
WHERE e.project_id = $1 AND e.scenario_id = ANY($2) AND e.trace_id IS NOT NULL ORDER BY e.scenario_id, e.step_key, e.repeat_idx`

// link fills in the traces of scenarios, all with one question. Source: interface.md §1.
func (r *Reader) link(ctx context.Context, project domain.ProjectID, scenarios []*evaluation.Scenario) error {
	if len(scenarios) == 0 {
		return nil
	}
	ids := make([]uuid.UUID, len(scenarios))
	byID := map[uuid.UUID]*evaluation.Scenario{}
	for i, s := range scenarios {
		ids[i], byID[s.ID] = s.ID, s
	}
	found, err := entities.All[tied](ctx, r.registry, "reading links of scenarios", selectLinks, uuid.UUID(project), ids)
	for _, t := range found {
		s := byID[t.scenario]
		s.Links = append(s.Links, t.link)
	}
	return err
}

// from begins a list of one table of a project.
func from(columns, table string, project domain.ProjectID) sq.SelectBuilder {
	return entities.Select(columns, table+" e").Where("e.project_id = ?", uuid.UUID(project))
}
