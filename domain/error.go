package domain

import (
	"errors"
	"fmt"
	"time"
)

// Kind classifies an error by its meaning for the caller. It is a closed set: the server turns it
// into a status, the sink into "give up" or "retry". The zero value is Internal, so that an
// unclassified error is never blamed on the caller. Source: deploy/docs/api.md, Errors.
type Kind uint8

const (
	// Internal is a fault of Colonnade: 500, retried by the sink.
	Internal Kind = iota
	// Rejected is input that has no valid meaning: 400, permanent.
	Rejected
	// Unauthenticated is a missing, unknown or expired credential: 401.
	Unauthenticated
	// Forbidden is a known caller without the permission: 403.
	Forbidden
	// NotFound is an object that does not exist: 404.
	NotFound
	// Conflict is a write that contradicts the stored state: 409.
	Conflict
	// TooLarge is input beyond a limit, refused before memory is allocated for it: 413.
	TooLarge
	// Invalid is input of the wrong form, with Fields: 422, permanent.
	Invalid
	// TooMany is a rate above its limit: 429, with RetryAfter.
	TooMany
	// Unavailable is a database or broker that does not reply: 503, with RetryAfter, retried by
	// the sink.
	Unavailable
	// NotAcceptable is an Accept header that no representation satisfies: 406.
	NotAcceptable
	// FailedDependency is a provider that refused a call: 424. Source: deploy/docs/api.md,
	// Invocations.
	FailedDependency
)

// String returns the name of the kind for logs and metrics.
func (k Kind) String() string {
	switch k {
	case Rejected:
		return "rejected"
	case Unauthenticated:
		return "unauthenticated"
	case Forbidden:
		return "forbidden"
	case NotFound:
		return "not_found"
	case Conflict:
		return "conflict"
	case TooLarge:
		return "too_large"
	case Invalid:
		return "invalid"
	case TooMany:
		return "too_many"
	case Unavailable:
		return "unavailable"
	case NotAcceptable:
		return "not_acceptable"
	case FailedDependency:
		return "failed_dependency"
	default:
		return "internal"
	}
}

// Permanent reports whether the same input would fail again: the sink sends such a record to the
// dead-letter topic instead of retrying it.
func (k Kind) Permanent() bool { return k == Rejected || k == Invalid || k == TooLarge }

// Field is one location of bad input in a 422 body.
type Field struct {
	// Type is the machine-readable kind of the error, such as "missing", "extra_forbidden" or
	// "enum".
	Type string `json:"type"`
	// Loc is the location of the value: "body", then keys (string) and indices (int).
	Loc []any `json:"loc"`
	// Msg is a sentence for the person who reads the error.
	Msg string `json:"msg"`
	// Input is the wrong value; nil if there is none.
	Input any `json:"input"`
}

// Error is the one error type that crosses packages; one middleware renders it.
type Error struct {
	// Kind decides status and retry.
	Kind Kind
	// Message is shown to the caller. It never contains a secret or the text of an inner error.
	Message string
	// Fields are the locations of an Invalid body; nil otherwise.
	Fields []Field
	// Detail replaces Message in the "detail" of the body for errors that have an object there
	// (409 conflicts). Nil means Message.
	Detail any
	// Body replaces the whole body for errors that have another one than {"detail": ...}
	// (invocations, 406). Nil means no replacement.
	Body any
	// RetryAfter is the advised delay of TooMany and Unavailable; zero means none.
	RetryAfter time.Duration
	// Err is the cause, for logs only; nil if there is none.
	Err error
}

// Error returns the message followed by its cause, for logs.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	if e.Message == "" {
		return e.Err.Error()
	}
	return e.Message + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// E returns an error of a kind with a formatted message and no cause.
func E(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// Wrap returns an error with a kind, a message for the caller and its cause.
func Wrap(kind Kind, err error, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...), Err: err}
}

// KindOf returns the kind of the first Error in the chain; Internal if there is none.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Internal
}
