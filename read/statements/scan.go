package statements

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/read/filtersql"
	"colonnade/read/order"
	"colonnade/read/sqltext"
)

// keyBounds appends the bounds with which every statement on spans begins: the
// project, then the columns of the key from the left, then the partition.
//
// A bound on all types excludes no granule, and costs a comparison for each: without
// it a page takes a tenth less, and a page of a session, whose starts are unbounded, a
// quarter to a half less.
func keyBounds(w *sqltext.Writer, r order.Range, project domain.ProjectID, types []trace.Type) {
	w.Put("project_id = ?", project.String())
	key := sqltext.PositionBounds(r)
	if len(types) < len(filtersql.StoredTypes()) {
		key = slices.Insert(key, 0, sqltext.Among("trace_type", sqltext.Names(types)))
	}
	for _, n := range append(key, sqltext.PartitionWeeks(r)) {
		if n != sqltext.Constant(true) {
			w.Put(" AND ")
			n.Write(w, nil)
		}
	}
}

// Scan chooses rows of spans by a condition, in the order of a list.
type Scan struct {
	Project   domain.ProjectID
	Condition *filtersql.Condition
	Range     order.Range
	Rate      sqltext.Rate
	// Order is that of the rows; empty means descending.
	Order domain.Order
	// Limit is the number of rows; it is positive.
	Limit int
	// Only restricts the rows to these traces; nil means all.
	Only []trace.TraceID
	// Except excludes the rows of these traces.
	Except []trace.TraceID
	// Positions restricts the rows to these positions, which lie in Range; nil means all.
	Positions []order.Position
	// FullTextIndex is set where the payloads have a full-text index (FullTextIndexes).
	FullTextIndex bool
	// Within restricts the rows to these offset blocks; nil for anywhere in Range.
	Within *sqltext.Blocks
	// SkipRecheck takes rows for which the condition holds roughly, where ClickHouse
	// excludes more of them at a higher cost than the caller; see Condition.Rechecks.
	SkipRecheck bool
}

// keyColumns are what a Scan's statement selects, in this order: see Keys.
const keyColumns = "trace_type, start_time, sort_hash, trace_id, span_id, stream_partition, version, created_at, payload_bytes, is_root, is_rewritten"

// Keys returns the statement of a scan: an ordered read for each type, one after the
// other. The caller merges the rows into one order and takes the first Limit: in
// ClickHouse the merge was a fifth of the work for a page. Its rows are trace_type
// Enum8, start_time DateTime64(6), sort_hash UInt64, trace_id, span_id, stream_partition
// UInt32, version UInt64, created_at DateTime64(6), payload_bytes UInt32.
//
// It is one statement, whose reads begin in the order of Types: a trace that is
// moved from a type to a later one is read in one of them. Payloads have no
// types: where they decide, they are searched once, for all types together.
func (s Scan) Keys() sqltext.Statement {
	if s.Condition.SearchesPayloads {
		return s.Narrow(0)
	}
	w := new(sqltext.Writer)
	for i, t := range s.Condition.Types {
		if i > 0 {
			w.Put(" UNION ALL ")
		}
		w.Put("SELECT " + keyColumns + " FROM " + schema.Spans + " WHERE ")
		s.where(w, []trace.Type{t}, sqltext.Constant(true))
		w.Put(byPosition(s.Order, s.Limit))
	}
	out := w.Statement()
	out.StartsFirst = s.startsFirst()
	return out
}

// startsFirst reports whether ClickHouse applies the index of starts before it reads.
// The indexes of text are faster while it reads.
func (s Scan) startsFirst() bool {
	return (len(s.Condition.Terms()) == 0 || s.Positions != nil) && (!s.FullTextIndex || !s.Condition.SearchesPayloads)
}

// Plain reports whether the scan has no condition but a range of time and the traces
// to exclude.
func (s Scan) Plain() bool {
	return len(s.Condition.Terms()) == 0 && s.Condition.Superset() == sqltext.Constant(true) &&
		s.Rate.All() && s.Only == nil && s.Positions == nil && s.Within == nil
}

