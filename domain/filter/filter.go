// Package filter is the language in which callers choose spans: a tree that
// Parse makes of the JSON of contract §3.2, and Match, which says for one span
// whether the tree holds. Match is the reference meaning: what read/compile
// makes of a tree must choose the same spans.
//
// The tree is small on purpose. Parse folds the wire's operators into few
// nodes, every value checked and typed, so that whoever walks it needs one
// plain switch:
//
//   - And, Or and Not are the only logical nodes. nand is Not{And}, nor is
//     Not{Or}, and every negative operator (is_not, neq, not_in, has_not,
//     not_exists) is Not of its positive twin: it holds wherever the twin does
//     not, also where the span has no such value.
//   - A leaf never holds where the span has no such value, unless it asks for absence.
//   - btwn is And of two bounds; a range of times is one Time.
//
// SQL lives in read/compile, bodies and windows in read/api.
package filter

import (
	"github.com/google/uuid"

	"colonnade/domain/trace"
)

// Expr is a node of the tree: And, Or, Not, or a leaf, which is one of TraceID,
// SpanID, ParentID, TraceType, SpanType, SpanKind, StatusCode, Text, Time,
// TimeText, User, Attribute, Link, Reference, Event, Hash and Content. The set
// is closed. A nil Expr holds for every span.
type Expr interface{ isExpr() }

// And holds where all its children do; an empty one everywhere.
type And []Expr

// Or holds where one of its children does; an empty one nowhere.
type Or []Expr

// Not holds where its child does not.
type Not struct{ Expr Expr }

// TraceID holds for spans of these traces. In is never empty.
type TraceID struct{ In []trace.TraceID }

// SpanID holds for these spans.
type SpanID struct{ In []trace.SpanID }

// ParentID holds for children of these spans; the zero id in the list means "is a root".
type ParentID struct{ In []trace.SpanID }

// TraceType holds for spans of traces of these types.
type TraceType struct{ In []trace.Type }

// SpanType holds for spans whose effective type (task where none was declared) is one of these.
type SpanType struct{ In []trace.SpanType }

// SpanKind holds for spans of these OpenTelemetry kinds.
type SpanKind struct{ In []trace.Kind }

// StatusCode holds for spans with one of these codes.
type StatusCode struct{ In []trace.Status }

// Field names a span's member, as on the wire.
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

// Text tests a text member: SpanName, StatusMessage, SessionID, UserID or
// AgentID. An empty text is absent: no test holds for it.
type Text struct {
	Field Field
	Test  StringTest
}

// Time holds where a time (StartTime, EndTime, CreatedAt or UpdatedAt),
// truncated to the microsecond, lies in [Min, Max], both inclusive, in Unix
// microseconds. math.MinInt64 and math.MaxInt64 mean "no bound". An absent
// time (UpdatedAt of a span never changed) lies in no range, so the unbounded
// range asks for existence.
type Time struct {
	Field    Field
	Min, Max int64
}

// TimeText tests a time as text in the form of TimeLayout, UTC. An absent time is no text.
type TimeText struct {
	Field Field
	Test  StringTest
}

// TimeLayout is how TimeText writes a time: always six digits below the second.
const TimeLayout = "2006-01-02T15:04:05.000000Z"

// User holds where CreatedByID or UpdatedByID is one of these; uuid.Nil in the list means "nobody is recorded".
type User struct {
	Field Field
	In    []uuid.UUID
}

// Tree is the document an Attribute leaf looks into.
type Tree uint8

// The three trees.
const (
	// Attributes is the span's attribute tree, with "ag" among its members.
	Attributes Tree = iota + 1
	// Resource is the OpenTelemetry resource's attributes, nested.
	Resource
	// Scope is {"name", "version", "attributes"} of the instrumentation scope.
	Scope
)

// Attribute tests the value at a path of a tree, found as jsonvalue.Lookup does. No
// test holds where the path leads nowhere. Attributes include ag.type.trace and
// ag.type.span (the latter only when declared) and the metrics that have
// columns of their own.
type Attribute struct {
	Of Tree
	// Path is canonical (jsonvalue.JoinPath of its keys): equal paths are equal strings.
	Path string
	Test Test
}

// Link holds where one of the span's links contains it: an id that is set is
// equal, and Attributes, when not nil, are contained. The zero Link asks for any.
type Link struct {
	TraceID    trace.TraceID
	SpanID     trace.SpanID
	Attributes map[string]any
}

// Reference holds where one of the span's references has all the members that
// are set. The zero Reference asks for any. Key is a reference key such as
// "application_revision"; an unknown key holds nowhere.
type Reference struct {
	Key     string
	ID      uuid.UUID
	Slug    string
	Version string
}

// Event holds where one of the span's events has this name ("" = any), this
// time (nil = any; Unix microseconds), and contains these attributes (nil =
// any). The zero Event asks for any.
type Event struct {
	Name       string
	Time       *int64
	Attributes map[string]any
}

// Hash holds where one of the span's hashes has this id (uuid.Nil = any) and contains these attributes (nil = any).
type Hash struct {
	ID         uuid.UUID
	Attributes map[string]any
}

// Content holds where Phrase, folded (see Fold), occurs in one of the span's
// documents, folded: the canonical JSON text (jsonvalue.Append) of
// ag.data.inputs, ag.data.outputs, ag.data.parameters, ag.data.internals, of
// ag.exception, and of the events (see AppendEvents). Phrase is already
// folded and escaped as it stands within a JSON string, so a search is one look
// for it in stored text, nothing to decode. It occurs in keys,
// numbers and parts of words as well.
type Content struct{ Phrase string }

// Test is what an Attribute asks of a value: Exists, Equal, Contains, Member,
// Number, Lexical or Pattern. The set is closed.
type Test interface{ isTest() }

// StringTest is what can be asked of a text: Exists, OneOf, Lexical or Pattern.
type StringTest interface{ isStringTest() }

// Exists holds for any value, null included.
type Exists struct{}

// Equal holds for a scalar of the same type and value. Value is nil, bool,
// int64, float64 or string. Numbers compare by value (1 equals 1.0); a number
// that is whole and fits is an int64 here.
type Equal struct{ Value any }

// Contains holds for an object or array that contains Value, an object or
// array: an object has all its members, each containing; an array has, for
// each of its elements, one that contains it; scalars are Equal. So [] and {}
// are contained in any array and object. Source: PostgreSQL's @> on jsonb.
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

// Number holds for a number (never a text or bool) that compares so with Value, both as float64.
type Number struct {
	Order Order
	Value float64
}

// Lexical holds for a text that compares so with Value, byte by byte; ISO dates sort by it.
type Lexical struct {
	Order Order
	Value string
}

// Form is how a Pattern lies in a text.
type Form uint8

// The five forms.
const (
	Prefix Form = iota + 1
	Suffix
	Substring
	// Whole is equality.
	Whole
	// Like is SQL's pattern: % is any text, _ any one character; a backslash
	// makes the next %, _ or backslash stand for itself and stands before nothing else.
	Like
)

// Pattern holds for a text in which Value lies so. With Fold both sides are
// folded (see Fold); Value already is.
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
