package domain

// The roles of a member in a project, each holding all that the one after it
// holds. Source: contract §7.
const (
	RoleOwner     = "owner"
	RoleAdmin     = "admin"
	RoleDeveloper = "developer"
	RoleEditor    = "editor"
	RoleAnnotator = "annotator"
	RoleViewer    = "viewer"
)

// rank orders the roles; zero is no role at all.
func rank(role string) int {
	switch role {
	case RoleOwner:
		return 6
	case RoleAdmin:
		return 5
	case RoleDeveloper:
		return 4
	case RoleEditor:
		return 3
	case RoleAnnotator:
		return 2
	case RoleViewer:
		return 1
	default:
		return 0
	}
}

// needs is the one table of permissions: the rank of the least role that holds
// each. A permission that is not in it is held by nobody, so that a new one
// forgotten here fails closed. Admin is not in it on purpose: the
// administration key holds it, no role does.
func needs(p Permission) (least int, ok bool) {
	switch p {
	case Public, Authenticated, ViewSpans, ViewApplications, ViewWorkflows, ViewEvaluators, ViewEnvironments,
		ViewQueries, ViewTestsets, ViewEvaluations, ViewProject:
		return rank(RoleViewer), true
	case EditSpans, RunEvaluations, AnnotateEvaluations:
		return rank(RoleAnnotator), true
	case EditApplications, EditWorkflows, EditEvaluators, EditEnvironments, DeployEnvironment, EditQueries, EditTestsets, EditEvaluations, RunService:
		return rank(RoleEditor), true
	case ViewKeys, EditKeys, ViewSecrets:
		return rank(RoleDeveloper), true
	case GuardEnvironments, EditProject, EditSecrets:
		return rank(RoleAdmin), true
	default:
		return 0, false
	}
}

// Allows tells whether a role holds a permission. An unknown role holds none
// but Public.
func Allows(role string, p Permission) bool {
	if p == Public {
		return true
	}
	least, ok := needs(p)
	return ok && rank(role) >= least && rank(role) > 0
}

// ValidRole tells whether this is one of the roles.
func ValidRole(role string) bool { return rank(role) > 0 }

// LesserRole is the one that holds less: a key never holds more than its
// owner does now, whatever it was made with.
func LesserRole(a, b string) string {
	if rank(b) < rank(a) {
		return b
	}
	return a
}
