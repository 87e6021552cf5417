package statements

import (
	"strconv"

	"colonnade/domain"
	"colonnade/domain/ngram"
	"colonnade/migrations/schema"
	"colonnade/read/filtersql"
	"colonnade/read/order"
	"colonnade/read/sqltext"
)

// maxNgrams bounds the n-grams of one phrase that a statement names: each is a number in its text.
const maxNgrams = 256

// OffsetBlocks asks for the offset blocks that may have the payloads of a condition with
// phrases. An offset block is the offsets of a partition from a multiple of
// schema.BlockOffsets on.
type OffsetBlocks struct {
	Project   domain.ProjectID
	Condition *filtersql.Condition
	// Range is where the spans start.
	Range order.Range
	// Limit is how many parts of blocks the row names; it is positive.
	Limit int
}

// Statement returns the read of the sets of n-grams. Its row is three arrays of equal
// length with an element for each part of a block that was found: the number of the
// block, UInt64 (schema.Record of an offset divided by schema.BlockOffsets), and the
// first and the last start of its spans, Int64 in Unix microseconds; then the number of
// all blocks, UInt64.
func (s OffsetBlocks) Statement() sqltext.Statement {
	w := new(sqltext.Writer)
	number := "bitOr(bitShiftLeft(toUInt64(stream_partition), " + strconv.Itoa(schema.RecordShift) + "), offset_block)"
	w.Put("WITH groupUniqArray(" + strconv.Itoa(s.Limit) + ")((" + number + ", toUnixTimestamp64Micro(min_start), toUnixTimestamp64Micro(max_start))) AS parts" +
		" SELECT arrayMap(p -> p.1, parts), arrayMap(p -> p.2, parts), arrayMap(p -> p.3, parts), (SELECT uniqExact(" + number + ")")
	s.rows(w)
	w.Put(")")
	s.rows(w, s.has()...)
	out := w.Statement()
	out.RowsPerThread = setsPerThread
	return out
}

// setsPerThread is how many rows of sets are worth a thread: the two sets of a row are
// up to 128 KiB.
const setsPerThread = 16

// rows appends the table of the sets and the conditions on its rows.
func (s OffsetBlocks) rows(w *sqltext.Writer, more ...sqltext.Node) {
	w.Put(" FROM "+schema.SpanPayloadNgrams+" PREWHERE project_id = ?", s.Project.String())
	times := []sqltext.Node{sqltext.TimeRange("max_start", s.Range.Low.Start, order.MaxMicros), sqltext.TimeRange("min_start", order.MinMicros, s.Range.High.Start)}
	for _, n := range append(times, more...) {
		if n != sqltext.Constant(true) {
			w.Put(" AND ")
			n.Write(w, nil)
		}
	}
}

// has returns the conditions on the sets of a row. ClickHouse reads the column of each
// condition for the rows that are left: digit n-grams are in the fewest sets.
func (s OffsetBlocks) has() []sqltext.Node {
	phrases := s.Condition.Phrases()
	digits, ngrams := make([]sqltext.Node, 0, 2*len(phrases)), make([]sqltext.Node, 0, len(phrases))
	for _, texts := range phrases {
		alternatives := make([]sqltext.Node, len(texts))
		for i, text := range texts {
			of, digit := hasAll("ngrams", ngram.Of(text)), hasAll("digit_ngrams", ngram.DigitNgramsOf(text))
			if len(texts) == 1 {
				digits = append(digits, digit)
			} else {
				of = sqltext.And(of, digit)
			}
			alternatives[i] = of
		}
		ngrams = append(ngrams, sqltext.Or(alternatives...))
	}
	return append(digits, ngrams...)
}

// NearOffsetBlocks returns the statement that asks how far the nearest rows of the sets of
// n-grams reach from the end of a range at which a list in this order begins. Rows that
// reach beyond that end are not counted, because they have spans there however short the
// range is. Its row is a start within the range, Int64 in Unix microseconds; there is
// none if there are fewer rows.
func NearOffsetBlocks(project domain.ProjectID, of order.Range, order domain.Order, rows int) sqltext.Statement {
	start, direction, within := "max_start", " DESC", sqltext.TimeRange("max_start", of.Low.Start, of.High.Start-1)
	if order == domain.Ascending {
		start, direction, within = "min_start", "", sqltext.TimeRange("min_start", of.Low.Start+1, of.High.Start)
	}
	w := new(sqltext.Writer)
	w.Put("SELECT toUnixTimestamp64Micro("+start+") FROM "+schema.SpanPayloadNgrams+" PREWHERE project_id = ? AND ", project.String())
	within.Write(w, nil)
	w.Put(" ORDER BY " + start + direction + " LIMIT 1 OFFSET " + strconv.Itoa(rows-1))
	return w.Statement()
}

// hasAll returns the condition that a set has these numbers; it is true for none.
func hasAll(set string, numbers []uint32) sqltext.Node {
	if len(numbers) == 0 {
		return sqltext.Constant(true)
	}
	return sqltext.Expr("bitmapHasAll(" + set + ", bitmapBuild(" + uint32s(numbers[:min(len(numbers), maxNgrams)]) + "))")
}

// uint32s returns an array of numbers of that type, however small they are.
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
