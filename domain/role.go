package domain

// The roles of a member in a project; each has all permissions of the next one.
const (
	RoleOwner     = "owner"
	RoleAdmin     = "admin"
	RoleDeveloper = "developer"
	RoleEditor    = "editor"
	RoleAnnotator = "annotator"
	RoleViewer    = "viewer"
)

// rank returns the order of a role; zero for an unknown role.
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

// Role describes a role to who gives it.
type Role struct {
	Name        string
	Description string
	Permissions []Permission
}

// Roles returns the roles, the one with most permissions first.
func Roles() []Role {
	roles := []Role{
		{Name: RoleOwner, Description: "May do everything, and appoint other owners."},
		{Name: RoleAdmin, Description: "May do everything in the project: members, keys, secrets, guarded environments."},
		{Name: RoleDeveloper, Description: "May use keys, secrets and SQL, and all that an editor may."},
		{Name: RoleEditor, Description: "May change applications, evaluators, testsets, evaluations and deployments."},
		{Name: RoleAnnotator, Description: "May send spans, annotate, and run evaluations."},
		{Name: RoleViewer, Description: "May look at everything but keys and secrets."},
	}
	for i := range roles {
		roles[i].Permissions = Principal{Role: roles[i].Name}.Permissions()
	}
	return roles
}

// needs returns the rank of the lowest role that has a permission. No role has a permission that
// is missing here, so a new permission that is forgotten fails closed. Admin is missing on
// purpose: only the administration key has it.
func needs(p Permission) (least int, ok bool) {
	switch p {
	case Public, Authenticated, ViewSpans, ViewApplications, ViewWorkflows, ViewEvaluators, ViewEnvironments,
		ViewQueries, ViewTestsets, ViewEvaluations, ViewProject:
		return rank(RoleViewer), true
	case AddSpans, EditSpans, RunEvaluations, AnnotateEvaluations:
		return rank(RoleAnnotator), true
	case EditTraces, EditApplications, EditWorkflows, EditEvaluators, EditEnvironments, DeployEnvironment, EditQueries, EditTestsets, EditEvaluations, RunService:
		return rank(RoleEditor), true
	case ViewKeys, EditKeys, ViewSecrets, QuerySQL, ViewQueryPlan:
		return rank(RoleDeveloper), true
	case GuardEnvironments, EditProject, EditSecrets, ViewAudit:
		return rank(RoleAdmin), true
	default:
		return 0, false
	}
}

// Allows reports whether a role has a permission. An unknown role has only Public.
func Allows(role string, p Permission) bool {
	if p == Public {
		return true
	}
	least, ok := needs(p)
	return ok && rank(role) >= least && rank(role) > 0
}

// ValidRole reports whether role is one of the roles.
func ValidRole(role string) bool { return rank(role) > 0 }

// LesserRole returns the role with fewer permissions: a key never has more permissions than its
// owner has now, whatever it had when it was created.
func LesserRole(a, b string) string {
	if rank(b) < rank(a) {
		return b
	}
	return a
}

// Permissions returns what the caller may do, in a fixed order. An unknown role may do nothing.
func (p Principal) Permissions() []Permission {
	held := []Permission{}
	for _, permission := range []Permission{
		ViewSpans, QuerySQL, AddSpans, EditSpans, EditTraces, ViewApplications, EditApplications, ViewWorkflows, EditWorkflows,
		ViewEvaluators, EditEvaluators, ViewEnvironments, EditEnvironments, DeployEnvironment, GuardEnvironments,
		ViewQueries, EditQueries, ViewTestsets, EditTestsets, ViewEvaluations, RunEvaluations, EditEvaluations,
		AnnotateEvaluations, RunService, ViewKeys, EditKeys, ViewProject, ViewQueryPlan, EditProject, ViewSecrets, EditSecrets, ViewAudit,
	} {
		if p.Allows(permission) {
			held = append(held, permission)
		}
	}
	return held
}
