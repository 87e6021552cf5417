package compile

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"colonnade/domain"
	"colonnade/domain/ngram"
	"colonnade/migrations/schema"
)

// Bounds on what a statement asks of sets of n-grams; what is beyond them is not
// asked for, and the stretches that are found are more.
const (
	maxClauses      = 8
	maxAlternatives = 64
	maxNgrams       = 256 // of a phrase
)

// phrases tells of which texts one occurs in the documents of every row for which
// a node holds, for several such lists: of each list there is one. A text is
// longer than an n-gram.
func phrases(n node) [][]string {
	switch n := n.(type) {
	case mention:
		if len(n.text) >= ngram.Size && searched(n.column) {
			return [][]string{{n.text}}
		}
	case document:
		return phrases(n.of)
	case hinted:
		return phrases(n.of)
	case all:
		var out [][]string
		for _, child := range n {
			out = append(out, phrases(child)...)
		}
		return out
	case some:
		var union []string
		for _, child := range n {
			best := selective(phrases(child))
			if len(best) == 0 {
				return nil // a row for which this child holds may be anywhere
			}
			union = append(union, best[0]...)
		}
		slices.Sort(union)
		if union = slices.Compact(union); len(union) > 0 && len(union) <= maxAlternatives {
			return [][]string{union}
		}
	default: // what does not hold occurs nowhere, and the core row says nothing of documents
	}
	return nil
}

// searched tells whether a column of documents is part of their text.
func searched(column string) bool {
	return !slices.Contains([]string{"links", "resource", "scope"}, column)
}

// selective puts the lists first that the fewest documents have: of few texts, and long ones.
func selective(of [][]string) [][]string {
	shortest := func(texts []string) (n int) {
		n = math.MaxInt
		for _, t := range texts {
			n = min(n, len(t))
		}
		return n
	}
	of = slices.Clone(of)
	slices.SortStableFunc(of, func(a, b []string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(shortest(b), shortest(a)))
	})
	return of[:min(len(of), maxClauses)]
}

// Stretches asks in which stretches the documents may be of which a condition has
// Phrases: offsets of a partition from a multiple of schema.StretchOffsets on.
type Stretches struct {
	Project   domain.ProjectID
	Condition *Condition
	// Range is where the spans start.
	Range Range
	// Limit is how many are named; it is positive.
	Limit int
}

// Statement reads the sets of n-grams. Its row is the numbers of the stretches,
// Array(UInt64), as schema.Record makes them of an offset divided by
// schema.StretchOffsets, and of how many stretches there are any, UInt64.
func (s Stretches) Statement() Statement {
	w := new(writer)
	// Times go first: a set is up to 128 KiB.
	clauses := make([]node, 0, len(s.Condition.phrases))
	for _, texts := range s.Condition.phrases {
		alternatives := make([]node, len(texts))
		for i, text := range texts {
			numbers := ngram.Of(text)
			alternatives[i] = sql("bitmapHasAll(ngrams, bitmapBuild(" + uint32s(numbers[:min(len(numbers), maxNgrams)]) + "))")
		}
		clauses = append(clauses, either(alternatives...))
	}
	number := "bitOr(bitShiftLeft(toUInt64(stream_partition), " + strconv.Itoa(schema.RecordShift) + "), stretch)"
	w.put("SELECT groupUniqArrayIf(" + strconv.Itoa(s.Limit) + ")(" + number + ", ")
	both(clauses...).write(w, nil)
	w.put("), uniqExact("+number+") FROM "+schema.SpanNgrams+" PREWHERE project_id = ?", s.Project.String())
	for _, n := range []node{timeRange("max_start", s.Range.Low.Start, maxMicros), timeRange("min_start", minMicros, s.Range.High.Start)} {
		if n != constant(true) {
			w.put(" AND ")
			n.write(w, nil)
		}
	}
	return w.statement()
}

// uint32s is an array of numbers of that type, however small they are.
func uint32s(numbers []uint32) string {
	out := []byte("CAST([")
	for i, n := range numbers {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendUint(out, uint64(n), 10)
	}
	return string(append(out, "], 'Array(UInt32)')"...))
}

// NgramsFrom asks from which offset on the sets of n-grams have all documents. Its
// rows are stream_partition UInt32 and the offset UInt64, schema.NotCovered for
// never; several for a partition that several topics have.
func NgramsFrom() Statement {
	return Statement{SQL: "SELECT stream_partition, argMax(ngrams_from, (next_offset, written_at)) FROM " + schema.SinkProgress + " GROUP BY topic, stream_partition"}
}

// Within is where the documents are that a condition looks for: in these
// stretches, and in what the sets do not cover.
type Within struct {
	// Stretches are as Stretches names them.
	Stretches []uint64
	// From is, for each partition, the offset from which on the sets have all documents.
	From map[uint32]uint64
}

// Whole tells that all documents are covered.
func (w *Within) Whole() bool {
	for _, from := range w.From {
		if from > 0 {
			return false
		}
	}
	return len(w.From) > 0
}

// node is the condition on a row of documents.
func (w *Within) node() node {
	var out []node
	if len(w.Stretches) > 0 {
		pairs := make([]byte, 0, 16*len(w.Stretches))
		for i, number := range w.Stretches {
			if i > 0 {
				pairs = append(pairs, ',')
			}
			pairs = strconv.AppendUint(append(pairs, '('), number>>schema.RecordShift, 10)
			pairs = append(strconv.AppendUint(append(pairs, ','), number&(1<<schema.RecordShift-1), 10), ')')
		}
		out = append(out, sql("(stream_partition, intDiv(stream_offset, "+strconv.Itoa(schema.StretchOffsets)+")) IN ("+string(pairs)+")"))
	}
	known := make([]uint32, 0, len(w.From))
	for partition := range w.From {
		known = append(known, partition)
	}
	slices.Sort(known)
	for _, partition := range known {
		switch from := w.From[partition]; from {
		case 0:
		case schema.NotCovered:
			out = append(out, sql("stream_partition = ?", partition))
		default:
			out = append(out, sql("(stream_partition = ? AND stream_offset < ?)", partition, from))
		}
	}
	return either(append(out, not(among("stream_partition", known)))...)
}