// Narrow returns the statement of Keys for a scan of few rows. ClickHouse reads all
// types at once and sorts the rows, so that it plans one read instead of one for each
// type: for few rows the plan is most of the work. ClickHouse refuses the statement
// before it reads if it would read more than maxRows; 0 is no bound.
func (s Scan) Narrow(maxRows int) sqltext.Statement {
	// Other conditions may read large columns. ClickHouse tests them on the rows that
	// the key leaves, in its own order.
	plain, filtered := s.Plain(), " WHERE "
	if plain {
		filtered = " PREWHERE "
	}
	w := new(sqltext.Writer)
	w.Put("SELECT " + keyColumns + " FROM " + schema.Spans + filtered)
	s.where(w, s.Condition.Types, sqltext.Constant(true))
	w.Put(byPosition(s.Order, s.Limit))
	out := w.Statement()
	out.MaxRows, out.OneStep, out.StartsFirst, out.OneThread = maxRows, plain, s.startsFirst(), plain
	return out
}

// Fingerprint returns a number that is equal for the pages of one list: scans that
// differ only in range, order, limit and in the traces to exclude.
func (s Scan) Fingerprint() uint64 {
	w := new(sqltext.Writer)
	for _, t := range s.Condition.Types {
		w.Put(t.String() + " ")
	}
	s.Range, s.Only, s.Except, s.Positions, s.Within = order.Everything(), nil, nil, nil, nil
	s.condition(w, &sqltext.Scope{Project: s.Project.String(), Bounds: func(*sqltext.Writer) {}, Starts: order.Everything()}, sqltext.Constant(true))
	h := xxhash.New()
	out := w.Statement()
	_, _ = fmt.Fprintf(h, "%s %q", out.SQL, out.Args) // a hash takes all
	return h.Sum64()
}

// FullTextIndexes returns the statement that asks whether the payloads have a full-text
// index, which is the deployment's choice. Its row is a UInt64, the number of tables that have it.
func FullTextIndexes() sqltext.Statement {
	return sqltext.Statement{SQL: "SELECT count() FROM system.data_skipping_indices WHERE database = currentDatabase() AND name = '" + schema.ContentIndex + "'"}
}

// byPosition returns the order of a list, where empty means descending, and its limit.
func byPosition(o domain.Order, limit int) string {
	direction := " DESC"
	if o == domain.Ascending {
		direction = ""
	}
	return " ORDER BY start_time" + direction + ", sort_hash" + direction + " LIMIT " + strconv.Itoa(limit)
}

func (s Scan) where(w *sqltext.Writer, types []trace.Type, more sqltext.Node) {
	bounds := func(w *sqltext.Writer) { keyBounds(w, s.Range, s.Project, types) }
	bounds(w)
	s.condition(w, &sqltext.Scope{Project: s.Project.String(), Bounds: bounds, Starts: s.Range, FullTextIndex: s.FullTextIndex, Within: s.Within.Payloads(), SkipRecheck: s.SkipRecheck}, more)
}

// condition appends the conditions on the rows within the bounds.
func (s Scan) condition(w *sqltext.Writer, in *sqltext.Scope, more sqltext.Node) {
	nodes := make([]sqltext.Node, 0, 8)
	switch {
	case s.Positions != nil:
		nodes = append(nodes, amongPositions(s.Positions))
	case s.Within != nil:
		nodes = append(nodes, s.Within.Spans())
	}
	for _, n := range s.Condition.Terms() {
		switch {
		case s.Positions == nil:
			nodes = append(nodes, n.Node())
		case n.Equivalent() != nil: // the index finds nothing among known rows
			nodes = append(nodes, n.Equivalent())
		}
	}
	nodes = append(nodes, more, s.Rate.Node())
	if s.Only != nil {
		nodes = append(nodes, sqltext.IDs("trace_id", s.Only))
	}
	if len(s.Except) > 0 {
		nodes = append(nodes, sqltext.Not(sqltext.IDs("trace_id", s.Except)))
	}
	if s.Positions == nil {
		nodes = append(nodes, s.Condition.ValueHint())
	}
	n := sqltext.And(append(nodes, s.Condition.Superset())...)
	if n == sqltext.Constant(true) {
		return
	}
	w.Put(" AND ")
	n.Write(w, in)
}
