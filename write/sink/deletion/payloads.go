package deletion

import (
	"fmt"
	"strings"

	"colonnade/migrations/schema"
	"colonnade/write/sink/clickhouse"
	"colonnade/write/sink/plan"
	"colonnade/write/sink/rows"
)

// RowsAtOnce bounds the rows that one statement names.
const RowsAtOnce = 2000

// PayloadsOf returns the deletion of the payloads of versions of a partition, at most
// RowsAtOnce.
func PayloadsOf(partition string, versions []plan.Version) plan.Delete {
	keys := make([]rows.TraceKey, 0, len(versions))
	var offsets, literals strings.Builder
	for i, v := range versions {
		if i > 0 {
			offsets.WriteByte(',')
			literals.WriteByte(',')
		}
		keys = append(keys, rows.TraceKey{Project: v.Project})
		fmt.Fprintf(&offsets, "%d", v.Version>>schema.VersionShift)
		literals.WriteString(clickhouse.VersionLiteral(v.Version, v.Span))
	}
	return plan.Delete{Table: schema.SpanPayloads, Where: fmt.Sprintf("project_id IN %s AND stream_partition = %s AND stream_offset IN (%s) AND (version, span_id) IN (%s)",
		clickhouse.ProjectList(keys), partition, offsets.String(), literals.String())}
}

// PayloadsAt returns the deletion of the payloads of a trace that came in one record.
func PayloadsAt(partition string, key rows.TraceKey, offset uint64) plan.Delete {
	return plan.Delete{Table: schema.SpanPayloads, Where: fmt.Sprintf("project_id = toUUID('%s') AND stream_partition = %s AND stream_offset = %d AND trace_id = unhex('%s')",
		key.Project, partition, offset, key.Trace)}
}
