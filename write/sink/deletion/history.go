package deletion

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/write/sink/clickhouse"
	"colonnade/write/sink/internal/native"
	"colonnade/write/sink/rows"
)

// History is what was done to a trace before a redriven record comes back, by the time of
// its receipt in microseconds. Stored spans have the receipt of their last version,
// tombstones that of the removal of what is gone.
type History struct {
	// spans are the last versions of spans, and the removals that named them.
	spans map[trace.SpanID]int64
	// whole is the last edit or delete of all spans, newest the last change of any kind.
	whole, newest int64
}

// Note adds what was done to a span; on nil it does nothing.
func (p *History) Note(id trace.SpanID, at int64) {
	if p == nil {
		return
	}
	p.spans[id] = max(p.spans[id], at)
	p.newest = max(p.newest, at)
}

// noteWhole adds what was done to all spans; on nil it does nothing.
func (p *History) noteWhole(at int64) {
	if p == nil {
		return
	}
	p.whole, p.newest = max(p.whole, at), max(p.newest, at)
}

// Changed reports whether anything was done to the trace after a time.
func (p *History) Changed(at int64) bool { return p.newest > at }

// Supersedes reports whether a span that was received at a time is no longer to be stored.
func (p *History) Supersedes(id trace.SpanID, at int64) bool { return max(p.spans[id], p.whole) > at }

// ReadHistory reads what was done to traces from rows of offsets below first, as a replay
// of the batch would.
func (s Source) ReadHistory(ctx context.Context, first int64, traces []*Trace, index map[rows.TraceKey]clickhouse.IndexedTrace) error {
	byKey := make(map[rows.TraceKey]*History, len(traces))
	keys := make([]rows.TraceKey, len(traces))
	var stored []rows.TraceKey
	for i, t := range traces {
		t.Past = &History{spans: map[trace.SpanID]int64{}}
		byKey[t.Key], keys[i] = t.Past, t.Key
		if _, ok := index[t.Key]; ok {
			stored = append(stored, t.Key)
		}
	}
	d := s.DB
	statements := []string{fmt.Sprintf("SELECT project_id, trace_id, span_id, toUnixTimestamp64Micro(max(received_at)) FROM %s WHERE project_id IN %s AND (project_id, trace_id) IN %s AND NOT (stream_partition = %s AND stream_offset >= %d) GROUP BY project_id, trace_id, span_id",
		d.Table(schema.Tombstones), clickhouse.ProjectList(keys), clickhouse.TraceList(keys), s.Partition, max(first, 0))}
	for which := range clickhouse.AnyOf(clickhouse.Conditions(stored, clickhouse.BoundsIn(index))) {
		statements = append(statements, fmt.Sprintf("SELECT project_id, trace_id, span_id, toUnixTimestamp64Micro(max(greatest(created_at, updated_at))) FROM %s WHERE (%s) AND NOT (stream_partition = %s AND version >= %d) GROUP BY project_id, trace_id, span_id",
			d.Table(schema.Spans), which, s.Partition, clickhouse.VersionOf(first)))
	}
	for _, statement := range statements {
		err := s.DB.Within(ctx, s.Timeout, func(ctx context.Context) error {
			return s.DB.Query(ctx, "read write history", statement, func() {}, func(result driver.Rows) error { return scanHistory(result, byKey) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// scanHistory notes a row; a repeated one changes nothing.
func scanHistory(result driver.Rows, byKey map[rows.TraceKey]*History) error {
	var project uuid.UUID
	var rawTrace, rawSpan string
	var at int64
	if err := result.Scan(&project, &rawTrace, &rawSpan, &at); err != nil {
		return err
	}
	var id trace.SpanID
	copy(id[:], rawSpan)
	p := byKey[rows.TraceKey{Project: domain.ProjectID(project), Trace: clickhouse.TraceID(rawTrace)}]
	if id.IsZero() {
		p.noteWhole(at)
	} else {
		p.Note(id, at)
	}
	return nil
}

// Tombstone records that a span, or with a zero id all of a trace, was removed.
type Tombstone struct {
	span       trace.SpanID
	receivedAt time.Time
	offset     int64
}

// AddTombstones records when the removal of spans, nil meaning all, was received.
func (t *Trace) AddTombstones(receivedAt time.Time, offset int64, only map[trace.SpanID]bool) {
	if only == nil {
		t.Tombstones = append(t.Tombstones, Tombstone{receivedAt: receivedAt, offset: offset})
		t.Past.noteWhole(rows.Micros(receivedAt))
		return
	}
	for _, id := range slices.SortedFunc(maps.Keys(only), func(x, y trace.SpanID) int { return bytes.Compare(x[:], y[:]) }) {
		t.Tombstones = append(t.Tombstones, Tombstone{id, receivedAt, offset})
		t.Past.Note(id, rows.Micros(receivedAt))
	}
}

// TombstoneRows returns the rows of the tombstones of traces.
func TombstoneRows(traces []*Trace, number int32) *native.Block {
	c := &rows.Columns{}
	project, id, span := c.Fixed("project_id", rows.TypeUUID, 16), c.Fixed("trace_id", rows.TypeTraceID, 16), c.Fixed("span_id", rows.TypeSpanID, 8)
	at, partition, offset := c.Fixed("received_at", rows.TypeTime, 8), c.Fixed("stream_partition", "UInt32", 4), c.Fixed("stream_offset", "UInt64", 8)
	for _, t := range traces {
		for i := range t.Tombstones {
			x := &t.Tombstones[i]
			project.UUID(t.Key.Project)
			id.Bytes(t.Key.Trace[:])
			span.Bytes(x.span[:])
			at.Int64(rows.Micros(x.receivedAt))
			partition.Uint32(uint32(number)) //nolint:gosec // a partition's number is never negative
			offset.Uint64(uint64(x.offset))  //nolint:gosec // an offset is never negative
		}
	}
	return &c.Block
}
