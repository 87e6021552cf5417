package sink

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/write/sink/internal/native"
)

// Settling a trace that went quiet: its totals are computed anew from spans
// (each span once, its latest version), its spans get one type, and what newer
// versions left behind is removed. Doing it twice changes nothing. A late span
// opens the trace again.

const (
	// settleTimeout bounds one group; settlePause is how long a failed one waits.
	settleTimeout = 30 * time.Second
	settlePause   = 15 * time.Second
	// settleGroups is how many groups are settled between two batches.
	settleGroups = 4
	// settleSpread is the range of starts that one statement covers: traces of
	// one moment share the granules they are read from.
	settleSpread = 10 * time.Minute
)

// settleDue settles traces that have been quiet long enough.
func (w *worker) settleDue(ctx context.Context) error {
	cfg := &w.sink.cfg
	now := w.clock()
	if now.Before(w.settleFrom) {
		return nil
	}
	w.settleFrom = now.Add(cfg.SettleEvery)
	settled := 0
	for range settleGroups {
		due := w.memory.due(now.Add(-cfg.SettleAfter), w.settleSize())
		if len(due) == 0 {
			break
		}
		if err := w.settleGroup(ctx, due); err != nil {
			return err
		}
		settled += len(due)
	}
	lag := now.Sub(w.memory.settledUntil(now)) - cfg.SettleAfter
	w.metrics.settleLag.WithLabelValues(w.label).Set(max(lag, 0).Seconds())
	w.metrics.open.WithLabelValues(w.label).Set(float64(w.memory.open.Len()))
	if settled > 0 && w.memory.open.Len() == 0 {
		// Nothing may follow for long: say now that all is settled.
		return w.writeProgress(ctx, w.partition.Next())
	}
	return nil
}

func (w *worker) settleSize() int { return max(w.sink.cfg.SettleTraces>>w.settleShrink, 1) }

// settleGroup settles traces or, when that fails, leaves them open for later in
// smaller groups: a trace that the store cannot compute must not hold up the
// stream. One that fails alone is left as it is.
func (w *worker) settleGroup(ctx context.Context, due []*known) error {
	keys := make([]traceKey, len(due))
	for i, k := range due {
		keys[i] = k.key
	}
	start := w.sink.deps.Now()
	bounded, cancel := context.WithTimeout(ctx, settleTimeout)
	err := w.settle(bounded, keys, w.partition.Next())
	cancel()
	w.metrics.settleSeconds.Observe(w.sink.deps.Now().Sub(start).Seconds())
	switch {
	case err == nil:
		w.settleShrink = max(w.settleShrink-1, 0)
	case ctx.Err() != nil:
		return ctx.Err()
	case len(keys) > 1:
		w.settleShrink = min(w.settleShrink+2, bits.Len(uint(w.sink.cfg.SettleTraces)))
		w.settleFrom = w.clock().Add(settlePause)
		w.log.LogAttrs(ctx, slog.LevelWarn, "traces could not be settled, trying again in smaller groups", slog.Int("traces", len(keys)), slog.Any("error", err))
		return nil
	default:
		w.log.LogAttrs(ctx, slog.LevelError, "trace could not be settled, its totals are missing or old",
			slog.String("trace_id", keys[0].trace.String()), slog.String("project_id", keys[0].project.String()), slog.Any("error", err))
	}
	for _, k := range due {
		w.memory.settled(k)
	}
	w.metrics.settled.Add(float64(len(due)))
	return nil
}

