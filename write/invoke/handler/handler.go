// Package handler holds what the runtime (write/invoke) and its handlers share: the
// Call that a handler gets, the spans that it records, the problems that it
// fails with, how it reads parameters and forms a verdict. Handlers are in the
// packages model, webhook and evaluators beside it. Values are canonical JSON: nil,
// bool, int64, float64, string, []any and map[string]any. Source: contract §6.
package handler

import (
	"context"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/catalog"
	"colonnade/domain/credential"
	"colonnade/domain/entity"
	"colonnade/domain/trace"
)

// Version is that of the request and the reply. Source: contract §6.
const Version = "2025.07.14"

// Secret returns a project's stored secret by its name: that of a provider, "hook"
// for the one that signs, or one that a header names; false where there is none. A nil
// Secret has none.
type Secret func(ctx context.Context, project domain.ProjectID, name string) (credential.Secret, bool, error)

// Of returns the secret of the caller's project. Its value is redacted from the trace, the
// reply and the errors of the call.
func (s Secret) Of(ctx context.Context, c *Call, name string) (credential.Secret, bool, error) {
	if s == nil {
		return credential.Secret{}, false, nil
	}
	secret, ok, err := s(ctx, c.Caller.Project, name)
	if err == nil && ok {
		c.Redactor.Add(secret.Value)
	}
	return secret, ok, err
}

// Handler runs one call and gives its outputs, canonical JSON. It honours
// ctx: the caller may leave, and time may run out. Its error is a domain.Error,
// better one of Fail; any other is a fault of ours and is not shown.
type Handler func(ctx context.Context, c *Call) (outputs any, err error)

// Call is one invocation as its handler sees it. Handlers do not change it.
type Call struct {
	// Caller is who invokes; never zero.
	Caller domain.Principal
	// URI is the handler's, complete: provider, kind, key and version.
	URI catalog.URI
	// Revision is what else the revision's data says; zero where the request
	// brought parameters alone.
	Revision Revision
	// Parameters are the request's, or the revision's where the request has none. Never nil.
	Parameters map[string]any
	// Inputs are the request's data.inputs; nil when it has none.
	Inputs map[string]any
	// Outputs are what is judged: the request's data.outputs; nil when it has none.
	Outputs any
	// Trace is the trace that is judged, as the request brought it; nil when it has none.
	Trace any
	// Testcase is the request's data.testcase; nil when it has none.
	Testcase map[string]any
	// SessionID is the caller's or a new one; never empty.
	SessionID string
	// References are what the trace will refer to: what was sent, completed by what was retrieved.
	References entity.Entities
	// Links are the spans that this invocation judges, by name.
	Links map[string]trace.Link
	// Secrets are keys of providers that came with the request, by provider. They are never recorded.
	Secrets map[string]string
	// Redactor removes secrets from what the call leaves behind; nil removes none.
	Redactor *Redactor
	// Span is the root span: handlers add children and attributes to it.
	Span *Span
	// Emit hands a piece of the outputs to a caller that streams; nil when the
	// caller does not. Its error means that nobody listens any more.
	Emit func(delta any) error
}

// Revision is the part of a revision's data that says how to run it.
type Revision struct {
	// URI is the handler's, as it was written; empty where the address alone names it.
	URI string
	// URL is where a hook answers.
	URL string
	// Headers are sent to it: names to values, or to references of secrets.
	Headers map[string]any
	// Runtime is python, javascript or typescript; empty means that of the deployment.
	Runtime string
	// Script is the source of a code handler.
	Script string
	// Schemas holds JSON Schemas of parameters, inputs and outputs, where given.
	Schemas map[string]any
}

// References returns references as JSON: the members that each has.
func References(all entity.Entities) map[string]any {
	out := make(map[string]any, len(all))
	for name, r := range all {
		ref := map[string]any{}
		if r.ID != uuid.Nil {
			ref["id"] = r.ID.String()
		}
		if r.Slug != "" {
			ref["slug"] = r.Slug
		}
		if r.Version != "" {
			ref["version"] = r.Version
		}
		out[name] = ref
	}
	return out
}
