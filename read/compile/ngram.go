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
// asked for, and the sections that are found are more.
const (
	maxClauses      = 8
	maxAlternatives = 64
	maxNgrams       = 256 // of a phrase
)

// phrases are the lists for texts that all occur in the documents of a row: one for
// each that has an n-gram.
func phrases(texts ...string) (out [][]string) {
	for _, t := range texts {
		if len(t) >= ngram.Size {
			out = append(out, []string{t})
		}
	}
	return out
}

// anyOf gives the list for rows of which one of several things holds; none
// where of one of them nothing is known: such a row may be anywhere.
func anyOf(lists [][][]string) [][]string {
	var union []string
	for _, l := range lists {
		best := selective(l)
		if len(best) == 0 {
			return nil
		}
		union = append(union, best[0]...)
	}
	slices.Sort(union)
	if union = slices.Compact(union); len(union) == 0 || len(union) > maxAlternatives {
		return nil
	}
	return [][]string{union}
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

// Sections asks in which sections the documents may be of which a condition has
// Phrases: offsets of a partition from a multiple of schema.BlockOffsets on.
type Sections struct {
	Project   domain.ProjectID
	Condition *Condition
	// Range is where the spans start.
	Range Range
	// Limit is how many parts of them are named; it is positive.
	Limit int
}

// Statement reads the sets of n-grams. Its row is three arrays of as many elements,
// for each part that was found of a section: its number, UInt64, as schema.Record
// makes it of an offset divided by schema.BlockOffsets, and the first and the last
// start of its spans, Int64 in Unix microseconds; and how many sections there are
// in all, UInt64.
func (s Sections) Statement() Statement {
	w := new(writer)
	number := "bitOr(bitShiftLeft(toUInt64(stream_partition), " + strconv.Itoa(schema.RecordShift) + "), offset_block)"
	w.put("WITH groupUniqArray(" + strconv.Itoa(s.Limit) + ")((" + number + ", toUnixTimestamp64Micro(min_start), toUnixTimestamp64Micro(max_start))) AS parts" +
		" SELECT arrayMap(p -> p.1, parts), arrayMap(p -> p.2, parts), arrayMap(p -> p.3, parts), (SELECT uniqExact(" + number + ")")
	s.rows(w)
	w.put(")")
	s.rows(w, s.has()...)
	out := w.statement()
	out.RowsPerThread = setsPerThread
	return out
}

// setsPerThread is how many rows of sets are worth a thread: the two of each are up
// to 128 KiB.
const setsPerThread = 16

// rows appends where the sets are read, and of which rows.
func (s Sections) rows(w *writer, more ...node) {
	w.put(" FROM "+schema.SpanPayloadNgrams+" PREWHERE project_id = ?", s.Project.String())
	times := []node{timeRange("max_start", s.Range.Low.Start, maxMicros), timeRange("min_start", minMicros, s.Range.High.Start)}
	for _, n := range append(times, more...) {
		if n != constant(true) {
			w.put(" AND ")
			n.write(w, nil)
		}
	}
}

// has are the conditions on the sets of a row. The store reads the columns of one
// after the other, for rows that are left: numerals are in the fewest sets.
func (s Sections) has() []node {
	numerals, ngrams := make([]node, 0, 2*maxClauses), make([]node, 0, maxClauses)
	for _, texts := range s.Condition.phrases {
		alternatives := make([]node, len(texts))
		for i, text := range texts {
			of, numeral := hasAll("ngrams", ngram.Of(text)), hasAll("digit_ngrams", ngram.NumeralsOf(text))
			if len(texts) == 1 {
				numerals = append(numerals, numeral)
			} else {
				of = both(of, numeral)
			}
			alternatives[i] = of
		}
		ngrams = append(ngrams, either(alternatives...))
	}
	return append(numerals, ngrams...)
}

// NearSections asks how far the nearest rows of the sets of n-grams reach from the end
// of a range at which a list in this order begins. Rows that reach beyond that end
// are not counted: all of them have something there, however short the stretch. Its row
// is a start within the range, Int64 in Unix microseconds; none where there are not as
// many rows.
func NearSections(project domain.ProjectID, of Range, order domain.Order, rows int) Statement {
	start, direction, within := "max_start", " DESC", timeRange("max_start", of.Low.Start, of.High.Start-1)
	if order == domain.Ascending {
		start, direction, within = "min_start", "", timeRange("min_start", of.Low.Start+1, of.High.Start)
	}
	w := new(writer)
	w.put("SELECT toUnixTimestamp64Micro("+start+") FROM "+schema.SpanPayloadNgrams+" PREWHERE project_id = ? AND ", project.String())
	within.write(w, nil)
	w.put(" ORDER BY " + start + direction + " LIMIT 1 OFFSET " + strconv.Itoa(rows-1))
	return w.statement()
}

// hasAll is the condition on a row whose set has these numbers; true for none.
func hasAll(set string, numbers []uint32) node {
	if len(numbers) == 0 {
		return constant(true)
	}
	return sql("bitmapHasAll(" + set + ", bitmapBuild(" + uint32s(numbers[:min(len(numbers), maxNgrams)]) + "))")
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

// Within names the sections that hold the documents that a condition looks for.
type Within struct {
	// Sections are as Sections names them.
	Sections []uint64
}

// FewSections are read at once: what is in so few of them is in few of their spans.
const FewSections = 96

// Few tells that all of it is read at once rather than a window at a time.
func (w *Within) Few() bool { return len(w.Sections) <= FewSections }

// documents is the condition on a row of span_payloads_packed, spans that on a row of spans.
func (w *Within) documents() node { return w.node("stream_offset", 0) }
func (w *Within) spans() node     { return w.node("version", schema.VersionShift) }

// node is the condition on rows that have an offset, shifted, in a column.
func (w *Within) node(column string, shift int) node {
	if len(w.Sections) == 0 {
		return constant(false)
	}
	pairs := make([]byte, 0, 16*len(w.Sections))
	for i, number := range w.Sections {
		if i > 0 {
			pairs = append(pairs, ',')
		}
		pairs = strconv.AppendUint(append(pairs, '('), number>>schema.RecordShift, 10)
		pairs = append(strconv.AppendUint(append(pairs, ','), number&(1<<schema.RecordShift-1), 10), ')')
	}
	// The key and the index of versions look through a division, not through a shift.
	return sql("(stream_partition, intDiv(" + column + ", " + strconv.Itoa(schema.BlockOffsets<<shift) + ")) IN (" + string(pairs) + ")")
}
