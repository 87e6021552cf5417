package entity

import (
	"maps"

	"colonnade/domain"
)

// Family is one face of the lineage machine: the names on the wire, the rows
// it owns and the permissions it asks for. Everything else is shared.
type Family struct {
	// Name and Plural are the words on the wire: application, applications.
	Name, Plural string
	Kind         Kind
	// Role is the flag that a workflow of this family has; empty means that the
	// family has every row of its kind.
	Role string
	// View and Edit guard reading and changing.
	View, Edit domain.Permission
	// Catalog tells that templates exist for it.
	Catalog bool
	// Deployable tells that its revisions can be deployed to an environment.
	Deployable bool
}

// The flags of an artifact that say what it is used as. Source: contract §5.2.
const (
	FlagApplication = "is_application"
	FlagEvaluator   = "is_evaluator"
	FlagSnippet     = "is_snippet"
	// FlagGuarded closes an environment to callers without the permission.
	FlagGuarded = "is_guarded"
)

// Applications are what products run and deploy.
func Applications() Family {
	return Family{
		Name: "application", Plural: "applications", Kind: Workflow, Role: FlagApplication,
		View: domain.ViewApplications, Edit: domain.EditApplications, Catalog: true, Deployable: true,
	}
}

// Workflows is the base family: it sees applications, evaluators and all others of its kind.
func Workflows() Family {
	return Family{
		Name: "workflow", Plural: "workflows", Kind: Workflow,
		View: domain.ViewWorkflows, Edit: domain.EditWorkflows, Catalog: true, Deployable: true,
	}
}

// Evaluators judge what applications answer.
func Evaluators() Family {
	return Family{
		Name: "evaluator", Plural: "evaluators", Kind: Workflow, Role: FlagEvaluator,
		View: domain.ViewEvaluators, Edit: domain.EditEvaluators, Catalog: true, Deployable: true,
	}
}

// Environments hold references to what is deployed.
func Environments() Family {
	return Family{
		Name: "environment", Plural: "environments", Kind: Environment,
		View: domain.ViewEnvironments, Edit: domain.EditEnvironments,
	}
}

// Queries are saved trace queries.
func Queries() Family {
	return Family{Name: "query", Plural: "queries", Kind: Query, View: domain.ViewQueries, Edit: domain.EditQueries}
}

// Testsets are lists of testcases.
func Testsets() Family {
	return Family{Name: "testset", Plural: "testsets", Kind: Testset, View: domain.ViewTestsets, Edit: domain.EditTestsets}
}

// Families are all of them, in the order in which routes are listed.
func Families() []Family {
	return []Family{Applications(), Workflows(), Evaluators(), Environments(), Queries(), Testsets()}
}

// Names of the JSON members of the three levels: application,
// application_variant, application_revision.
func (f Family) artifact() string { return f.Name }
func (f Family) variant() string  { return f.Name + "_variant" }
func (f Family) revision() string { return f.Name + "_revision" }

// Level is how deep in a lineage a record stands.
type Level int

// The three levels.
const (
	LevelArtifact Level = iota + 1
	LevelVariant
	LevelRevision
)

// Member is the JSON member that holds one record of a level.
func (f Family) Member(l Level) string {
	switch l {
	case LevelVariant:
		return f.variant()
	case LevelRevision:
		return f.revision()
	default:
		return f.artifact()
	}
}

// Members is the JSON member that holds a list of a level.
func (f Family) Members(l Level) string {
	if l == LevelArtifact {
		return f.Plural
	}
	return f.Member(l) + "s"
}

// Owns tells whether an artifact with these flags belongs to the family.
func (f Family) Owns(artifactFlags Document) bool {
	return f.Role == "" || artifactFlags[f.Role] == true
}

// Own leaves out the flags that follow from a revision's data: a client that
// sends a simple record back must not freeze them on the artifact.
func Own(given Document) Document {
	if given == nil {
		return nil
	}
	own := Document{}
	for name, value := range given {
		switch name {
		case "is_managed", "is_custom", "is_llm", "is_hook", "is_code", "is_match", "is_feedback", "is_agent", "is_skill", "is_chat",
			"has_url", "has_script", "has_handler", "is_static":
		default:
			own[name] = value
		}
	}
	return own
}

// ArtifactFlags completes the flags of an artifact: a workflow says of every
// role whether it has it, an environment whether it is guarded, and the
// family's own role is never off.
func (f Family) ArtifactFlags(given Document) Document {
	flags := Document{}
	switch f.Kind {
	case Workflow:
		flags[FlagApplication], flags[FlagEvaluator], flags[FlagSnippet] = false, false, false
	case Environment:
		flags[FlagGuarded] = false
	default:
	}
	maps.Copy(flags, Own(given))
	if f.Role != "" {
		flags[f.Role] = true
	}
	if len(flags) == 0 {
		return nil
	}
	return flags
}

// Echoed returns the members of a record that only the service sets. A client may
// send them back as it received them; they are ignored.
func (f Family) Echoed() []string {
	return []string{
		"created_at", "updated_at", "deleted_at", "created_by_id", "updated_by_id", "deleted_by_id", "version", "author", "date",
		"variant_slug", "revision_slug", "revision_id", "artifact_slug", f.Name + "_slug", f.Name + "_variant_slug", f.Name + "_revision_id",
		"workflow_slug", "workflow_variant_slug", "additional_context",
	}
}
