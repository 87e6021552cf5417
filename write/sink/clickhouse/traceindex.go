package clickhouse

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/write/sink/rows"
)

// IndexedTrace is what trace_index has of a trace.
type IndexedTrace struct {
	Bounds
	Declared                  trace.Type
	Linked, HasEvaluator      bool
	LastVersion, FirstVersion uint64
	CreatedAt                 int64 // microseconds
}

// BoundsIn returns the bounds of traces as an index has them.
func BoundsIn(index map[rows.TraceKey]IndexedTrace) func(rows.TraceKey) Bounds {
	return func(key rows.TraceKey) Bounds { return index[key].Bounds }
}

// FinalizedFlags returns the column finalized_flags of a trace that is finalized with all
// its rows of offsets below next. Source: migrations/clickhouse/0001_schema.sql.
func FinalizedFlags(next int64, declared trace.Type, linked bool) uint64 {
	flags := uint64(next)<<4 | 8 | uint64(declared)<<1 //nolint:gosec // neither is negative
	if linked {
		flags |= 1
	}
	return flags
}

// takeFlags replaces the flags by those of the finalization, unless the trace was
// written to since.
func (x *IndexedTrace) takeFlags(finalized uint64) {
	if finalized&8 != 0 && finalized>>4 > x.LastVersion>>schema.VersionShift {
		x.Declared, x.Linked = trace.Type(finalized>>1&3), finalized&1 != 0
	}
}

// LookUpTraces reads trace_index; traces that it does not hold are missing from the answer.
func (s *DB) LookUpTraces(ctx context.Context, keys []rows.TraceKey) (map[rows.TraceKey]IndexedTrace, error) {
	found := make(map[rows.TraceKey]IndexedTrace, len(keys))
	statement := fmt.Sprintf(`SELECT project_id, trace_id, toUnixTimestamp64Micro(min(min_start)), toUnixTimestamp64Micro(max(max_start)), toUInt16(min(min_partition_week)), toUInt16(max(max_partition_week)), max(declared_type), max(is_annotation), max(has_evaluator), max(last_version), min(first_version), max(finalized_flags), toUnixTimestamp64Micro(min(created_at))
FROM %s WHERE project_id IN %s AND (project_id, trace_id) IN %s GROUP BY project_id, trace_id`,
		s.Table(schema.TraceIndex), ProjectList(keys), TraceList(keys))
	err := s.Query(ctx, "look up traces", statement, func() { clear(found) }, func(result driver.Rows) error {
		var project uuid.UUID
		var id string
		var x IndexedTrace
		var declared, annotation, evaluator uint8
		var finalized uint64
		if err := result.Scan(&project, &id, &x.MinStart, &x.MaxStart, &x.MinPartitionWeek, &x.MaxPartitionWeek, &declared, &annotation, &evaluator, &x.LastVersion, &x.FirstVersion, &finalized, &x.CreatedAt); err != nil {
			return err
		}
		x.Declared, x.Linked, x.HasEvaluator = trace.Type(declared), annotation != 0, evaluator != 0
		x.takeFlags(finalized)
		found[rows.TraceKey{Project: domain.ProjectID(project), Trace: TraceID(id)}] = x
		return nil
	})
	return found, err
}
