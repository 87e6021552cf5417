package statements

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"colonnade/domain"
	"colonnade/migrations/schema"
	"colonnade/read/order"
	"colonnade/read/sqltext"
)

// Having is the statement that asks which traces have a row in the scan that readers saw
// at a moment. Its rows are trace_id.
func (s Scan) Having(then Snapshot) sqltext.Statement {
	w := new(sqltext.Writer)
	w.Put("SELECT DISTINCT trace_id FROM " + schema.Spans + " WHERE ")
	s.where(w, s.Condition.Types, then.condition())
	return w.Statement()
}

// Firsts is the statement that asks where traces stand in a list of that moment: at the
// first row that was seen then, in the scan's order, and a trace of which none was, at
// the first of those that came first. Its rows are trace_id, and start_time and tie of
// that row as two numbers that grow along the list (see FirstAt).
func (s Scan) Firsts(then Snapshot) sqltext.Statement {
	place := "(-toUnixTimestamp64Micro(start_time), bitNot(sort_hash))"
	if s.Order == domain.Ascending {
		place = "(toUnixTimestamp64Micro(start_time), sort_hash)"
	}
	w := new(sqltext.Writer)
	w.Put("SELECT trace_id, at.1, at.2 FROM (SELECT trace_id, if(countIf(seen) > 0, minIf(place, seen), min((bitShiftRight(version, " + strconv.Itoa(schema.VersionShift) + "), place)).2) AS at FROM (SELECT trace_id, version, " + place + " AS place, ")
	then.condition().Write(w, nil)
	w.Put(" AS seen FROM " + schema.Spans + " WHERE ")
	s.where(w, s.Condition.Types, sqltext.Constant(true))
	w.Put(") GROUP BY trace_id)")
	return w.Statement()
}

// FirstAt is the position that the two numbers of a row of Firsts are.
func (s Scan) FirstAt(start int64, tie uint64) order.Position {
	if s.Order == domain.Ascending {
		return order.Position{Start: start, SortHash: tie}
	}
	return order.Position{Start: -start, SortHash: ^tie}
}

// Seen tells what readers saw at a moment: of each partition of the stream the rows of
// versions below a bound. Of a partition that is not among them they saw all; nil is all.
type Snapshot map[uint32]uint64

// Has tells whether a row was seen.
func (s Snapshot) Visible(partition uint32, version uint64) bool {
	below, known := s[partition]
	return !known || version < below
}

func (s Snapshot) condition() sqltext.Node {
	if len(s) == 0 {
		return sqltext.Constant(true)
	}
	partitions := slices.Sorted(maps.Keys(s))
	below := make([]uint64, len(partitions))
	for i, p := range partitions {
		below[i] = s[p]
	}
	return sqltext.Expr("version < transform(stream_partition, CAST(?, 'Array(UInt32)'), CAST(?, 'Array(UInt64)'), toUInt64(18446744073709551615))", partitions, below)
}

// History asks how far the sink was at a moment, Unix milliseconds, or lag ago for 0. Its
// rows are stream_partition, the next offset of then, UInt64, and the moment, Int64. Of a
// partition of which nothing is known from then it is the first that is known since.
func SinkHistory(topic string, moment int64, lag time.Duration) sqltext.Statement {
	w := new(sqltext.Writer)
	w.Put("WITH ")
	if moment == 0 {
		w.Put("now64(3, 'UTC') - toIntervalMillisecond(" + strconv.FormatInt(lag.Milliseconds(), 10) + ")")
	} else {
		w.Put("fromUnixTimestamp64Milli(" + strconv.FormatInt(moment, 10) + ", 'UTC')")
	}
	w.Put(" AS moment SELECT stream_partition, if(countIf(at <= moment) > 0, argMaxIf(next_offset, at, at <= moment), min(next_offset)), toUnixTimestamp64Milli(moment)"+
		" FROM "+schema.SinkHistory+" WHERE topic = ? GROUP BY stream_partition", topic)
	return w.Statement()
}
