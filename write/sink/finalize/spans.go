package finalize

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/domain/trace/spanmetrics"
	"colonnade/migrations/schema"
	"colonnade/write/sink/clickhouse"
	"colonnade/write/sink/recent"
	"colonnade/write/sink/rows"
)

// remembered makes the totals of the traces of which memory has all that was
// ever written, and gives the others. Memory alone cannot tell: a trace may have
// been stored and forgotten. The lowest version that was written of it can.
func (s Source) cached(ctx context.Context, keys []rows.TraceKey) (found []total, rest []rows.TraceKey, err error) {
	candidates := make([]rows.TraceKey, 0, len(keys))
	for _, key := range keys {
		if k := s.Cache.Trace(key); k != nil && k.Whole && len(k.Metrics) > 0 {
			candidates = append(candidates, key)
		} else {
			rest = append(rest, key)
		}
	}
	defer func() {
		s.Metrics.source.WithLabelValues("memory").Add(float64(len(found)))
		s.Metrics.source.WithLabelValues("clickhouse").Add(float64(len(rest)))
	}()
	if len(candidates) == 0 {
		return nil, rest, nil
	}
	first, err := s.firstVersions(ctx, candidates)
	if err != nil {
		return nil, nil, err
	}
	for _, key := range candidates {
		k := s.Cache.Trace(key)
		if first[key] != k.FirstVersion {
			rest = append(rest, key)
			continue
		}
		t := total{key: key, first: true}
		for i := range k.Metrics {
			t.types |= 1 << k.Metrics[i].TraceType
		}
		t.add(slices.Clone(k.Metrics))
		found = append(found, t)
	}
	return found, rest, nil
}

// firstVersions reads the lowest version that was ever written of each trace.
func (s Source) firstVersions(ctx context.Context, keys []rows.TraceKey) (map[rows.TraceKey]uint64, error) {
	first := make(map[rows.TraceKey]uint64, len(keys))
	statement := fmt.Sprintf("SELECT project_id, trace_id, first_version FROM %s WHERE project_id IN %s AND (project_id, trace_id) IN %s",
		s.DB.Table(schema.TraceIndex), clickhouse.ProjectList(keys), clickhouse.TraceList(keys))
	err := s.DB.ReadRowBinary(ctx, "look up first versions", statement, 16+16+8, func() { clear(first) }, func(row []byte) {
		var key rows.TraceKey
		key.Project = domain.ProjectID(clickhouse.ReadUUID(row))
		copy(key.Trace[:], row[16:])
		version := binary.LittleEndian.Uint64(row[32:])
		if old, ok := first[key]; ok {
			version = min(version, old)
		}
		first[key] = version
	})
	return first, err
}

// spanBytes is the length in bytes of a span in the answer of the statement below.
const spanBytes = 8 + 8 + 8 + 2 + 8 + 2 + 8 + 8 + 8 + 5 + 2*8 + 8*spanmetrics.Count