// settle settles these traces. All of the stream below next is stored.
func (w *worker) settle(ctx context.Context, keys []traceKey, next int64) error {
	index, err := w.lookUp(ctx, keys)
	if err != nil {
		return err
	}
	present := slices.DeleteFunc(slices.Clone(keys), func(k traceKey) bool { _, ok := index[k]; return !ok })
	slices.SortFunc(present, func(a, b traceKey) int { return cmp.Compare(index[a].minStart, index[b].minStart) })
	for len(present) > 0 {
		n, where := 0, noBounds()
		for n < len(present) {
			x := index[present[n]]
			wider := where
			wider.add(x.minStart, x.maxStart, x.minWeek, x.maxWeek)
			if n > 0 && wider.maxStart-wider.minStart > settleSpread.Microseconds() {
				break
			}
			where = wider
			n++
		}
		if err := w.settleTogether(ctx, present[:n], where, index, next); err != nil {
			return err
		}
		present = present[n:]
	}
	return nil
}

func (w *worker) settleTogether(ctx context.Context, keys []traceKey, where bounds, index map[traceKey]indexed, next int64) error {
	found, err := w.totals(ctx, keys, where)
	if err != nil {
		return err
	}
	for i := range found {
		t := &found[i]
		t.resolved = typeOf(t.declared, t.linked)
		x := index[t.key]
		if t.types != 1<<t.resolved {
			if err := w.move(ctx, t, x.bounds); err != nil {
				return err
			}
		}
		if t.stale {
			if err := w.cleanUp(ctx, t, x.bounds); err != nil {
				return err
			}
		}
		if x.declared != t.declared || x.linked != t.linked {
			if err := w.mendIndex(ctx, t, next); err != nil {
				return err
			}
		}
		if k := w.memory.trace(t.key); k != nil {
			k.declared, k.linked = t.declared, t.linked
			for i := range k.list {
				k.list[i].traceType = t.resolved
			}
		}
	}
	if err := w.cleanUpAnnotations(ctx, found, index, where); err != nil {
		return err
	}
	if err := w.promote(ctx, found, index, where); err != nil {
		return err
	}
	return w.store.insert(ctx, schema.TraceRollup, rollupColumns(found, w.clock()), "")
}

// total is a trace as its spans make it.
type total struct {
	key                         traceKey
	declared, resolved          trace.Type
	linked, stale, failed       bool
	oneTree                     bool
	types                       uint8 // a bit for each type that a row has
	spans                       uint32
	minStart, maxStart, maxEnd  int64
	minWeek, maxWeek            uint16
	root                        trace.SpanID
	rootName                    string
	errors, tokens, costs       float64
	tokensPrompt, tokensAnswers float64
	costsPrompt, costsAnswers   float64
	created                     int64
	version                     uint64
}

