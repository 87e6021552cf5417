// Package filter is the language in which callers select spans: a tree of conditions, and Match,
// which reports whether a span satisfies the tree. Match is the reference meaning: the SQL of the
// read side must select the same spans. filter/filterjson parses the tree from JSON; SQL, request
// bodies and windows are on the read side.
//
// The tree is small on purpose, so that a compiler needs one plain switch:
//
//   - And, Or and Not are the only logical nodes. nand is Not{And}, nor is
//     Not{Or}, and every negative operator (is_not, neq, not_in, has_not,
//     not_exists) is Not of its positive operator: it holds where the positive one does
//     not, including spans without such a value.
//   - A leaf never holds for a span without such a value, unless it tests for absence.
//   - btwn is And of two bounds; a range of times is one Time.
package filter

import (
	"github.com/google/uuid"

	"colonnade/domain/trace"
)

// Expr is a node of the tree: And, Or, Not, or a leaf, which is one of TraceID,
// SpanID, ParentID, Root, TraceType, SpanType, SpanKind, StatusCode, Text, Time,
// TimeText, User, Attribute, Link, Reference, Event, Hash and Content. The set
// is closed. A nil Expr holds for every span.
type Expr interface{ isExpr() }

// And holds if all its children do; an empty one always holds.
type And []Expr

// Or holds if one of its children does; an empty one never holds.
type Or []Expr

// Not holds if its child does not.
type Not struct{ Expr Expr }

// TraceID holds for spans of these traces. In is never empty.
type TraceID struct{ In []trace.TraceID }

// SpanID holds for these spans.
type SpanID struct{ In []trace.SpanID }

// ParentID holds for children of these spans; the zero id in the list selects spans without a parent.
type ParentID struct{ In []trace.SpanID }

// Root holds for the roots of what is stored (trace.Span.Root).
type Root struct{}

// TraceType holds for spans of traces of these types.
type TraceType struct{ In []trace.Type }

// SpanType holds for spans whose effective type (task if none was declared) is one of these.
type SpanType struct{ In []trace.SpanType }

// SpanKind holds for spans of these OpenTelemetry kinds.
type SpanKind struct{ In []trace.Kind }

// StatusCode holds for spans with one of these codes.
type StatusCode struct{ In []trace.Status }

// Field is the name of a member of a span, as on the wire.
type Field string

// The fields of Text, Time, TimeText and User leaves.
const (
	SpanName      Field = "span_name"
	StatusMessage Field = "status_message"
	SessionID     Field = "session_id"
	UserID        Field = "user_id"
	AgentID       Field = "agent_id"
	StartTime     Field = "start_time"
	EndTime       Field = "end_time"
	CreatedAt     Field = "created_at"
	UpdatedAt     Field = "updated_at"
	CreatedByID   Field = "created_by_id"
	UpdatedByID   Field = "updated_by_id"
)

// Text tests a text member: SpanName, StatusMessage, SessionID, UserID or AgentID. An empty text
// is absent: no test holds for it.
type Text struct {
	Field Field
	Test  StringTest
}

// Time holds if a time (StartTime, EndTime, CreatedAt or UpdatedAt), truncated to the microsecond,
// is in [Min, Max], both inclusive, in Unix microseconds. math.MinInt64 and math.MaxInt64 mean "no
// bound". An absent time (UpdatedAt of a span that never changed) is in no range, so the unbounded
// range tests for existence.
type Time struct {
	Field    Field
	Min, Max int64
}

// TimeText tests a time as text in the form of TimeLayout, UTC. No test holds for an absent time.
type TimeText struct {
	Field Field
	Test  StringTest
}

// TimeLayout is the form of a time in TimeText: always six digits below the second.
const TimeLayout = "2006-01-02T15:04:05.000000Z"

// User holds if CreatedByID or UpdatedByID is one of these; uuid.Nil in the list selects spans
// without a recorded user.
type User struct {
	Field Field
	In    []uuid.UUID
}

// Tree is the tree that an Attribute leaf tests.
type Tree uint8

// The three trees.
const (
	// Attributes is the attribute tree of the span, with "ag" among its members.
	Attributes Tree = iota + 1
	// Resource is the tree of OpenTelemetry resource attributes.
	Resource
	// Scope is {"name", "version", "attributes"} of the instrumentation scope.
	Scope
)

// Attribute tests the value at a path of a tree, as jsonvalue.Lookup finds it. No test holds if
// there is no value. Attributes include ag.type.trace and ag.type.span (the latter only if
// declared) and the metrics that have columns of their own.
type Attribute struct {
	Of Tree
	// Path is canonical (jsonvalue.JoinPath of its keys): equal paths are equal strings.
	Path string
	Test Test
}

