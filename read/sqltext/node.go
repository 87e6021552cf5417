package sqltext

import (
	"colonnade/migrations/schema"
	"colonnade/read/order"
)

// node is a piece of a WHERE clause. Unlike squirrel's parts it knows
// constants, so that what is always or never true leaves no text behind.
type Node interface {
	// write appends the node's text; it may stand anywhere that a term may.
	Write(w *Writer, s *Scope)
}

// scope is where lookups into other tables find the bounds of the rows that
// the statement reads, and its project.
type Scope struct {
	Project string
	Bounds  func(w *Writer)
	// starts are the bounds on start_time and week alone.
	Starts order.Range
	// content tells that documents have their full-text index.
	FullTextIndex bool
	// within is where the documents are; nil for anywhere.
	Within Node
	// loose leaves out what refines.
	SkipRecheck bool
}

type (
	// constant is always or never true.
	Constant bool
	// raw is text of ours with its arguments.
	Expression struct {
		Text string
		Args []any
	}
	Conjunction []Node
	Disjunction []Node
	Negation    struct{ Of Node }
	// pruning chooses parts and granules and is not looked at in each row: to read a
	// column costs as much for one row as for its whole granule.
	indexHint struct{ Of Node }
	// document holds for rows whose row of documents holds. The pair of tables is
	// joined by the place in the stream, so an older version's text finds nothing.
	PayloadCondition struct{ Of Node }
	// refined holds where both do. What by leaves out are few as a rule, and it costs
	// the store more than who decides has with them: Scan.Loose takes what of holds for.
	// Of is on rows with a value that no map holds, and by on their documents, or of
	// is on all the text of a document and by on what is searched of it.
	Rechecked struct{ Of, By Node }
	// hinted is a condition on documents, and a word that occurs wherever it
	// holds: the full-text index finds the word, where there is one. With whole
	// the word says all that the condition does.
	FullText struct {
		Word  string
		Whole bool
		Of    Node
	}
)

func IndexHint(n Node) Node { return indexHint{n} }

func InPayload(n Node) Node { return PayloadCondition{n} }

func Recheck(of, by Node) Node { return Rechecked{of, by} }

func Expr(text string, args ...any) Node { return Expression{text, args} } //nolint:iface // one of the kinds of a node

// both, either and not are the connectives, constants folded away.
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

// joinDocuments makes one lookup of several: a row has one row of documents, so
// "both are in" is "one is in that holds both".
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

func (p indexHint) Write(w *Writer, s *Scope) {
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
