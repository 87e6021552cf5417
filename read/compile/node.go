package compile

import (
	"strconv"
	"strings"

	"colonnade/migrations/schema"
)

// Statement is one query: text with a ? for each argument.
type Statement struct {
	SQL  string
	Args []any
	// MaxRows is how many rows the store may have to read, by its index; 0 is no bound.
	MaxRows int
	// MaxBytes is how many bytes of columns it may read; 0 is no bound.
	MaxBytes int64
	// OneStep has the store read the columns of all conditions together, where it
	// would go condition by condition, each of which opens every part anew: for
	// few rows that is most of what they cost.
	OneStep bool
	// StartsFirst has the store leave out what the index of starts rules out before
	// it plans and counts what there is to read, rather than while it reads.
	StartsFirst bool
	// OneThread has the store read it with one thread: it reads so little that to
	// make more of them, and to wait for each, takes longer than they save.
	OneThread bool
	// RowsPerThread is how many rows are worth a thread; 0 leaves that to the store.
	// It leaves less than 163840 to one of them, which suits rows of a few bytes, not
	// documents.
	RowsPerThread int
}

// writer collects a statement's text and arguments in step.
type writer struct {
	text strings.Builder
	args []any
}

// put appends text; each ? in it takes the next of args.
func (w *writer) put(text string, args ...any) {
	w.text.WriteString(text)
	w.args = append(w.args, args...)
}

func (w *writer) statement() Statement { return Statement{SQL: w.text.String(), Args: w.args} }

// lookup is the statement of a lookup of rows whose place is known.
func (w *writer) lookup() Statement {
	s := w.statement()
	s.OneStep, s.StartsFirst = true, true
	return s
}

// documentsPerThread is how many rows of span_payloads_packed are worth a thread.
const documentsPerThread = 512

// fewPlaces is up to how many places a lookup reads with one thread.
const fewPlaces = 8

// at tells at how many places a lookup reads a few rows each.
func (s Statement) at(places int) Statement {
	s.OneThread = places <= fewPlaces
	return s
}

// documentsAt is at for rows of span_payloads_packed.
func (s Statement) documentsAt(places int) Statement {
	s = s.at(places)
	if !s.OneThread {
		s.RowsPerThread = documentsPerThread
	}
	return s
}

// node is a piece of a WHERE clause. Unlike squirrel's parts it knows
// constants, so that what is always or never true leaves no text behind.
type node interface {
	// write appends the node's text; it may stand anywhere that a term may.
	write(w *writer, s *scope)
}

// scope is where lookups into other tables find the bounds of the rows that
// the statement reads, and its project.
type scope struct {
	project string
	bounds  func(w *writer)
	// starts are the bounds on start_time and week alone.
	starts Range
	// content tells that documents have their full-text index.
	content bool
	// within is where the documents are; nil for anywhere.
	within *Within
	// loose leaves out what refines.
	loose bool
}

type (
	// constant is always or never true.
	constant bool
	// raw is text of ours with its arguments.
	raw struct {
		text string
		args []any
	}
	all     []node
	some    []node
	negated struct{ of node }
	// pruning chooses parts and granules and is not looked at in each row: to read a
	// column costs as much for one row as for its whole granule.
	pruning struct{ of node }
	// document holds for rows whose row of documents holds. The pair of tables is
	// joined by the place in the stream, so an older version's text finds nothing.
	document struct{ of node }
	// refined holds where both do. What by leaves out are few as a rule, and it costs
	// the store more than who decides has with them: Scan.Loose takes what of holds for.
	// Of is on rows with a value that no map holds, and by on their documents, or of
	// is on all the text of a document and by on what is searched of it.
	refined struct{ of, by node }
	// hinted is a condition on documents, and a word that occurs wherever it
	// holds: the full-text index finds the word, where there is one. With whole
	// the word says all that the condition does.
	hinted struct {
		word  string
		whole bool
		of    node
	}
)

func sql(text string, args ...any) node { return raw{text, args} } //nolint:iface // one of the kinds of a node

// both, either and not are the connectives, constants folded away.
func both(nodes ...node) node {
	var out all
	for _, n := range nodes {
		switch n := n.(type) {
		case constant:
			if !n {
				return n
			}
		case all:
			out = append(out, n...)
		case nil:
		default:
			out = append(out, n)
		}
	}
	if out, doc := joinDocuments(out, func(a, b node) node { return both(a, b) }); doc != nil {
		return single(append(all(out), doc))
	}
	switch len(out) {
	case 0:
		return constant(true)
	case 1:
		return out[0]
	default:
		return out
	}
}

func single(a all) node {
	if len(a) == 1 {
		return a[0]
	}
	return a
}

