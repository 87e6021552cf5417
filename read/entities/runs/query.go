package runs

import (
	"context"
	"slices"
	"time"

	sq "github.com/Masterminds/squirrel"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/evaluation"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/read/entities"
)

// Common is what rows of every table are chosen by. Of a list, nil restricts
// nothing and an empty one matches nothing. Source: contract §5.1, §5.8.
type Common struct {
	IDs      []uuid.UUID
	Statuses []evaluation.Status
	// Tags must be contained in the row's, Metas one of them.
	Tags   entity.Document
	Metas  []entity.Document
	Window domain.Window
}

func (q Common) where(b sq.SelectBuilder) sq.SelectBuilder {
	b = among(b, "e.id", q.IDs)
	b = among(b, "e.status", q.Statuses)
	if len(q.Tags) > 0 {
		b = b.Where("e.tags @> ?", q.Tags)
	}
	if q.Metas != nil {
		some := make(sq.Or, 0, len(q.Metas))
		for _, m := range q.Metas {
			some = append(some, sq.Expr("e.meta @> ?", m))
		}
		b = b.Where(some)
	}
	return b
}

// among restricts a column, whose name is ours, to a list.
func among[T any](b sq.SelectBuilder, column string, list []T) sq.SelectBuilder {
	if list == nil {
		return b
	}
	return b.Where(column+" = ANY(?)", list)
}

// named restricts to substrings of name and description, in any case.
func named(b sq.SelectBuilder, name, description string) sq.SelectBuilder {
	if name != "" {
		b = b.Where("strpos(fold(e.name), fold(?)) > 0", name)
	}
	if description != "" {
		b = b.Where("strpos(fold(e.description), fold(?)) > 0", description)
	}
	return b
}

// RunQuery selects runs.
type RunQuery struct {
	Common
	Name, Description string
	Flags             evaluation.Flags
	// References must each be one of a step's, as far as they say.
	References []map[string]domain.Reference
}

// Runs gives a page of runs, by creation.
func (r *Reader) Runs(ctx context.Context, project domain.ProjectID, q RunQuery) (domain.Page[*evaluation.Run], error) {
	b := named(q.where(from(schema.RunColumns, "evaluation_runs", project)), q.Name, q.Description)
	if len(q.Flags) > 0 {
		b = b.Where("e.flags @> ?", q.Flags)
	}
	for _, of := range q.References {
		for name, ref := range of {
			b = b.Where("e.refs @> ?", []map[string]domain.Reference{{name: ref}})
		}
	}
	return entities.Page(ctx, r.registry, b, "e", q.Window, func(e *evaluation.Run) uuid.UUID { return e.ID })
}

// PartQuery selects parts of runs.
type PartQuery struct {
	Common
	Flags      entity.Document
	RunIDs     []uuid.UUID
	Intervals  []int32
	Timestamps []time.Time
}

func (q PartQuery) where(b sq.SelectBuilder) sq.SelectBuilder {
	b = among(q.Common.where(b), "e.run_id", q.RunIDs)
	if len(q.Flags) > 0 {
		b = b.Where("e.flags @> ?", q.Flags)
	}
	return among(among(b, `e."interval"`, q.Intervals), `e."timestamp"`, q.Timestamps)
}

// Scenarios gives a page of scenarios with their links, by creation.
func (r *Reader) Scenarios(ctx context.Context, project domain.ProjectID, q PartQuery) (domain.Page[*evaluation.Scenario], error) {
	found, err := entities.Page(ctx, r.registry, q.where(from(schema.ScenarioColumns, "evaluation_scenarios", project)), "e", q.Window,
		func(e *evaluation.Scenario) uuid.UUID { return e.ID })
	if err != nil {
		return found, err
	}
	return found, r.link(ctx, project, found.Items)
}

// ResultQuery selects results.
type ResultQuery struct {
	PartQuery
	ScenarioIDs []uuid.UUID
	StepKeys    []string
	RepeatIdxs  []int32
	// TraceIDs are those that results name, TestcaseIDs what they are about.
	TraceIDs    []trace.TraceID
	TestcaseIDs []uuid.UUID
}

// Results gives a page of results, by creation.
func (r *Reader) Results(ctx context.Context, project domain.ProjectID, q ResultQuery) (domain.Page[*evaluation.Result], error) {
	b := among(q.where(from(schema.ResultColumns, "evaluation_results", project)), "e.scenario_id", q.ScenarioIDs)
	b = among(among(b, "e.step_key", q.StepKeys), "e.repeat_idx", q.RepeatIdxs)
	if q.TraceIDs != nil {
		texts := make([]string, len(q.TraceIDs))
		for i, id := range q.TraceIDs {
			texts[i] = id.String()
		}
		b = among(b, "e.trace_id", texts)
	}
	b = among(b, "e.testcase_id", q.TestcaseIDs)
	return entities.Page(ctx, r.registry, b, "e", q.Window, func(e *evaluation.Result) uuid.UUID { return e.ID })
}

