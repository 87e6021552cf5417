package analyticssql

import (
	"slices"
	"strconv"
	"strings"

	"colonnade/domain"
	"colonnade/domain/semconv"
	"colonnade/migrations/schema"
	"colonnade/read/filtersql"
	"colonnade/read/order"
	"colonnade/read/sqltext"
	"colonnade/read/statements"
)

// Axis is the time that assigns a span to a bucket.
type Axis uint8

// The two axes. The key of spans has the start only; by creation ClickHouse reads all
// rows of a project.
const (
	ByStart Axis = iota + 1
	ByCreation
)

func (a Axis) column() string {
	if a == ByCreation {
		return "created_at"
	}
	return "start_time"
}

// Analysis asks for values of spans in buckets of time. It reads each span once, in its
// latest version. The spans that the row of spans cannot decide, because their payloads
// or sums are needed, are returned apart.
type Analysis struct {
	Project   domain.ProjectID
	Condition *filtersql.Condition
	Rate      sqltext.Rate
	Axis      Axis
	// Low and High bound the axis, Unix microseconds; High is exclusive.
	Low, High int64
	// Origin and Width make the buckets: bucket n begins at Origin + n*Width. Microseconds.
	Origin, Width int64
	// Roots takes the roots of what is stored only.
	Roots    bool
	Measures []Measure
	// GroupBy divides the spans of a bucket.
	GroupBy []Group
	// Within restricts the spans to these offset blocks; nil for anywhere.
	Within *sqltext.Blocks
}

// Group divides spans by a field of text.
type Group struct {
	// Column is a column that statements.TextColumn returned.
	Column string
	// Path is the path of an attribute, canonical; it stands in place of Column.
	Path string
}

func (g Group) node() sqltext.Node {
	if g.Path != "" {
		return statements.AttributeText(g.Path)
	}
	return sqltext.Expr(g.Column)
}

// groups returns the names of the columns of groups, each after a comma.
func (a Analysis) groups() string {
	var text strings.Builder
	for i := range a.GroupBy {
		text.WriteString(", g" + strconv.Itoa(i))
	}
	return text.String()
}

// Decision is what a row lacks to decide a measure.
type Decision uint8

// What a row lacks. The statements contain these numbers.
const (
	// Decided: nothing.
	Decided Decision = iota
	// NeedsTotals: the totals of its trace.
	NeedsTotals
	// NeedsPayload: its payloads.
	NeedsPayload
)

// Volume returns the statement that counts all rows in each step of the axis. Its rows are step Int64, counted from Low, and the number UInt64.
func (a Analysis) Volume(step int64) sqltext.Statement {
	w := new(sqltext.Writer)
	w.Put("SELECT intDiv(toUnixTimestamp64Micro("+a.Axis.column()+") - ?, ?) AS step, count() FROM "+schema.Spans+" WHERE ", a.Low, step)
	a.bounds(w)
	w.Put(" GROUP BY step ORDER BY step")
	return w.Statement()
}

// Values returns the statement that asks for the values of the rows that decide
// everything, and for the rows that do not. Its rows are bucket Int64, a String for each
// group, empty for spans without a value, the number of spans that match for sure UInt64, and an Array(String) of the undecided rows, at most limit of
// a bucket: trace_id (16 bytes), span_id (8), 1 where the span matches for sure,
// the Decision of each measure (1), and of each cumulative measure the value that a
// client sent instead: a Float64 (8, little-endian), NaN where nothing.
// Then, for each measure, its columns. Both come from one statement: a
// trace may be finalized at any time, and then its row is decided.
func (a Analysis) Values(limit int) sqltext.Statement {
	w := new(sqltext.Writer)
	var open, sent strings.Builder
	for i, m := range a.Measures {
		name := "m" + strconv.Itoa(i)
		open.WriteString(", " + name + "_open")
		if m.Cumulative() {
			sent.WriteString(", reinterpretAsFixedString(toFloat64(" + name + "_sent))")
		}
	}
	w.Put("SELECT bucket" + a.groups() + ", countIf(sure), groupArrayIf(" + strconv.Itoa(limit) + ")(concat(trace_id, span_id, char(sure" + open.String() + ")" + sent.String() + "), " + a.undecided() + ")")
	for i, m := range a.Measures {
		w.Put(", " + m.aggregate("m"+strconv.Itoa(i)))
	}
	w.Put(" FROM (")
	a.rows(w)
	w.Put(") GROUP BY bucket" + a.groups() + " ORDER BY bucket")
	return w.Statement()
}

// undecided returns the condition, on the columns of rows, that some measure is not decided.
func (a Analysis) undecided() string {
	var text strings.Builder
	text.WriteString("NOT sure")
	for i := range a.Measures {
		text.WriteString(" OR m" + strconv.Itoa(i) + "_open > 0")
	}
	return text.String()
}

