// Package simple defines simple traces: flat records of one event, such as the feedback of
// a user, the result of an evaluator, or an invocation recorded by a client. It holds the
// record, its conversion to and from one span, its JSON, and the filter that finds it. Both
// sides use this package, so that the reply to a write and a later read are equal.
//
// Request bodies and routes are in write/api and read/api, the entities that a record
// refers to in domain/entity. Source: interface.md §2.9.
package simple

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/request"
	"colonnade/domain/trace"
)

// Face is the name under which a record is served: the three differ in words,
// in the trace type, and in which entity they make sure of.
type Face uint8

// The faces.
const (
	Trace Face = iota + 1
	Annotation
	Invocation
)

// Member is the JSON member that holds one record.
func (f Face) Member() string {
	switch f {
	case Annotation:
		return "annotation"
	case Invocation:
		return "invocation"
	default:
		return "trace"
	}
}

// Members is the JSON member that holds a list of records.
func (f Face) Members() string { return f.Member() + "s" }

// LinkMember is the JSON member that names a record by its ids.
func (f Face) LinkMember() string {
	if f == Trace {
		return "link"
	}
	return f.Member() + "_link"
}

// Path is where the face is mounted.
func (f Face) Path() string {
	if f == Trace {
		return "/simple/traces/"
	}
	return "/" + f.Members() + "/"
}

// Type is the type of the traces that are made under the face: a simple trace
// is an annotation, linked or not. Source: contract §4.2.
func (f Face) Type() trace.Type {
	if f == Invocation {
		return trace.Invocation
	}
	return trace.Annotation
}

// Entity is the reference key of what a record is made about: the name of its span follows it.
func (f Face) Entity() string {
	if f == Invocation {
		return "application"
	}
	return "evaluator"
}

// Origin is who made a record.
type Origin string

// The origins. Source: contract §4.1.
const (
	Custom Origin = "custom"
	Human  Origin = "human"
	Auto   Origin = "auto"
)

// Kind is what a record was made for.
type Kind string

// The kinds. Source: contract §4.1.
const (
	Adhoc Kind = "adhoc"
	Eval  Kind = "eval"
	Play  Kind = "play"
)

// Channel is the way a record came.
type Channel string

// The channels. Source: contract §4.1.
const (
	OTLP Channel = "otlp"
	Web  Channel = "web"
	SDK  Channel = "sdk"
	API  Channel = "api"
)

// UnmarshalText reads the word on the wire.
func (o *Origin) UnmarshalText(b []byte) error { return oneOf(o, b, Custom, Human, Auto) }

// UnmarshalText reads the word on the wire.
func (k *Kind) UnmarshalText(b []byte) error { return oneOf(k, b, Adhoc, Eval, Play) }

// UnmarshalText reads the word on the wire.
func (c *Channel) UnmarshalText(b []byte) error { return oneOf(c, b, OTLP, Web, SDK, API) }

func oneOf[T ~string](to *T, text []byte, known ...T) error {
	if !slices.Contains(known, T(text)) {
		words := make([]string, len(known))
		for i, k := range known {
			words[i] = "'" + string(k) + "'"
		}
		last := len(words) - 1
		return request.Invalid("enum", "Input should be "+strings.Join(words[:last], ", ")+" or "+words[last], string(text))
	}
	*to = T(text)
	return nil
}

// Selector is the one key beside those of interface.md §2.6 under which a
// record's references may stand; it lies in ag.selector.
const Selector = "selector"

// Record is a simple trace, annotation or invocation. Source: contract §4.2.
type Record struct {
	TraceID trace.TraceID
	SpanID  trace.SpanID

	// The times and users are zero where they are not known, as in the reply to a creation.
	CreatedAt, UpdatedAt time.Time
	CreatedBy, UpdatedBy uuid.UUID

	Origin  Origin
	Kind    Kind
	Channel Channel
	// Tags and Meta are nil where there are none.
	Tags, Meta map[string]any
	// Data is never empty in a record that was read.
	Data map[string]any
	// References are by their key, one of the 22 of interface.md §2.6 or Selector.
	References map[string]domain.Reference
	Links      []Link
	// List tells that the links came as a list, and go back so.
	List bool
}

// Link is what a record is about.
type Link struct {
	// Name is unique among the links of a record.
	Name    string
	TraceID trace.TraceID
	SpanID  trace.SpanID
	// Attributes are what the caller gave beside the name; nil means none. They are stored, not shown.
	Attributes map[string]any
}

// ListName is the name of the links that came as a list; the later ones are
// numbered, so that none hides another.
const ListName = "key"

// Names gives names of which no two are the same: the second of a name is
// numbered 2, and so on. The zero value has given none. It remembers where it is
// with each name: a body holds more links than may be compared with each other.
type Names struct{ last map[string]int }

// Unique gives the name, or the name with the first number that makes it another than all before.
func (n *Names) Unique(name string) string {
	if n.last == nil {
		n.last = map[string]int{}
	}
	candidate := name
	for n.last[candidate] > 0 {
		n.last[name]++
		candidate = name + "_" + strconv.Itoa(n.last[name])
	}
	n.last[candidate] = 1
	return candidate
}
