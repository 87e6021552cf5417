package entity

import (
	"maps"

	"colonnade/domain"
)

// Family is one kind of entity on the wire: its names, the rows that belong to it and the
// permissions that it requires. Everything else is the same for all.
type Family struct {
	// Name and Plural are the names on the wire: application, applications.
	Name, Plural string
	Kind         Kind
	// Role is the flag that a workflow of this family has; empty means that the family has every
	// row of its kind.
	Role string
	// View and Edit are the permissions for reads and changes.
	View, Edit domain.Permission
	// Catalog means that the family has templates.
	Catalog bool
	// Deployable means that its revisions can be deployed to an environment.
	Deployable bool
}

// The flags of an artifact that name its uses.
const (
	FlagApplication = "is_application"
	FlagEvaluator   = "is_evaluator"
	FlagSnippet     = "is_snippet"
	// FlagGuarded makes an environment require a permission for changes.
	FlagGuarded = "is_guarded"
)

// Applications returns the family of what products run and deploy.
func Applications() Family {
	return Family{
		Name: "application", Plural: "applications", Kind: Workflow, Role: FlagApplication,
		View: domain.ViewApplications, Edit: domain.EditApplications, Catalog: true, Deployable: true,
	}
}

// Workflows returns the base family: it has applications, evaluators and all others of its kind.
func Workflows() Family {
	return Family{
		Name: "workflow", Plural: "workflows", Kind: Workflow,
		View: domain.ViewWorkflows, Edit: domain.EditWorkflows, Catalog: true, Deployable: true,
	}
}

// Evaluators returns the family that rates the outputs of applications.
func Evaluators() Family {
	return Family{
		Name: "evaluator", Plural: "evaluators", Kind: Workflow, Role: FlagEvaluator,
		View: domain.ViewEvaluators, Edit: domain.EditEvaluators, Catalog: true, Deployable: true,
	}
}

// Environments returns the family of references to deployed revisions.
func Environments() Family {
	return Family{
		Name: "environment", Plural: "environments", Kind: Environment,
		View: domain.ViewEnvironments, Edit: domain.EditEnvironments,
	}
}

// Queries returns the family of saved trace queries.
func Queries() Family {
	return Family{Name: "query", Plural: "queries", Kind: Query, View: domain.ViewQueries, Edit: domain.EditQueries}
}

// Testsets returns the family of lists of testcases.
func Testsets() Family {
	return Family{Name: "testset", Plural: "testsets", Kind: Testset, View: domain.ViewTestsets, Edit: domain.EditTestsets}
}

// Families returns all families, in the order in which routes are listed.
func Families() []Family {
	return []Family{Applications(), Workflows(), Evaluators(), Environments(), Queries(), Testsets()}
}

// Names of the JSON members of the three levels: application,
// application_variant, application_revision.
func (f Family) artifact() string { return f.Name }
func (f Family) variant() string  { return f.Name + "_variant" }
func (f Family) revision() string { return f.Name + "_revision" }

// Level is the level of a record: artifact, variant or revision.
type Level int

// The three levels.
const (
	LevelArtifact Level = iota + 1
	LevelVariant
	LevelRevision
)

// Member returns the JSON member with one record of a level.
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

// Members returns the JSON member with a list of a level.
func (f Family) Members(l Level) string {
	if l == LevelArtifact {
		return f.Plural
	}
	return f.Member(l) + "s"
}

// Owns reports whether an artifact with these flags belongs to the family.
func (f Family) Owns(artifactFlags Document) bool {
	return f.Role == "" || artifactFlags[f.Role] == true
}

// Own returns flags without those that follow from the data of a revision: a client that sends a
// simple record back must not store them on the artifact.
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

// ArtifactFlags completes the flags of an artifact: a workflow has a flag for every role, an
// environment one for whether it is guarded, and the role of the family itself is always on.
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
