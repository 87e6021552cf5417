package trace

import "strings"

// Type is ag.type.trace. Its numbers are stored, and first in the key of spans after the project;
// they never change.
type Type uint8

// The trace types, by their stored numbers.
const (
	Invocation Type = 1
	Annotation Type = 2
	Unknown    Type = 3
)

// String returns the value on the wire; empty if it is unset.
func (t Type) String() string {
	switch t {
	case Invocation:
		return "invocation"
	case Annotation:
		return "annotation"
	case Unknown:
		return "unknown"
	default:
		return ""
	}
}

// ParseType parses the value on the wire.
func ParseType(s string) (Type, bool) {
	for _, t := range []Type{Invocation, Annotation, Unknown} {
		if t.String() == s {
			return t, true
		}
	}
	return 0, false
}

// TypeOf returns the type of a whole trace: the type that its spans declare, the greatest
// if they differ; otherwise annotation if one of the spans has links.
func TypeOf(declared Type, linked bool) Type {
	switch {
	case declared != 0:
		return declared
	case linked:
		return Annotation
	default:
		return Invocation
	}
}

// SpanType is ag.type.span. Its numbers are stored; they never change. The zero value means that
// the client declared no type, which reads as task.
type SpanType uint8

// The span types, by their stored numbers.
const (
	Task        SpanType = 1
	Workflow    SpanType = 2
	Agent       SpanType = 3
	Chain       SpanType = 4
	Tool        SpanType = 5
	LLM         SpanType = 6
	Chat        SpanType = 7
	Completion  SpanType = 8
	Embedding   SpanType = 9
	QueryType   SpanType = 10
	Rerank      SpanType = 11
	UnknownSpan SpanType = 12
)

const lastSpanType = UnknownSpan

// String returns the value on the wire; empty if it is unset.
func (t SpanType) String() string {
	switch t {
	case Task:
		return "task"
	case Workflow:
		return "workflow"
	case Agent:
		return "agent"
	case Chain:
		return "chain"
	case Tool:
		return "tool"
	case LLM:
		return "llm"
	case Chat:
		return "chat"
	case Completion:
		return "completion"
	case Embedding:
		return "embedding"
	case QueryType:
		return "query"
	case Rerank:
		return "rerank"
	case UnknownSpan:
		return "unknown"
	default:
		return ""
	}
}

// IsModelCall reports whether a span of this type is one call of a model. Queries and
// reranks are priced as well, but report what lies below them.
func (t SpanType) IsModelCall() bool {
	switch t {
	case LLM, Chat, Completion, Embedding:
		return true
	default:
		return false
	}
}

// ParseSpanType parses the value on the wire, in any case.
func ParseSpanType(s string) (SpanType, bool) {
	s = strings.ToLower(s)
	for t := Task; t <= lastSpanType; t++ {
		if t.String() == s {
			return t, true
		}
	}
	return 0, false
}

// Kind is the OpenTelemetry span kind, with OpenTelemetry's numbers.
type Kind uint8

// The span kinds.
const (
	KindUnspecified Kind = iota
	KindInternal
	KindServer
	KindClient
	KindProducer
	KindConsumer
)

const lastKind = KindConsumer

// String returns the value on the wire, such as SPAN_KIND_SERVER.
func (k Kind) String() string {
	switch k {
	case KindInternal:
		return "SPAN_KIND_INTERNAL"
	case KindServer:
		return "SPAN_KIND_SERVER"
	case KindClient:
		return "SPAN_KIND_CLIENT"
	case KindProducer:
		return "SPAN_KIND_PRODUCER"
	case KindConsumer:
		return "SPAN_KIND_CONSUMER"
	default:
		return "SPAN_KIND_UNSPECIFIED"
	}
}

// Valid reports whether OpenTelemetry defines the kind.
func (k Kind) Valid() bool { return k <= lastKind }

// ParseKind parses the value on the wire.
func ParseKind(s string) (Kind, bool) {
	for k := KindUnspecified; k <= lastKind; k++ {
		if k.String() == s {
			return k, true
		}
	}
	return 0, false
}

// Status is the OpenTelemetry status code, with OpenTelemetry's numbers.
type Status uint8

// The status codes.
const (
	StatusUnset Status = iota
	StatusOK
	StatusError
)

// String returns the value on the wire, such as STATUS_CODE_OK.
func (s Status) String() string {
	switch s {
	case StatusOK:
		return "STATUS_CODE_OK"
	case StatusError:
		return "STATUS_CODE_ERROR"
	default:
		return "STATUS_CODE_UNSET"
	}
}

// Valid reports whether OpenTelemetry defines the code.
func (s Status) Valid() bool { return s <= StatusError }

// ParseStatus parses the value on the wire.
func ParseStatus(s string) (Status, bool) {
	for c := StatusUnset; c <= StatusError; c++ {
		if c.String() == s {
			return c, true
		}
	}
	return 0, false
}