func either(nodes ...node) node {
	var out some
	for _, n := range nodes {
		switch n := n.(type) {
		case constant:
			if n {
				return n
			}
		case some:
			out = append(out, n...)
		case nil:
		default:
			out = append(out, n)
		}
	}
	if rest, doc := joinDocuments(out, func(a, b node) node { return either(a, b) }); doc != nil {
		out = append(some(rest), doc)
	}
	switch len(out) {
	case 0:
		return constant(false)
	case 1:
		return out[0]
	default:
		return out
	}
}

// joinDocuments makes one lookup of several: a row has one row of documents, so
// "both are in" is "one is in that holds both".
func joinDocuments(nodes []node, join func(a, b node) node) (rest []node, joined node) { //nolint:iface // nil where there is none
	count := 0
	var of node
	for _, n := range nodes {
		d, ok := n.(document)
		if !ok {
			continue
		}
		if count++; count == 1 {
			of = d.of
		} else {
			of = join(of, d.of)
		}
	}
	if count < 2 {
		return nil, nil
	}
	for _, n := range nodes {
		if _, ok := n.(document); !ok {
			rest = append(rest, n)
		}
	}
	return rest, document{of}
}

func not(n node) node {
	switch n := n.(type) {
	case constant:
		return !n
	case negated:
		return n.of
	default:
		return negated{n}
	}
}

func (c constant) write(w *writer, _ *scope) {
	if c {
		w.put("1")
	} else {
		w.put("0")
	}
}

func (r raw) write(w *writer, _ *scope) { w.put(r.text, r.args...) }

func (a all) write(w *writer, s *scope)  { list(w, s, a, " AND ") }
func (o some) write(w *writer, s *scope) { list(w, s, o, " OR ") }

func list(w *writer, s *scope, nodes []node, between string) {
	w.put("(")
	for i, n := range nodes {
		if i > 0 {
			w.put(between)
		}
		n.write(w, s)
	}
	w.put(")")
}

func (n negated) write(w *writer, s *scope) {
	w.put("NOT (")
	n.of.write(w, s)
	w.put(")")
}

func (p pruning) write(w *writer, s *scope) {
	w.put("indexHint(")
	p.of.write(w, s)
	w.put(")")
}

func (d document) write(w *writer, s *scope) {
	w.put("(start_time, stream_partition, version) IN (SELECT start_time, stream_partition, version FROM "+schema.SpanPayloads+" WHERE project_id = ?", s.project)
	s.starts.and(w)
	if s.within != nil {
		w.put(" AND ")
		s.within.documents().write(w, s)
	}
	w.put(" AND ")
	d.of.write(w, s)
	w.put(")")
}

func (r refined) write(w *writer, s *scope) {
	if s != nil && s.loose {
		r.of.write(w, s)
		return
	}
	list(w, s, []node{r.of, r.by}, " AND ")
}

func (h hinted) write(w *writer, s *scope) {
	if s == nil || !s.content {
		h.of.write(w, s)
		return
	}
	w.put("(" + schema.ContentText + " LIKE '%" + h.word + "%'")
	if !h.whole {
		w.put(" AND ")
		h.of.write(w, s)
	}
	w.put(")")
}

// questions is n question marks, joined by commas.
func questions(n int) string {
	return strings.TrimSuffix(strings.Repeat("?, ", n), ", ")
}

// among is "expression is one of these": equality where there is one.
func among[T any](expression string, values []T) node {
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = v
	}
	switch len(values) {
	case 0:
		return constant(false)
	case 1:
		return sql(expression+" = ?", args...)
	default:
		return sql(expression+" IN ("+questions(len(values))+")", args...)
	}
}

// bytes writes ids as a list of string literals. They are escaped here rather
// than sent as arguments because a list of thousands of unhex(?) is resolved
// function by function; nothing but our own hex digits gets into the text.
func ids[T interface{ ~[8]byte | ~[16]byte }](column string, in []T) node {
	var b strings.Builder
	b.WriteString(column)
	if len(in) == 1 {
		b.WriteString(" = ")
	} else {
		b.WriteString(" IN (")
	}
	for i, id := range in {
		if i > 0 {
			b.WriteString(", ")
		}
		literal(&b, id)
	}
	if len(in) != 1 {
		b.WriteString(")")
	}
	if len(in) == 0 {
		return constant(false)
	}
	return sql(b.String())
}

func literal[T interface{ ~[8]byte | ~[16]byte }](b *strings.Builder, id T) {
	const digits = "0123456789abcdef"
	b.WriteByte('\'')
	for i := range len(id) {
		c := id[i]
		b.WriteString(`\x`)
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&15])
	}
	b.WriteByte('\'')
}

// fixedID is one id as a literal of its column's type. Beside an element of an
// array a string stays one: it would not equal an id that ends in zero bytes.
func fixedID[T interface{ ~[8]byte | ~[16]byte }](id T) string {
	var b strings.Builder
	b.WriteString("toFixedString(")
	literal(&b, id)
	b.WriteString(", " + strconv.Itoa(len(id)) + ")")
	return b.String()
}