// rows selects bucket, trace_id, span_id, sure, and of each measure m_have,
// m_value and m_open.
func (a Analysis) rows(w *sqltext.Writer) {
	s := &sqltext.Scope{Project: a.Project.String(), Bounds: a.keyBounds, Starts: a.Starts(), Within: a.Within.Payloads()}
	w.Put("SELECT intDiv(toUnixTimestamp64Micro("+a.Axis.column()+") - ?, ?) AS bucket, trace_id, span_id, toUInt8(", a.Origin, a.Width)
	a.Condition.Subset().Write(w, s)
	w.Put(") AS sure")
	for i, g := range a.GroupBy {
		w.Put(", ")
		g.node().Write(w, nil)
		w.Put(" AS g" + strconv.Itoa(i))
	}
	for i, m := range a.Measures {
		m.columns(a.Roots).write(w, "m"+strconv.Itoa(i), m.Cumulative())
	}
	w.Put(" FROM (SELECT * FROM " + schema.Spans + " FINAL WHERE ")
	a.where(w)
	w.Put(") AS chosen")
	if a.usesTotals() {
		w.Put(" LEFT ANY JOIN (")
		a.totals(w)
		w.Put(") AS totals ON trace_id = of_trace")
	}
}

// usesTotals reports whether the totals of finalized traces can be used, which are the
// sums of their roots.
func (a Analysis) usesTotals() bool {
	if !a.Roots {
		return false
	}
	for _, m := range a.Measures {
		if m.Cumulative() {
			return true
		}
	}
	return false
}

// totals selects the sums of the roots of traces that have one root and were finalized
// after their last change.
func (a Analysis) totals(w *sqltext.Writer) {
	of := func() {
		w.Put(" WHERE project_id = ? AND trace_id IN (SELECT trace_id FROM "+schema.Spans+" WHERE ", a.Project.String())
		a.where(w)
		w.Put(") GROUP BY trace_id")
	}
	w.Put("SELECT of_trace, 1 AS is_settled")
	for i, m := range schema.Metrics() {
		w.Put(", t." + strconv.Itoa(i+2) + " AS total_" + m.Column)
	}
	w.Put(" FROM (SELECT trace_id AS of_trace, max(version) AS settled_version, argMax(tuple(one_tree, " + schema.MetricColumns() + "), (version, finalized_at)) AS t FROM " + schema.TraceTotals)
	of()
	w.Put(") AS settled INNER ANY JOIN (SELECT trace_id, max(last_version) AS written_version FROM " + schema.TraceIndex)
	of()
	w.Put(") AS written ON of_trace = written.trace_id WHERE t.1 = 1 AND settled_version >= written_version")
}

// bounds appends the project, the types and the range of the axis.
func (a Analysis) bounds(w *sqltext.Writer) {
	a.keyBounds(w)
	if n := sqltext.TimeRange("created_at", a.Low, a.High-1); a.Axis == ByCreation && n != sqltext.Constant(true) {
		w.Put(" AND ")
		n.Write(w, nil)
	}
}

// keyBounds appends the bounds on columns of the key, which span_cumulative has too.
func (a Analysis) keyBounds(w *sqltext.Writer) {
	w.Put("project_id = ? AND ", a.Project.String())
	sqltext.Among("trace_type", sqltext.Names(a.Condition.Types)).Write(w, nil)
	w.AndStarts(a.Starts())
}

// Starts returns the range of the starts of rows that may match.
func (a Analysis) Starts() order.Range {
	r := order.Starts(a.Condition.Min, a.Condition.Max)
	if a.Axis == ByStart {
		r = r.Intersect(order.Starts(a.Low, a.High-1))
	}
	return r
}

// where appends the conditions on all rows that may match.
func (a Analysis) where(w *sqltext.Writer) {
	a.bounds(w)
	var nodes []sqltext.Node
	if a.Within != nil {
		nodes = append(nodes, a.Within.Spans())
	}
	for _, n := range a.Condition.Terms() {
		nodes = append(nodes, n.Node())
	}
	if a.Roots {
		nodes = append(nodes, sqltext.Expr("is_root"))
	}
	n := sqltext.And(append(nodes, a.Rate.Node(), a.Condition.ValueHint(), a.Condition.Superset())...)
	if n == sqltext.Constant(true) {
		return
	}
	w.Put(" AND ")
	n.Write(w, &sqltext.Scope{Project: a.Project.String(), Bounds: a.keyBounds, Starts: a.Starts(), Within: a.Within.Payloads()})
}

// total returns the name of the column of totals for a cumulative path.
func total(keys []string) string {
	name := slices.DeleteFunc(slices.Clone(keys[2:]), func(k string) bool { return k == semconv.Cumulative })
	return "total_" + strings.Join(name, "_")
}