// MetricsQuery selects metrics.
type MetricsQuery struct {
	PartQuery
	ScenarioIDs []uuid.UUID
	// OfScenarios and OfTimestamps tell whether the metrics are of one at all; nil restricts nothing.
	OfScenarios, OfTimestamps *bool
}

// Metrics gives a page of metrics, by creation.
func (r *Reader) Metrics(ctx context.Context, project domain.ProjectID, q MetricsQuery) (domain.Page[*evaluation.Metrics], error) {
	b := among(q.where(from(schema.MetricsColumns, "evaluation_metrics", project)), "e.scenario_id", q.ScenarioIDs)
	b = present(present(b, "e.scenario_id", q.OfScenarios), `e."timestamp"`, q.OfTimestamps)
	return entities.Page(ctx, r.registry, b, "e", q.Window, func(e *evaluation.Metrics) uuid.UUID { return e.ID })
}

func present(b sq.SelectBuilder, column string, is *bool) sq.SelectBuilder {
	switch {
	case is == nil:
		return b
	case *is:
		return b.Where(column + " IS NOT NULL")
	default:
		return b.Where(column + " IS NULL")
	}
}

// QueueQuery selects queues.
type QueueQuery struct {
	Common
	Name, Description string
	Flags             evaluation.Flags
	RunIDs            []uuid.UUID
	// UserIDs are people of whom one at least shares the queue's scenarios.
	UserIDs []uuid.UUID
	// Archived includes queues that are archived.
	Archived bool
}

// Queues gives a page of queues, by creation.
func (r *Reader) Queues(ctx context.Context, project domain.ProjectID, q QueueQuery) (domain.Page[*evaluation.Queue], error) {
	b := named(q.where(from(schema.QueueColumns, "evaluation_queues", project)), q.Name, q.Description)
	b = among(b, "e.run_id", q.RunIDs)
	if !q.Archived {
		b = b.Where("e.deleted_at IS NULL")
	}
	if len(q.Flags) > 0 {
		b = b.Where("e.flags @> ?", q.Flags)
	}
	if q.UserIDs != nil {
		some := make(sq.Or, 0, len(q.UserIDs))
		for _, id := range q.UserIDs {
			some = append(some, sq.Expr("e.data->'user_ids' @> ?", [][]uuid.UUID{{id}}))
		}
		b = b.Where(some)
	}
	return entities.Page(ctx, r.registry, b, "e", q.Window, func(e *evaluation.Queue) uuid.UUID { return e.ID })
}

// scenarioID is the id of a scenario.
type scenarioID struct{ id uuid.UUID }

// Targets is the address of the only column.
func (s *scenarioID) Targets() []any { return []any{&s.id} }

const selectScenarioIDs = `SELECT e.id FROM evaluation_scenarios e WHERE e.project_id = $1 AND e.run_id = $2 AND ($3::uuid[] IS NULL OR e.id = ANY($3)) ORDER BY e.id`

// QueueScenarios gives a page of a queue's scenarios: of those that are dealt
// out to the people when some are named and the queue deals them out, else all.
func (r *Reader) QueueScenarios(ctx context.Context, project domain.ProjectID, queue uuid.UUID, people []uuid.UUID, q PartQuery) (domain.Page[*evaluation.Scenario], error) {
	found, err := r.Queue(ctx, project, queue)
	if err != nil || found == nil {
		return domain.Page[*evaluation.Scenario]{}, err
	}
	data := found.Data
	if data == nil {
		data = &evaluation.QueueData{}
	}
	q.RunIDs = []uuid.UUID{found.RunID}
	if len(people) == 0 || len(data.UserIDs) == 0 {
		if data.ScenarioIDs != nil {
			q.IDs = both(q.IDs, data.ScenarioIDs)
		}
		return r.Scenarios(ctx, project, q)
	}
	all, err := entities.All[scenarioID](ctx, r.registry, "reading a queue's scenarios", selectScenarioIDs, uuid.UUID(project), found.RunID, data.ScenarioIDs)
	if err != nil {
		return domain.Page[*evaluation.Scenario]{}, err
	}
	ids := make([]uuid.UUID, len(all))
	for i, s := range all {
		ids[i] = s.id
	}
	dealt := []uuid.UUID{}
	for _, person := range both(distinct(people), slices.Concat(data.UserIDs...)) {
		dealt = append(dealt, slices.Concat(found.Assign(person, ids)...)...)
	}
	q.IDs = both(q.IDs, dealt)
	return r.Scenarios(ctx, project, q)
}

// distinct are the ids of a list, each once.
func distinct(list []uuid.UUID) []uuid.UUID {
	seen := make(map[uuid.UUID]bool, len(list))
	once := make([]uuid.UUID, 0, len(list))
	for _, id := range list {
		if !seen[id] {
			seen[id], once = true, append(once, id)
		}
	}
	return once
}

// both are the ids that stand in both lists; a nil first list restricts nothing.
func both(first, second []uuid.UUID) []uuid.UUID {
	if first == nil {
		return second
	}
	in := map[uuid.UUID]bool{}
	for _, id := range second {
		in[id] = true
	}
	return slices.DeleteFunc(slices.Clone(first), func(id uuid.UUID) bool { return !in[id] })
}