// Link holds if one of the links of the span contains it: an id that is set is equal, and
// Attributes, unless nil, are contained. The zero Link tests for any link.
type Link struct {
	TraceID    trace.TraceID
	SpanID     trace.SpanID
	Attributes map[string]any
}

// Reference holds if one of the references of the span has all the members that are set. The zero
// Reference tests for any reference. Key is a reference key such as "application_revision"; an
// unknown key never holds.
type Reference struct {
	Key     string
	ID      uuid.UUID
	Slug    string
	Version string
}

// Event holds if one of the events of the span has this name ("" for any), this time (nil for any;
// Unix microseconds), and contains these attributes (nil for any). The zero Event tests for any
// event.
type Event struct {
	Name       string
	Time       *int64
	Attributes map[string]any
}

// Hash holds if one of the hashes of the span has this id (uuid.Nil for any) and contains these
// attributes (nil for any).
type Hash struct {
	ID         uuid.UUID
	Attributes map[string]any
}

// Content holds if Phrase, folded (see Fold), occurs in one of the payloads of the span, folded:
// the canonical JSON text (jsonvalue.Append) of ag.data.inputs, ag.data.outputs,
// ag.data.parameters, ag.data.internals, of ag.exception, and of the events
// (tracejson.AppendEvents). Phrase is already folded and escaped as in a JSON string, so a search
// scans the stored text without decoding it. A phrase also occurs in keys, numbers and parts of
// words.
type Content struct{ Phrase string }

// Test is a test of the value of an Attribute: Exists, Equal, Contains, Member, Number, Lexical or
// Pattern. The set is closed.
type Test interface{ isTest() }

// StringTest is a test of a text: Exists, OneOf, Lexical or Pattern.
type StringTest interface{ isStringTest() }

// Exists holds for any value, null included.
type Exists struct{}

// Equal holds for a scalar of the same type and value. Value is nil, bool,
// int64, float64 or string. Numbers compare by value (1 equals 1.0); a number
// that is whole and fits is an int64 here.
type Equal struct{ Value any }

// Contains holds for an object or array that contains Value, an object or array: an object
// contains all members of Value, each by containment; an array has, for each element of Value, an
// element that contains it; scalars are Equal. So [] and {} are contained in any array and object.
// Source: PostgreSQL's @> on jsonb.
type Contains struct{ Value any }

// Member holds for a value that matches one of Values (all of them with All),
// or for an array with an element that does. A scalar matches as Equal, an
// object or array as Contains.
type Member struct {
	Values []any
	All    bool
}

// OneOf holds for a text that is one of these, exactly.
type OneOf struct{ In []string }

// Order is a comparison.
type Order uint8

// The four comparisons.
const (
	Less Order = iota + 1
	LessEqual
	Greater
	GreaterEqual
)

// Number holds for a number (never a text or bool) that has this order to Value, both as float64.
type Number struct {
	Order Order
	Value float64
}

// Lexical holds for a text that has this order to Value, byte by byte; ISO dates sort that way.
type Lexical struct {
	Order Order
	Value string
}

// Form is the position of a Pattern in a text.
type Form uint8

// The five forms.
const (
	Prefix Form = iota + 1
	Suffix
	Substring
	// Whole is equality.
	Whole
	// Like is SQL's pattern: % is any text, _ any one character; a backslash escapes the next %, _
	// or backslash and precedes no other character.
	Like
)

// Pattern holds for a text in which Value has this position. With Fold both sides are folded (see
// Fold); Value already is.
type Pattern struct {
	Form  Form
	Value string
	Fold  bool
}

func (And) isExpr()        {}
func (Or) isExpr()         {}
func (Not) isExpr()        {}
func (TraceID) isExpr()    {}
func (SpanID) isExpr()     {}
func (ParentID) isExpr()   {}
func (Root) isExpr()       {}
func (TraceType) isExpr()  {}
func (SpanType) isExpr()   {}
func (SpanKind) isExpr()   {}
func (StatusCode) isExpr() {}
func (Text) isExpr()       {}
func (Time) isExpr()       {}
func (TimeText) isExpr()   {}
func (User) isExpr()       {}
func (Attribute) isExpr()  {}
func (Link) isExpr()       {}
func (Reference) isExpr()  {}
func (Event) isExpr()      {}
func (Hash) isExpr()       {}
func (Content) isExpr()    {}

func (Exists) isTest()   {}
func (Equal) isTest()    {}
func (Contains) isTest() {}
func (Member) isTest()   {}
func (Number) isTest()   {}
func (Lexical) isTest()  {}
func (Pattern) isTest()  {}

func (Exists) isStringTest()  {}
func (OneOf) isStringTest()   {}
func (Lexical) isStringTest() {}
func (Pattern) isStringTest() {}
