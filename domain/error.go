package domain

import (
	"errors"
	"fmt"
	"time"
)

// Kind says what an error means to the one who caused it. It is a closed set:
// the HTTP engine turns it into a status, the sink into "give up" or "try
// again". The zero value is Internal, so that an unclassified error is never
// blamed on the caller. Source: design §6.
type Kind uint8

const (
	// Internal is a fault of ours: 500, retried by the sink.
	Internal Kind = iota
	// Rejected is input that makes no sense: 400, permanent.
	Rejected
	// Unauthenticated is a missing, unknown or expired credential: 401.
	Unauthenticated
	// Forbidden is a known caller without the permission: 403.
	Forbidden
	// NotFound is a thing that is not there: 404.
	NotFound
	// Conflict is a write that contradicts what is stored: 409.
	Conflict
	// TooLarge is input over a bound, refused before the memory is spent: 413.
	TooLarge
	// Invalid is input of the wrong form, with Fields: 422, permanent.
	Invalid
	// TooMany is a rate over its limit: 429, with RetryAfter.
	TooMany
	// Unavailable is a store that does not answer: 503, with RetryAfter, retried by the sink.
	Unavailable
	// NotAcceptable is an Accept header that no representation satisfies: 406.
	NotAcceptable
	// FailedDependency is a provider that refused us: 424. Source: contract §6.
	FailedDependency
)

// String is the kind's name as logs and metrics show it.
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

// Permanent tells whether the same input would fail again: such a record goes
// to the dead topic instead of being retried.
func (k Kind) Permanent() bool { return k == Rejected || k == Invalid || k == TooLarge }

// Field is one location of bad input. Source: contract §8 (422 bodies).
type Field struct {
	// Type is the machine's word, such as "missing", "extra_forbidden", "enum".
	Type string `json:"type"`
	// Loc leads to the value: "body", then keys (string) and indices (int).
	Loc []any `json:"loc"`
	// Msg is a sentence for a person.
	Msg string `json:"msg"`
	// Input is the offending value; nil where there is none.
	Input any `json:"input"`
}

// Error is the one error type that crosses rooms. Rooms return it; one
// middleware renders it.
type Error struct {
	// Kind decides status and retry.
	Kind Kind
	// Message is shown to the caller. It never holds a secret or an inner error's text.
	Message string
	// Fields are the locations of an Invalid body; nil otherwise.
	Fields []Field
	// Detail replaces Message in the body's "detail" where the contract asks
	// for an object (409 conflicts). Nil means Message.
	Detail any
	// Body replaces the whole body where the contract asks for another one than
	// {"detail": ...} (invocations, 406). Nil means that there is none.
	Body any
	// RetryAfter is advice for TooMany and Unavailable; zero means none.
	RetryAfter time.Duration
	// Err is the cause, for logs only; nil where there is none.
	Err error
}

// Error is the message followed by its cause, for logs.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	if e.Message == "" {
		return e.Err.Error()
	}
	return e.Message + ": " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// E makes an error of a kind with a formatted message and no cause.
func E(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// Wrap gives a cause a kind and a sentence for the caller.
func Wrap(kind Kind, err error, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...), Err: err}
}

// KindOf is the kind of the first Error in the chain; Internal where there is none.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Internal
}
