package schema

// Columns of the evaluation tables in Postgres, in the order in which the
// Targets of domain/evaluation take them. The alias is e for each.
const (
	RunColumns = `e.id, e.tags, e.meta, e.created_at, e.updated_at, e.created_by_id, e.updated_by_id,
	e.name, e.description, e.flags, e.status, e.data`

	ScenarioColumns = `e.id, e.tags, e.meta, e.created_at, e.updated_at, e.created_by_id, e.updated_by_id,
	e."interval", e."timestamp", e.flags, e.status, e.run_id`

	ResultColumns = ScenarioColumns + `, e.scenario_id, e.step_key, e.repeat_idx, e.hash_id, e.trace_id, e.span_id, e.testcase_id, e.error`

	MetricsColumns = ScenarioColumns + `, e.scenario_id, e.data`

	QueueColumns = `e.id, e.tags, e.meta, e.created_at, e.updated_at, e.created_by_id, e.updated_by_id,
	e.name, e.description, e.flags, e.status, e.run_id, e.data, e.deleted_at`
)