// stored reads the latest versions of the spans of traces and returns their totals.
func (s Source) stored(ctx context.Context, keys []rows.TraceKey, index map[rows.TraceKey]clickhouse.IndexedTrace) (found []total, err error) {
	for which := range clickhouse.AnyOf(clickhouse.Conditions(keys, clickhouse.BoundsIn(index))) {
		some, err := s.storedWhere(ctx, which)
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	return found, nil
}

func (s Source) storedWhere(ctx context.Context, which string) (found []total, err error) {
	statement := fmt.Sprintf(`SELECT project_id, trace_id, max(keys) > 1, groupBitOr(types), arrayMap(x -> x.1, groupArray((s.name, concat(span_id, s.parent, reinterpretAsFixedString(toUnixTimestamp64Micro(s.start)), reinterpretAsFixedString(s.start_ns), reinterpretAsFixedString(toUnixTimestamp64Micro(s.end)), reinterpretAsFixedString(toUInt16(s.partition_week)),
    reinterpretAsFixedString(toUnixTimestamp64Micro(s.created)), reinterpretAsFixedString(s.sort_hash), reinterpretAsFixedString(v), char(s.type, s.declared, s.links > 0, s.span_type, roots),
    reinterpretAsFixedString(s.response), reinterpretAsFixedString(s.failure),
    reinterpretAsFixedString(s.errors), reinterpretAsFixedString(s.tokens_prompt), reinterpretAsFixedString(s.tokens_completion), reinterpretAsFixedString(s.tokens_total), reinterpretAsFixedString(s.costs_prompt), reinterpretAsFixedString(s.costs_completion), reinterpretAsFixedString(s.costs_total)))) AS packed), arrayStringConcat(arrayMap(x -> x.2, packed))
FROM (
  SELECT project_id, trace_id, span_id, max(version) AS v, uniqExact(trace_type, start_time) AS keys, groupBitOr(toUInt8(bitShiftLeft(1, toInt8(trace_type)))) AS types,
    argMax(toUInt8(is_root), (version, is_root)) + 2 * argMax(toUInt8(NOT is_root), (version, NOT is_root)) AS roots,
    argMax(CAST((toInt8(trace_type), toInt8(trace_type_declared), link_count, start_time, start_ns, end_time, partition_week, sort_hash, parent_id, span_name, toInt8(span_type), response_hash, failure_hash, errors, tokens_prompt, tokens_completion, tokens_total, costs_prompt, costs_completion, costs_total, created_at),
      'Tuple(type Int8, declared Int8, links UInt16, start DateTime64(6, \'UTC\'), start_ns UInt16, end DateTime64(6, \'UTC\'), partition_week Date, sort_hash UInt64, parent FixedString(8), name String, span_type Int8, response UInt64, failure UInt64, errors Float64, tokens_prompt Float64, tokens_completion Float64, tokens_total Float64, costs_prompt Float64, costs_completion Float64, costs_total Float64, created DateTime64(6, \'UTC\'))'), version) AS s
  FROM %s WHERE trace_type IN ('invocation', 'annotation', 'unknown') AND (%s)
  GROUP BY project_id, trace_id, span_id
) GROUP BY project_id, trace_id`,
		s.DB.Table(schema.Spans), which)
	err = s.DB.Query(ctx, "read spans to finalize", statement, func() { found = found[:0] }, func(result driver.Rows) error {
		var t total
		var project uuid.UUID
		var id, packed string
		var names []string
		var stale uint8
		if err := result.Scan(&project, &id, &stale, &t.types, &names, &packed); err != nil {
			return err
		}
		spans, err := readSpans(packed)
		if err != nil {
			return err
		}
		for i := range spans {
			spans[i].Name = names[i]
		}
		t.key, t.stale = rows.TraceKey{Project: domain.ProjectID(project), Trace: clickhouse.TraceID(id)}, stale != 0
		t.add(spans)
		found = append(found, t)
		return nil
	})
	return found, err
}

// readSpans parses the spans of a trace from the answer of storedWhere.
func readSpans(packed string) ([]recent.SpanMetrics, error) {
	if len(packed) == 0 || len(packed)%spanBytes != 0 {
		return nil, &clickhouse.DefectError{Reason: fmt.Sprintf("spans to finalize in %d bytes", len(packed))}
	}
	out := make([]recent.SpanMetrics, len(packed)/spanBytes)
	for i := range out {
		row := []byte(packed[i*spanBytes : (i+1)*spanBytes])
		take := func(n int) []byte {
			v := row[:n]
			row = row[n:]
			return v
		}
		number := func() uint64 { return binary.LittleEndian.Uint64(take(8)) }
		short := func() uint16 { return binary.LittleEndian.Uint16(take(2)) }
		f := &out[i]
		copy(f.ID[:], take(8))
		copy(f.Parent[:], take(8))
		f.Start, f.StartNS = int64(number()), short()     //nolint:gosec // the bits are the value
		f.End, f.PartitionWeek = int64(number()), short() //nolint:gosec // the bits are the value
		f.Created = int64(number())                       //nolint:gosec // the bits are the value
		f.SortHash, f.Version = number(), number()
		flags := take(5)
		f.TraceType, f.Declared, f.Linked = trace.Type(flags[0]), trace.Type(flags[1]), flags[2] != 0
		f.Root, f.NotRoot = flags[4]&1 != 0, flags[4]&2 != 0
		f.Traits = spanmetrics.Traits{Type: trace.SpanType(flags[3]), Response: number(), Failure: spanmetrics.Failure(number())}
		for k := range f.Own {
			f.Own[k] = math.Float64frombits(number())
		}
	}
	return out, nil
}
