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

// Having returns the statement that asks which traces have a row in the scan that is
// visible at the snapshot. Its rows are trace_id.
func (s Scan) Having(then Snapshot) sqltext.Statement {
	w := new(sqltext.Writer)
	w.Put("SELECT DISTINCT trace_id FROM " + schema.Spans + " WHERE ")
	s.where(w, s.Condition.Types, then.condition())
	return w.Statement()
}

// Firsts returns the statement that asks for the positions of traces in a list of that
// snapshot: the position of a trace is that of its first visible row, in the scan's
// order. Without a visible row it is the first of the rows that arrived first. Its rows
// are trace_id, and start_time and sort_hash of that row as two numbers that grow along
// the list (see FirstAt).
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

// FirstAt returns the position of the two numbers of a row of Firsts.
func (s Scan) FirstAt(start int64, tie uint64) order.Position {
	if s.Order == domain.Ascending {
		return order.Position{Start: start, SortHash: tie}
	}
	return order.Position{Start: -start, SortHash: ^tie}
}

// Snapshot is the set of rows that are visible at a time: in each partition of the stream
// the rows of versions below a bound. All rows of a partition without a bound are
// visible; nil has all rows.
type Snapshot map[uint32]uint64

// Visible reports whether a row is visible at the snapshot.
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

// SinkHistory returns the statement that asks for the progress of the sink at a time in Unix
// milliseconds, or lag ago for 0. Its rows are stream_partition, the next offset at that
// time, UInt64, and the time, Int64. For a partition without progress at that time the
// offset is the first one since.
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
