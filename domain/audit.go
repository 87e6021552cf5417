package domain

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// AuditEntry is what the audit log keeps of one request.
type AuditEntry struct {
	ID uuid.UUID
	At time.Time
	// Caller is the principal; zero for the administration key.
	Caller Principal
	// Address is the address of the client.
	Address string
	// Action is Operation.Action, Resource the tag of the operation.
	Action, Resource string
	Method, Route    string
	// Target names what the request changed: the parameters of its path, and what its handler
	// noted.
	Target map[string]any
	// Status is the status of the reply; zero while the request runs.
	Status int
}

// Actions that do not follow from the verb or the path of an operation.
const (
	ActionSignIn  = "sign_in"
	ActionSignOut = "sign_out"
	ActionRunSQL  = "run_sql"
	ActionDeploy  = "deploy"
	ActionRevoke  = "revoke"
)

// Methods of HTTP, which domain does not import.
const (
	methodGet    = "GET"
	methodHead   = "HEAD"
	methodPost   = "POST"
	methodDelete = "DELETE"
)

// Action returns what the audit log calls a request of this operation. It is empty for an
// operation that the log leaves out: one that reads, adds spans or results, or invokes. A
// permission that is missing here is logged.
func (o Operation) Action() string {
	words := strings.Split(strings.Trim(o.Path, "/"), "/")
	switch {
	case o.Method == methodGet || o.Method == methodHead:
		return ""
	case words[0] == "auth" && words[1] != "links":
		if o.Method == methodPost {
			return ActionSignIn
		}
		return ActionSignOut
	case o.Path == "/sql/query":
		return ActionRunSQL
	case o.Permission == Public, o.Permission == AddSpans, o.Permission == RunService, strings.HasPrefix(string(o.Permission), "view_"):
		return ""
	case words[len(words)-1] == "query":
		return ""
	}
	verb := verbOf(words)
	switch o.Permission {
	case EditSpans, EditTraces:
		if o.Method == methodPost {
			return ""
		}
	case AnnotateEvaluations: // members and evaluations add and edit results all the time
		if o.Method != methodDelete && verb != "remove" && verb != "prune" {
			return ""
		}
	case DeployEnvironment:
		return ActionDeploy
	default:
	}
	switch {
	case verb == "commit" && words[0] == "environments": // a revision of an environment is what is deployed there
		return ActionDeploy
	case verb != "":
		return verb
	case o.Method == methodPost:
		return "create"
	case o.Method != methodDelete:
		return "change"
	case o.Tag == "keys" || slices.Contains(words, "api-keys"):
		return ActionRevoke
	default:
		return "delete"
	}
}

// verbOf returns the verb that ends a path, before its parameters; empty without one.
func verbOf(words []string) string {
	for _, word := range slices.Backward(words) {
		if strings.HasPrefix(word, ":") {
			continue
		}
		switch word {
		case "archive", "unarchive", "commit", "fork", "deploy", "guard", "unguard", "rotate", "cancel",
			"open", "close", "start", "stop", "run", "process", "add", "remove", "set", "prune", "refresh", "upload":
			return word
		default:
			return ""
		}
	}
	return ""
}

// AuditNote collects what a handler adds to the audit entry of its request. It is safe for
// concurrent use.
type AuditNote struct {
	mu     sync.Mutex // guards the rest
	caller Principal
	target map[string]any
}

type auditNoteKey struct{}

// WithAuditNote returns a context that collects notes.
func WithAuditNote(ctx context.Context) (context.Context, *AuditNote) {
	note := &AuditNote{target: map[string]any{}}
	return context.WithValue(ctx, auditNoteKey{}, note), note
}

// NoteTarget names what a request changes in its audit entry. Outside of a request that the
// audit log keeps it does nothing.
func NoteTarget(ctx context.Context, name string, value any) {
	if note, ok := ctx.Value(auditNoteKey{}).(*AuditNote); ok {
		note.mu.Lock()
		defer note.mu.Unlock()
		note.target[name] = value
	}
}

// NoteCaller sets the caller of a request whose handler authenticates, in its audit entry.
func NoteCaller(ctx context.Context, p Principal) {
	if note, ok := ctx.Value(auditNoteKey{}).(*AuditNote); ok {
		note.mu.Lock()
		defer note.mu.Unlock()
		note.caller = p
	}
}

// Complete adds the notes to an entry.
func (n *AuditNote) Complete(e *AuditEntry) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.caller.Project.IsZero() {
		e.Caller = n.caller
	}
	maps.Copy(e.Target, n.target)
}
