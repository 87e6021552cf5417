// Package invoke runs what a revision says: it finds the handler of a URI,
// gives it inputs and parameters, and records what happened as a trace that
// goes through the same ingest as everybody's. Here: the handlers, one file
// each (handlers.go is their table), the calls to models (model.go) and
// hooks (hook.go), and the spans of an invocation (span.go).
//
// Not here: bodies and headers of requests (write/api, the caller), revisions
// (write/registry), templates of prompts (template) and scripts (sandbox).
// Values are canonical JSON: nil, bool, int64, float64, string, []any and
// map[string]any. Source: interface.md §1, §4.4, contract §6.
package invoke

import (
	"context"

	"colonnade/domain"
	"colonnade/domain/catalog"
	"colonnade/domain/entity"
	"colonnade/domain/trace"
)

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
	// Span is the root span: handlers add children and attributes to it.
	Span *Span
	// Emit hands a piece of the outputs to a caller that streams; nil when the
	// caller does not. Its error means that nobody listens any more.
	Emit func(delta any) error
}

// Revision is the part of a revision's data that says how to run it.
type Revision struct {
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