// totals computes traces from their spans, each span by its latest version.
// Sums leave absent values out; a sum of none is absent.
func (w *worker) totals(ctx context.Context, keys []traceKey, where bounds) ([]total, error) {
	sum := func(column string) string {
		return fmt.Sprintf("if(countIf(NOT isNaN(s.%[1]s)) = 0, nan, sumIf(s.%[1]s, NOT isNaN(s.%[1]s)))", column)
	}
	statement := fmt.Sprintf(`SELECT project_id, trace_id, max(s.declared), max(s.links) > 0, max(keys) > 1, max(s.status = 2), groupBitOr(types), toUInt32(count()),
  toUnixTimestamp64Micro(min(s.start)), toUnixTimestamp64Micro(max(s.start)), toUnixTimestamp64Micro(max(s.end)), toUInt16(min(s.week)), toUInt16(max(s.week)),
  argMinIf(span_id, s.start, s.parent = toFixedString('', 8)), argMinIf(s.name, s.start, s.parent = toFixedString('', 8)),
  %s, %s, %s, %s, %s, %s, %s, toUnixTimestamp64Micro(min(s.created)), max(v), arrayStringConcat(groupArray(concat(span_id, s.parent)))
FROM (
  SELECT project_id, trace_id, span_id, max(version) AS v, uniqExact(trace_type, start_time) AS keys, groupBitOr(toUInt8(bitShiftLeft(1, toInt8(trace_type)))) AS types,
    argMax(CAST((toInt8(trace_type_declared), link_count, toInt8(status_code), start_time, end_time, week, parent_id, span_name, errors, tokens_prompt, tokens_completion, tokens_total, costs_prompt, costs_completion, costs_total, created_at),
      'Tuple(declared Int8, links UInt16, status Int8, start DateTime64(6, \'UTC\'), end DateTime64(6, \'UTC\'), week Date, parent FixedString(8), name String, errors Float64, tokens_prompt Float64, tokens_completion Float64, tokens_total Float64, costs_prompt Float64, costs_completion Float64, costs_total Float64, created DateTime64(6, \'UTC\'))'), version) AS s
  FROM %s WHERE project_id IN %s AND trace_type IN ('invocation', 'annotation', 'unknown') AND %s AND (project_id, trace_id) IN %s
  GROUP BY project_id, trace_id, span_id
) GROUP BY project_id, trace_id`,
		sum("errors"), sum("tokens_prompt"), sum("tokens_completion"), sum("tokens_total"), sum("costs_prompt"), sum("costs_completion"), sum("costs_total"),
		w.store.cfg.Deployment.Table(schema.Spans), projectList(keys), where.sql(), traceList(keys))
	var found []total
	err := w.store.query(ctx, "total traces", statement, func() { found = found[:0] }, func(rows driver.Rows) error {
		var t total
		var project uuid.UUID
		var raw, root, tree string
		var declared int8
		var linked, stale, failed uint8
		if err := rows.Scan(&project, &raw, &declared, &linked, &stale, &failed, &t.types, &t.spans, &t.minStart, &t.maxStart, &t.maxEnd, &t.minWeek, &t.maxWeek,
			&root, &t.rootName, &t.errors, &t.tokensPrompt, &t.tokensAnswers, &t.tokens, &t.costsPrompt, &t.costsAnswers, &t.costs, &t.created, &t.version, &tree); err != nil {
			return err
		}
		t.key = traceKey{domain.ProjectID(project), traceID(raw)}
		t.declared = trace.Type(declared) //nolint:gosec // an enum is small and positive
		t.linked, t.stale, t.failed = linked != 0, stale != 0, failed != 0
		copy(t.root[:], root)
		t.oneTree = oneTree(tree)
		found = append(found, t)
		return nil
	})
	return found, err
}

// move gives all rows of a trace its type: copies under the new key first, the
// payloads before what makes them visible, then the old rows go.
func (w *worker) move(ctx context.Context, t *total, where bounds) error {
	of := fmt.Sprintf("project_id = toUUID('%s') AND trace_id = unhex('%s') AND %s", t.key.project, t.key.trace, where.sql())
	for _, table := range [...]string{schema.SpanPayloads, schema.Spans} {
		name := w.store.cfg.Deployment.Table(table)
		statement := fmt.Sprintf("INSERT INTO %s SELECT * REPLACE ('%s' AS trace_type) FROM %s AS t WHERE t.trace_type != '%s' AND %s SETTINGS insert_deduplicate = 0, async_insert = 0",
			name, t.resolved, name, t.resolved, of)
		if err := w.store.exec(ctx, "move spans to their type", statement); err != nil {
			return err
		}
	}
	for _, table := range [...]string{schema.Spans, schema.SpanPayloads} {
		if err := w.delete(ctx, table, of+" AND trace_type != '"+t.resolved.String()+"'"); err != nil {
			return err
		}
	}
	if err := w.moveAnnotations(ctx, t); err != nil {
		return err
	}
	w.metrics.moved.Inc()
	return nil
}

