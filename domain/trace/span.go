package trace

import (
	"time"

	"github.com/google/uuid"

	"colonnade/domain"
)

// Span is one canonical span.
//
// Attribute values are those of package jsonvalue. A span that was read from ClickHouse or just
// normalized may have Lazy values in its attributes and its resource: read them with
// jsonvalue.Lookup, or call jsonvalue.Expand first.
type Span struct {
	TraceID TraceID
	SpanID  SpanID
	// ParentID is zero for a span without a parent.
	ParentID SpanID
	// Root is whether the span is a root of what is stored: it has no parent, or its parent
	// was not stored when its trace was finalized. It is not part of the JSON form.
	Root bool
	// Type is the type of the whole trace, the same on all its spans.
	Type Type
	// SpanType is zero if the client declared none; it then reads as task, and attributes.ag.type
	// has no member "span".
	SpanType SpanType
	Kind     Kind
	Name     string
	// Start and End are Unix nanoseconds, UTC. They sort and filter by the microsecond, which is
	// the order in ClickHouse, and are returned in full.
	Start, End    int64
	Status        Status
	StatusMessage string
	Identifiers
	// Attributes is the nested tree, with the data of the service under "ag". Never nil after
	// normalization.
	Attributes map[string]any
	// References are derived from ag.references, one for each key, sorted by key.
	References []Reference
	Links      []Link
	// Hashes are derived from references and keyed links.
	Hashes []Hash
	Events []Event
	// Resource and Scope are the OpenTelemetry resource attributes (nested) and instrumentation
	// scope; nil means none.
	Resource map[string]any
	Scope    *Scope

	CreatedAt, UpdatedAt time.Time
	// CreatedBy and UpdatedBy are users; the zero UUID means unknown.
	CreatedBy, UpdatedBy uuid.UUID
	// Version orders the writes of one span: the later write has the greater version. It is not
	// part of the JSON form.
	Version uint64
}

// Identifiers are promoted from ag.session.id, ag.user.id and ag.agent.id; empty means none.
type Identifiers struct{ SessionID, UserID, AgentID string }

// IsRoot reports whether the span has no parent; see Root.
func (s *Span) IsRoot() bool { return s.ParentID.IsZero() }

// EffectiveType returns the span type that readers see: task if none was declared.
func (s *Span) EffectiveType() SpanType {
	if s.SpanType == 0 {
		return Task
	}
	return s.SpanType
}

// Reference is an entity that the span refers to, under its key in ag.references.
type Reference struct {
	// Key is one of the 22 keys of interface.md §2.6.
	Key string
	domain.Reference
}

// Link refers to a span of another trace.
type Link struct {
	TraceID TraceID
	SpanID  SpanID
	// Attributes have the name of the link under "key" if its producer gave one; nil means none.
	Attributes map[string]any
}

// Key returns the name of the link; empty means none.
func (l Link) Key() string {
	key, _ := l.Attributes["key"].(string)
	return key
}

// Hash identifies a set of references and keyed links.
type Hash struct {
	ID         uuid.UUID
	Attributes map[string]any
}

// Event is an event of a span. Its attributes stay flat: dotted keys are not nested.
type Event struct {
	Name string
	// Time is Unix nanoseconds.
	Time       int64
	Attributes map[string]any
}

// Scope is the instrumentation library. Source: OTLP InstrumentationScope.
type Scope struct {
	Name       string         `json:"name,omitempty"`
	Version    string         `json:"version,omitempty"`
	Attributes map[string]any `json:"attributes,omitempty"`
}

// Object returns the scope as an attribute tree of name, version and attributes, without the absent ones.
func (s *Scope) Object() map[string]any {
	object := map[string]any{}
	if s.Name != "" {
		object["name"] = s.Name
	}
	if s.Version != "" {
		object["version"] = s.Version
	}
	if s.Attributes != nil {
		object["attributes"] = s.Attributes
	}
	return object
}
