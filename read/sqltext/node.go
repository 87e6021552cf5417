package sqltext

import (
	"colonnade/migrations/schema"
	"colonnade/read/order"
)

// Node is a piece of a WHERE clause. Constants fold away, so
// that a condition that is always or never true leaves no text behind.
type Node interface {
	// Write appends the text of the node, which may stand wherever a term may.
	Write(w *Writer, s *Scope)
}

// Scope holds what lookups into other tables need of the statement: its project
// and the bounds of its rows.
type Scope struct {
	Project string
	Bounds  func(w *Writer)
	// Starts are the bounds on start_time and partition_week alone.
	Starts order.Range
	// FullTextIndex is set where the payloads have a full-text index.
	FullTextIndex bool
	// Within is the condition on the location of the payloads; nil for anywhere.
	Within Node
	// SkipRecheck leaves out the second condition of each Rechecked.
	SkipRecheck bool
}

type (
	// Constant is always or never true.
	Constant bool
	// Expression is text of this module with its arguments.
	Expression struct {
		Text string
		Args []any
	}
	// Conjunction holds where every node holds.
	Conjunction []Node
	// Disjunction holds where at least one node holds.
	Disjunction []Node
	// Negation holds where Of does not hold.
	Negation struct{ Of Node }
	// Hint chooses parts and granules and is not evaluated for each row: to read
	// a column costs as much for one row as for its whole granule.
	Hint struct{ Of Node }
	// PayloadCondition holds for rows whose row of payloads holds. The tables are
	// joined by the offset in the stream, so that the payloads of an older version do
	// not count.
	PayloadCondition struct{ Of Node }
	// Rechecked holds where both conditions hold. By leaves out few rows as a rule, and
	// costs ClickHouse more than the caller's own check of these rows: a scan with
	// SkipRecheck takes the rows of Of. Either Of is on rows with a value that no map
	// holds and By on their payloads, or Of is on the whole text of a row of payloads
	// and By on the part that is searched.
	Rechecked struct{ Of, By Node }
	// FullText is a condition on payloads, and a word that occurs wherever the
	// condition holds: the full-text index, where there is one, finds the word. With
	// Whole the word alone decides the condition.
	FullText struct {
		Word  string
		Whole bool
		Of    Node
	}
)

// IndexHint returns a node by which ClickHouse leaves out parts and granules; no row is compared.
func IndexHint(n Node) Hint { return Hint{n} }

// InPayload returns the node that holds for a row whose payloads match n.
func InPayload(n Node) PayloadCondition { return PayloadCondition{n} }

// Recheck returns the node that holds where of and by hold; a scan with SkipRecheck leaves out by.
func Recheck(of, by Node) Rechecked { return Rechecked{of, by} }

// Expr returns text as a node; each ? in it takes the next of args.
func Expr(text string, args ...any) Node { return Expression{text, args} } //nolint:iface // one of the kinds of a node

// And returns the conjunction of the nodes, with constants folded away.
func And(nodes ...Node) Node {
	var out Conjunction
	for _, n := range nodes {
		switch n := n.(type) {
		case Constant:
			if !n {
				return n
			}
		case Conjunction:
			out = append(out, n...)
		case nil:
		default:
			out = append(out, n)
		}
	}
	if out, doc := joinPayloads(out, func(a, b Node) Node { return And(a, b) }); doc != nil {
		return single(append(Conjunction(out), doc))
	}
	switch len(out) {
	case 0:
		return Constant(true)
	case 1:
		return out[0]
	default:
		return out
	}
}

func single(a Conjunction) Node {
	if len(a) == 1 {
		return a[0]
	}
	return a
}

// Or returns the disjunction of the nodes, with constants folded away.
func Or(nodes ...Node) Node {
	var out Disjunction
	for _, n := range nodes {
		switch n := n.(type) {
		case Constant:
			if n {
				return n
			}
		case Disjunction:
			out = append(out, n...)
		case nil:
		default:
			out = append(out, n)
		}
	}
	if rest, doc := joinPayloads(out, func(a, b Node) Node { return Or(a, b) }); doc != nil {
		out = append(Disjunction(rest), doc)
	}
	switch len(out) {
	case 0:
		return Constant(false)
	case 1:
		return out[0]
	default:
		return out
	}
}

// joinPayloads makes one lookup of several: a row has one row of payloads, so that
// "both rows exist" is "one row exists for which both conditions hold".
func joinPayloads(nodes []Node, join func(a, b Node) Node) (rest []Node, joined Node) { //nolint:iface // nil where there is none
	count := 0
	var of Node
	for _, n := range nodes {
		d, ok := n.(PayloadCondition)
		if !ok {
			continue
		}
		if count++; count == 1 {
			of = d.Of
		} else {
			of = join(of, d.Of)
		}
	}
	if count < 2 {
		return nil, nil
	}
	for _, n := range nodes {
		if _, ok := n.(PayloadCondition); !ok {
			rest = append(rest, n)
		}
	}
	return rest, PayloadCondition{of}
}

// Not returns the negation of a node.
func Not(n Node) Node {
	switch n := n.(type) {
	case Constant:
		return !n
	case Negation:
		return n.Of
	default:
		return Negation{n}
	}
}

func (c Constant) Write(w *Writer, _ *Scope) {
	if c {
		w.Put("1")
	} else {
		w.Put("0")
	}
}

func (r Expression) Write(w *Writer, _ *Scope) { w.Put(r.Text, r.Args...) }

func (a Conjunction) Write(w *Writer, s *Scope) { list(w, s, a, " AND ") }

func (o Disjunction) Write(w *Writer, s *Scope) { list(w, s, o, " OR ") }

func list(w *Writer, s *Scope, nodes []Node, between string) {
	w.Put("(")
	for i, n := range nodes {
		if i > 0 {
			w.Put(between)
		}
		n.Write(w, s)
	}
	w.Put(")")
}

func (n Negation) Write(w *Writer, s *Scope) {
	w.Put("NOT (")
	n.Of.Write(w, s)
	w.Put(")")
}

func (p Hint) Write(w *Writer, s *Scope) {
	w.Put("indexHint(")
	p.Of.Write(w, s)
	w.Put(")")
}

func (d PayloadCondition) Write(w *Writer, s *Scope) {
	w.Put("(start_time, stream_partition, version) IN (SELECT start_time, stream_partition, version FROM "+schema.SpanPayloads+" WHERE project_id = ?", s.Project)
	w.AndStarts(s.Starts)
	if s.Within != nil {
		w.Put(" AND ")
		s.Within.Write(w, s)
	}
	w.Put(" AND ")
	d.Of.Write(w, s)
	w.Put(")")
}

func (r Rechecked) Write(w *Writer, s *Scope) {
	if s != nil && s.SkipRecheck {
		r.Of.Write(w, s)
		return
	}
	list(w, s, []Node{r.Of, r.By}, " AND ")
}

func (h FullText) Write(w *Writer, s *Scope) {
	if s == nil || !s.FullTextIndex {
		h.Of.Write(w, s)
		return
	}
	w.Put("(" + schema.ContentText + " LIKE '%" + h.Word + "%'")
	if !h.Whole {
		w.Put(" AND ")
		h.Of.Write(w, s)
	}
	w.Put(")")
}
