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

// where is what every statement on spans begins with: the
// project, then the columns of the key from the left, then the partition.
//
// Types that are all there are leave no granule out, and are compared with each that the
// starts do not: a page of any moment is a tenth less without, one of a session, whose
// starts may be any, a quarter to a half.
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

// Scan asks for rows of spans that a condition chooses.
type Scan struct {
	Project   domain.ProjectID
	Condition *filtersql.Condition
	Range     order.Range
	Rate      sqltext.Rate
	// Order is that of the rows; empty means descending.
	Order domain.Order
	// Limit is the number of rows; it is positive.
	Limit int
	// Only takes rows of these traces alone; nil means all.
	Only []trace.TraceID
	// Except leaves rows of these traces out.
	Except []trace.TraceID
	// Places takes rows at these places alone, which lie in Range; nil means all.
	Positions []order.Position
	// ContentIndex tells that the documents have their full-text index (ContentIndexed).
	FullTextIndex bool
	// Within is where spans and their documents are, in Range; nil for anywhere.
	Within *sqltext.Blocks
	// Loose takes rows for which the condition holds roughly, where to leave more of
	// them out costs the store more than who decides; see Condition.Loosens.
	SkipRecheck bool
}

// keyColumns are what a Scan's statement selects, in this order: see Keys.
const keyColumns = "trace_type, start_time, sort_hash, trace_id, span_id, stream_partition, version, created_at, payload_bytes"

// Keys is the statement of a scan: an ordered read for each type, one after the
// other. Who asks puts the rows into one order and takes the first Limit: that
// the store did so was a fifth of its work for a page. Its rows are trace_type
// Enum8, start_time DateTime64(6), tie UInt64, trace_id, span_id, stream_partition
// UInt32, version UInt64, created_at DateTime64(6), payload_bytes UInt32.
//
// It is one statement, whose reads begin in the order of Types: a trace that is
// moved from a type to a later one is seen in one of them. Documents know no
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

// startsFirst tells whether the index of starts goes before the reading. The
// indexes of text want to be looked into while it goes on.
func (s Scan) startsFirst() bool {
	return (len(s.Condition.Terms()) == 0 || s.Positions != nil) && (!s.FullTextIndex || !s.Condition.SearchesPayloads)
}

// Plain tells that the scan asks for nothing but a stretch of time, traces that
// are left out aside.
func (s Scan) Plain() bool {
	return len(s.Condition.Terms()) == 0 && s.Condition.Superset() == sqltext.Constant(true) &&
		s.Rate.All() && s.Only == nil && s.Positions == nil && s.Within == nil
}

// Narrow is Keys for a scan that has few rows to look at. They are read at once
// and put into order, rather than in order for each type: that is planned once,
// which for so few is most of the work. The store refuses it where it would have
// to read more than maxRows, before it reads any; 0 is no bound.
func (s Scan) Narrow(maxRows int) sqltext.Statement {
	// A condition of its own may read large columns. It is tried on the rows that
	// the place leaves, in the store's own order.
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

// Likeness is equal for scans that differ in where and how far they look, and
// in what of the same they leave out: pages of one list.
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

// ContentIndexed asks whether the documents have their full-text index, which
// is the deployment's choice. Its row is a UInt64, the number of tables that have it.
func FullTextIndexes() sqltext.Statement {
	return sqltext.Statement{SQL: "SELECT count() FROM system.data_skipping_indices WHERE database = currentDatabase() AND name = '" + schema.ContentIndex + "'"}
}

// byPlace is the order of a list, empty meaning descending, and its limit.
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

// condition appends what the rows within the bounds have to hold.
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
		case n.Equivalent() != nil: // the index has nothing to find among known rows
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
