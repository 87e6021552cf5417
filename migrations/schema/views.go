package schema

import (
	"encoding/hex"

	"colonnade/domain"
)

// ProjectViews is the table that records which views the databases of projects have.
const ProjectViews = "project_views"

// ViewsDatabase returns the name of the database of a project's views for analysts.
func ViewsDatabase(project domain.ProjectID) string {
	return "p_" + hex.EncodeToString(project[:])
}

// ViewNames returns the names of a project's views for analysts, in the order in which they
// are made (migrations/views).
func ViewNames() []string {
	return []string{
		"spans", "traces", "span_payloads", "messages", "tool_calls", "annotations", "evaluation_results", "sessions", "users", "metrics_1m", "fields", "rejected_spans",
	}
}
