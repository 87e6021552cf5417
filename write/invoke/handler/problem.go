package handler

import (
	"errors"
	"net"

	"colonnade/domain"
)

// Problem is the machine's word for what went wrong, the fragment of the URL
// that a reply names as its type. Source: contract §6.
type Problem string

// URL returns the URL that names the problem in a reply.
func (p Problem) URL() string { return "https://agenta.ai/docs/misc/errors#" + string(p) }

// The problems.
const (
	MissingParameter  Problem = "v0:schemas:missing-parameter"
	InvalidParameter  Problem = "v0:schemas:invalid-parameter"
	InvalidParameters Problem = "v0:schemas:invalid-parameters"
	MissingInput      Problem = "v0:schemas:missing-input"
	InvalidInput      Problem = "v0:schemas:invalid-input"
	InvalidInputs     Problem = "v0:schemas:invalid-inputs"
	MissingOutput     Problem = "v0:schemas:missing-output"
	InvalidOutputs    Problem = "v0:schemas:invalid-outputs"
	InvalidSecrets    Problem = "v0:schemas:invalid-secrets" //nolint:gosec // a name of a problem
	PromptFormatting  Problem = "v0:workflows:prompt-formatting-error"
	PromptCompletion  Problem = "v0:workflows:prompt-completion-error"
	HookClient        Problem = "v0:workflows:custom-hook-client-error"
	HookServer        Problem = "v0:workflows:custom-hook-server-error"
	RegexPattern      Problem = "v0:workflows:regex-pattern-error"
	CodeFailed        Problem = "v0:workflows:code-error"
	UnknownHandler    Problem = "v0:interface:invalid-uri"
	// Unknown is what a reply names for every other error.
	Unknown Problem = "v1:sdk:unknown-workflow-invoke-error"
)

// problemError carries a Problem within an error's chain.
type problemError struct {
	problem Problem
	// cause is for logs; nil where there is none.
	cause error
}

// Error is for logs.
func (e *problemError) Error() string {
	if e.cause == nil {
		return string(e.problem)
	}
	return string(e.problem) + ": " + e.cause.Error()
}

// Unwrap gives the cause.
func (e *problemError) Unwrap() error { return e.cause }

// ProblemOf is what an error was made with; Unknown for others.
func ProblemOf(err error) Problem {
	if e, ok := errors.AsType[*problemError](err); ok {
		return e.problem
	}
	return Unknown
}

// Fail makes the error of a handler: a kind, which decides the status, the
// problem, and a sentence for the caller. Source: contract §6.
func Fail(kind domain.Kind, problem Problem, format string, args ...any) error {
	e := domain.E(kind, format, args...)
	e.Err = &problemError{problem: problem}
	return e
}

// WithProblem names what an error of another room is for the caller.
func WithProblem(err error, p Problem) error {
	if e, ok := errors.AsType[*domain.Error](err); ok {
		named := *e
		named.Err = NewProblem(p, e.Err)
		return &named
	}
	return err
}

// Reason is the last and least revealing part of a transport's error: no
// address, not even that of our resolver, no header.
func Reason(err error) string {
	if failed, ok := errors.AsType[*net.DNSError](err); ok {
		return failed.Err
	}
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}

// NewProblem returns an error of this problem. cause is for logs; nil without one.
func NewProblem(problem Problem, cause error) error { return &problemError{problem, cause} }
