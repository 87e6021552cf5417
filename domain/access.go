package domain

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// ProjectID names the project that owns a row. Every statement carries one.
type ProjectID uuid.UUID

// String is the canonical UUID form.
func (p ProjectID) String() string { return uuid.UUID(p).String() }

// IsZero tells whether the project is unset; no statement may run with it.
func (p ProjectID) IsZero() bool { return p == ProjectID{} }

// Permission is what a route asks of a principal. Source: contract §1.1, §5.4, §7.
type Permission string

// The permissions. Public asks nothing, Authenticated any valid credential,
// Admin the administration key.
const (
	Public            Permission = "public"
	Authenticated     Permission = "authenticated"
	Admin             Permission = "admin"
	ViewSpans         Permission = "view_spans"
	EditSpans         Permission = "edit_spans"
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
	// AnnotateEvaluations is about what people add to an evaluation that is there.
	AnnotateEvaluations Permission = "annotate_evaluations"
	RunService          Permission = "run_service"
	ViewKeys            Permission = "view_api_keys"
	EditKeys            Permission = "edit_api_keys"
	ViewProject         Permission = "view_project"
	EditProject         Permission = "edit_project"
	ViewSecrets         Permission = "view_secrets"
	EditSecrets         Permission = "edit_secrets"
)

// Principal is who calls, as the credential says. The project of a key is the
// only project its caller ever sees. Source: contract §7.
type Principal struct {
	Project      ProjectID
	Organization uuid.UUID
	Workspace    uuid.UUID
	// User is the key's owner; recorded as created_by_id.
	User uuid.UUID
	// Role is the member's role in the project: owner, admin, editor, developer, annotator or viewer.
	Role string
	// KeyPrefix names the API key in logs and rate limits; never the secret. Empty for other credentials.
	KeyPrefix string
	// Expires is when the credential ends; zero is never.
	Expires time.Time
	// Credential is the Authorization header as sent, for calls we make on the caller's behalf. Never logged.
	Credential string
}

type principalKey struct{}

// WithPrincipal puts the caller into the context; the authentication
// middleware is its only caller.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalFrom is the caller of this request. The zero Principal (no project)
// means that none was authenticated; it may reach no store.
func PrincipalFrom(ctx context.Context) Principal {
	p, _ := ctx.Value(principalKey{}).(Principal)
	return p
}

// Operation describes a route as data: the engine mounts it, the permission
// test walks it, the OpenAPI document is generated from it.
type Operation struct {
	// Method is an HTTP verb.
	Method string
	// Path is in gin's form (":name"), without /api and with the canonical
	// trailing slash; the engine serves both forms.
	Path string
	// Permission is checked before the handler runs. It is never empty.
	Permission Permission
	// Summary is one line for the API page.
	Summary string
	// Tag groups operations on the API page: "spans", "traces", "applications" ...
	Tag string
	// Request and Response are zero values of the JSON bodies; nil where there is none.
	Request, Response any
	// Consumes names the media types of a request body that is no JSON, which
	// Request then describes or not; Produces those of such a reply.
	Consumes, Produces []string
	// Query names the query-string parameters, each with its type.
	Query []Parameter
	// Status is the code of success; zero means 200.
	Status int
	// Deprecated routes answer with a Deprecation header. Source: contract §0 row 24.
	Deprecated bool
	// Preview also serves the route below /preview, deprecated. Source: contract §1.1.
	Preview bool
	// Remember makes the next reads of the same caller wait for this write, also
	// when they do not send its token. Not for routes that are called without end.
	Remember bool
	// Lazy tells that the request body is optional.
	Lazy bool
	// Limit bounds the request body in bytes; zero means the engine's default.
	Limit int64
	// Timeout is how long a request may take, to the last byte of its reply; zero
	// means the engine's default. Routes that stream or wait for others name one.
	Timeout time.Duration
	// Stream tells that the reply is a stream of events without end
	// (text/event-stream): no time bounds the request, and the handler sees to
	// its own end and to the connection's deadlines.
	Stream bool
}

// Parameter is a query-string parameter of an operation.
type Parameter struct {
	Name string
	// Type is a JSON Schema type: string, integer, number, boolean, array.
	Type string
	Doc  string
}