// cleanUp removes rows that a newer version of their span stands for under another key.
func (w *worker) cleanUp(ctx context.Context, t *total, where bounds) error {
	type row struct {
		staleRow
		version uint64
	}
	var all []row
	latest := map[trace.SpanID]row{}
	statement := fmt.Sprintf("SELECT span_id, toInt8(trace_type), toUnixTimestamp64Micro(start_time), version FROM %s WHERE project_id = toUUID('%s') AND trace_id = unhex('%s') AND %s",
		w.store.cfg.Deployment.Table(schema.Spans), t.key.project, t.key.trace, where.sql())
	err := w.store.query(ctx, "find stale rows", statement, func() { all = all[:0]; clear(latest) }, func(rows driver.Rows) error {
		var r row
		var id string
		var traceType int8
		if err := rows.Scan(&id, &traceType, &r.start, &r.version); err != nil {
			return err
		}
		copy(r.id[:], id)
		r.traceType = trace.Type(traceType) //nolint:gosec // an enum is small and positive
		all = append(all, r)
		if l, ok := latest[r.id]; !ok || r.version > l.version {
			latest[r.id] = r
		}
		return nil
	})
	if err != nil {
		return err
	}
	g := &group{key: t.key}
	for _, r := range all {
		if l := latest[r.id]; r.version < l.version && r.staleRow != l.staleRow {
			g.stale = append(g.stale, r.staleRow)
		}
	}
	if len(g.stale) == 0 {
		return nil // the rows that a move left had it covered
	}
	var gone removals
	gone.stale(g, math.MaxUint64)
	w.metrics.stale.Inc()
	return w.remove(ctx, &gone)
}

// mendIndex corrects what trace_index says of a trace where its flags no longer
// hold: its aggregates only ever grow. A row is added and none taken away, so
// that a lookup finds the trace at every moment.
func (w *worker) mendIndex(ctx context.Context, t *total, next int64) error {
	block := indexRows([]indexRow{{
		key: t.key, declared: t.declared, linked: t.linked, settled: settledFlags(next, t.declared, t.linked),
		summary: summary{
			minStart: t.minStart, maxStart: t.maxStart, maxEnd: t.maxEnd, minWeek: t.minWeek, maxWeek: t.maxWeek,
			failed: t.failed, root: t.root, created: t.created, version: t.version, first: t.version,
		},
	}}, w.partition.Number(), w.clock())
	return w.store.insert(ctx, schema.TraceIndex, block, "")
}

// rollupColumns are the rows of the table trace_rollup.
func rollupColumns(found []total, settledAt time.Time) *native.Block {
	c := &columns{}
	project := c.fixed("project_id", typeUUID, 16)
	id := c.fixed("trace_id", typeTrace, 16)
	traceType := c.fixed("trace_type", typeEnum, 1)
	start := c.fixed("start_time", typeTime, 8)
	end := c.fixed("end_time", typeTime, 8)
	root := c.fixed("root_span_id", typeSpan, 8)
	name := c.text("root_name")
	spans := c.fixed("spans", "UInt32", 4)
	numbers := [7]*native.Fixed{}
	for i, column := range [...]string{"errors", "tokens_prompt", "tokens_completion", "tokens_total", "costs_prompt", "costs_completion", "costs_total"} {
		numbers[i] = c.fixed(column, "Float64", 8)
	}
	oneTree := c.fixed("one_tree", "UInt8", 1)
	version := c.fixed("version", "UInt64", 8)
	settled := c.fixed("settled_at", typeTime, 8)
	for i := range found {
		t := &found[i]
		project.UUID(t.key.project)
		id.Bytes(t.key.trace[:])
		traceType.Uint8(uint8(t.resolved))
		start.Int64(t.minStart)
		end.Int64(t.maxEnd)
		root.Bytes(t.root[:])
		name.Append(t.rootName)
		spans.Uint32(t.spans)
		for k, value := range [...]float64{t.errors, t.tokensPrompt, t.tokensAnswers, t.tokens, t.costsPrompt, t.costsAnswers, t.costs} {
			numbers[k].Float64(value)
		}
		oneTree.Bool(t.oneTree)
		version.Uint64(t.version)
		settled.Int64(micros(settledAt))
	}
	return &c.Block
}
