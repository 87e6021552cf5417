package schema

import (
	"encoding/hex"

	"colonnade/domain"
)

// ProjectViews is the table that records which views the databases of projects have.
const ProjectViews = "project_views"

// Entities is the table of the entities that write/registry/entitycopy copies from Postgres.
const Entities = "entities"

// ViewsDatabase returns the name of the database of a project's views for analysts.
func ViewsDatabase(project domain.ProjectID) string {
	return "p_" + hex.EncodeToString(project[:])
}

// ViewNames returns the names of a project's views for analysts, in the order in which they
// are made (migrations/views).
func ViewNames() []string {
	return []string{
		"spans", "spans_raw", "traces", "span_payloads", "messages", "tool_calls", "annotations", "evaluation_results", "sessions", "users", "metrics_1m", "fields", "rejected_spans",
		"applications", "evaluators", "testsets", "environments", "revisions", "testcases", "runs",
	}
}

// ToolViewNames returns the names of the views of a project that show tools what there is
// (migrations/views/tools.sql). A name is that of the table which the view stands for, with
// an underscore for the dot.
func ToolViewNames() []string {
	return []string{
		"system_databases", "system_tables", "system_columns", "system_functions", "system_settings",
		"information_schema_schemata", "information_schema_tables", "information_schema_columns",
	}
}
