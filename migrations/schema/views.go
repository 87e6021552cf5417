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
