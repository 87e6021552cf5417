package statements

import (
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/migrations/schema"
	"colonnade/read/sqltext"
)

// RunResults returns the statement of the results of runs, those of a scenario together in
// the order of repeat and step. Its rows are run_id, scenario_id, repeat, step, step_type and status as
// String, step_position, error, testcase_id, trace_id, latency_ms, cost, the previews of
// inputs, expected and outputs, and the maps numbers, strings and bools.
func RunResults(project domain.ProjectID, runs []uuid.UUID) sqltext.Statement {
	w := new(sqltext.Writer)
	w.Put("SELECT run_id, scenario_id, repeat, step, toString(step_type), step_position, status, error, testcase_id, trace_id, latency_ms, cost,"+
		" inputs_preview, expected_preview, outputs_preview, numbers, strings, bools FROM "+schema.RunResults+" FINAL WHERE project_id = ? AND ", project.String())
	sqltext.Among("run_id", sqltext.Names(runs)).Write(w, nil)
	w.Put(" AND NOT deleted ORDER BY run_id, scenario_id, repeat, step")
	return w.Statement()
}
