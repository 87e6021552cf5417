package domain

// Purpose narrows what an API key may do, whatever its role: a request needs a permission that
// both the role and the purpose have. A key that is built into a page or a collector is for one
// purpose, so that whoever finds it can do no more.
type Purpose string

// The purposes of a key. The zero Purpose is PurposeFull.
const (
	PurposeFull Purpose = "full"
	// PurposeIngest adds spans and reads nothing.
	PurposeIngest Purpose = "ingest"
	// PurposeRead views data, with SQL too, and changes nothing. It views no keys and no secrets.
	PurposeRead Purpose = "read"
	// PurposeSQL runs SQL and nothing else.
	PurposeSQL Purpose = "sql"
	// PurposeHook is that of the ticket which an application that runs elsewhere gets with a
	// call: it adds spans, and uses the operations that are for hooks. No key has it.
	PurposeHook Purpose = "hook"
)

// Purposes returns the purposes in the order in which messages list them.
func Purposes() []string {
	return []string{string(PurposeFull), string(PurposeIngest), string(PurposeRead), string(PurposeSQL)}
}

// Valid reports whether p is one of the purposes; the zero Purpose is not.
func (p Purpose) Valid() bool {
	switch p {
	case PurposeFull, PurposeIngest, PurposeRead, PurposeSQL:
		return true
	default:
		return false
	}
}

// Allows reports whether a key of this purpose may use a permission, if its role has it. An
// unknown purpose has only Public.
func (p Purpose) Allows(permission Permission) bool {
	if permission == Public || permission == Authenticated && (p == "" || p.Valid()) {
		return true
	}
	switch p {
	case "", PurposeFull:
		return true
	case PurposeIngest, PurposeHook:
		return permission == AddSpans
	case PurposeSQL:
		return permission == QuerySQL
	case PurposeRead:
		switch permission {
		case ViewSpans, ViewApplications, ViewWorkflows, ViewEvaluators, ViewEnvironments, ViewQueries,
			ViewTestsets, ViewEvaluations, ViewProject, QuerySQL:
			return true
		default:
			return false
		}
	default:
		return false
	}
}

// NoAccess is the message to a caller whose role does not have the permission.
const NoAccess = "You do not have access to perform this action. Please contact your organization admin."

// Check returns an error of kind Forbidden unless the caller has a permission. It says when
// the purpose of the key is the reason, because another key of the same member helps then.
func (p Principal) Check(permission Permission) error {
	switch {
	case !p.Purpose.Allows(permission):
		return E(Forbidden, "This API key is for the purpose %q only. Use a key that is for this request.", string(p.Purpose))
	case !Allows(p.Role, permission):
		return E(Forbidden, NoAccess)
	default:
		return nil
	}
}

// Allows reports whether the caller has a permission: its role has it, and the purpose of its
// key does not take it away.
func (p Principal) Allows(permission Permission) bool {
	return Allows(p.Role, permission) && p.Purpose.Allows(permission)
}
