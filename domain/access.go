package domain

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// ProjectID identifies the project that owns a row. Every statement has one.
type ProjectID uuid.UUID

// String returns the canonical UUID form.
func (p ProjectID) String() string { return uuid.UUID(p).String() }

// IsZero reports whether the project is unset; no statement may run with such an id.
func (p ProjectID) IsZero() bool { return p == ProjectID{} }

// Permission is the permission that a route requires of a principal.
type Permission string

// The permissions. Public requires nothing, Authenticated any valid credential, Admin the
// administration key.
const (
	Public        Permission = "public"
	Authenticated Permission = "authenticated"
	Admin         Permission = "admin"
	ViewSpans     Permission = "view_spans"
	// AddSpans covers sending spans, and nothing that is stored already.
	AddSpans Permission = "add_spans"
	// EditSpans covers adding annotations and changing what the caller has added.
	EditSpans Permission = "edit_spans"
	// EditTraces covers replacing, editing and deleting the traces of others.
	EditTraces        Permission = "edit_traces"
	ViewApplications  Permission = "view_applications"
	EditApplications  Permission = "edit_applications"
	ViewWorkflows     Permission = "view_workflows"
	EditWorkflows     Permission = "edit_workflows"
	ViewEvaluators    Permission = "view_evaluators"
	EditEvaluators    Permission = "edit_evaluators"
	ViewEnvironments  Permission = "view_environments"
	EditEnvironments  Permission = "edit_environments"
	DeployEnvironment Permission = "deploy_environments"
	GuardEnvironments Permission = "guard_environments"
	ViewQueries       Permission = "view_queries"
	EditQueries       Permission = "edit_queries"
	ViewTestsets      Permission = "view_testsets"
	EditTestsets      Permission = "edit_testsets"
	ViewEvaluations   Permission = "view_evaluations"
	RunEvaluations    Permission = "run_evaluations"
	EditEvaluations   Permission = "edit_evaluations"
	// AnnotateEvaluations covers what members add to an existing evaluation.
	AnnotateEvaluations Permission = "annotate_evaluations"
	RunService          Permission = "run_service"
	ViewKeys            Permission = "view_api_keys"
	EditKeys            Permission = "edit_api_keys"
	ViewProject         Permission = "view_project"
	ViewQueryPlan       Permission = "view_query_plan"
	EditProject         Permission = "edit_project"
	ViewSecrets         Permission = "view_secrets"
	EditSecrets         Permission = "edit_secrets"
	// QuerySQL covers statements of SQL over the views of the project.
	QuerySQL Permission = "query_sql"
	// ViewAudit covers the audit log of the project.
	ViewAudit Permission = "view_audit"
)

// Principal is the caller of a request, as its credential states. The project of a key is the only
// project that its caller ever sees. Source: deploy/docs/api.md, Credentials.
type Principal struct {
	Project      ProjectID
	Organization uuid.UUID
	Workspace    uuid.UUID
	// User is the owner of the key; it is recorded as created_by_id.
	User uuid.UUID
	// Role is the member's role in the project: owner, admin, editor, developer, annotator or viewer.
	Role string
	// Purpose narrows the role; zero does not.
	Purpose Purpose
	// Revision is the revision that a ticket of PurposeHook may read; zero otherwise.
	Revision uuid.UUID
	// KeyPrefix identifies the API key in logs and rate limits, without its secret. Empty for
	// other credentials.
	KeyPrefix string
	// Browser is the id of the browser session that the request came with; zero for a caller
	// that sent a credential of its own.
	Browser uuid.UUID
	// Expires is the end of the credential; zero means never.
	Expires time.Time
	// Credential is the Authorization header as sent, for calls on behalf of the caller. It is
	// never logged, and empty for a browser session.
	Credential string
}

type principalKey struct{}

// WithPrincipal returns a context with the caller; only the authentication middleware calls it.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalFrom returns the caller of this request. The zero Principal (no project) means that no
// caller was authenticated; no database may be reached with it.
func PrincipalFrom(ctx context.Context) Principal {
	p, _ := ctx.Value(principalKey{}).(Principal)
	return p
}

// Operation describes a route as data: the server mounts it, a test checks its permission, and the
// OpenAPI document is generated from it.
type Operation struct {
	// Method is an HTTP verb.
	Method string
	// Path is in gin's form (":name"), without /api and with the canonical trailing slash; the
	// server also serves the path without it.
	Path string
	// Permission is checked before the handler runs. It is never empty.
	Permission Permission
	// Summary is one line for the API page.
	Summary string
	// Tag groups operations on the API page: "spans", "traces", "applications" ...
	Tag string
	// Request and Response are zero values of the JSON bodies; nil if there is none.
	Request, Response any
	// Consumes lists the media types of a request body that is not JSON, which Request may
	// describe; Produces those of such a reply.
	Consumes, Produces []string
	// Query lists the query-string parameters, each with its type.
	Query []Parameter
	// Status is the status of success; zero means 200.
	Status int
	// Hook lets a ticket of PurposeHook use the operation. Its handler shows such a caller no
	// revision but that of the ticket.
	Hook bool
	// Deprecated routes reply with a Deprecation header. Source: deploy/docs/api.md, Deprecated
	// routes.
	Deprecated bool
	// Preview also serves the route below /preview, deprecated.
	Preview bool
	// Remember makes the next reads of the same caller wait for this write even if they do not
	// send its token. It is not for routes that clients call all the time.
	Remember bool
	// Lazy means that the request body is optional.
	Lazy bool
	// Limit is the maximum size of the request body in bytes; zero means the default of the
	// server.
	Limit int64
	// Timeout bounds the time of a request up to the last byte of its reply; zero means the
	// default of the server. Routes that stream or wait for others set one.
	Timeout time.Duration
	// ClickHouse means that the route speaks ClickHouse's HTTP interface: the API key may be a
	// password, and an error is a text with the code of an exception.
	ClickHouse bool
	// Stream means that the reply is an endless stream of events (text/event-stream): no timeout
	// applies, and the handler itself ends it and sets the deadlines of the connection.
	Stream bool
}

// Parameter is a query-string parameter of an operation.
type Parameter struct {
	Name string
	// Type is a JSON Schema type: string, integer, number, boolean, array.
	Type string
	Doc  string
}
