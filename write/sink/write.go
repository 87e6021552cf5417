package sink

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/cespare/xxhash/v2"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/write/sink/clickhouse"
	"colonnade/write/sink/deletion"
	"colonnade/write/sink/internal/native"
	"colonnade/write/sink/rows"
	"colonnade/write/stream"
)

// write makes a batch durable, in the order of the table in sink.go. Every step may be
// repeated; none begins before the one above it is durable.
func (w *worker) write(ctx context.Context, b *batch, repeat bool) error {
	if b.doubtful {
		if err := w.findStored(ctx, b); err != nil {
			return err
		}
	}
	if err := w.writeDocuments(ctx, b); err != nil {
		return err
	}
	if err := w.insert(ctx, b, schema.TraceIndex, rows.TraceIndex(indexOf(b.groups, w.partition.Number()), w.partition.Number(), b.builtAt)); err != nil {
		return err
	}
	if err := w.writeAnnotations(ctx, b); err != nil {
		return err
	}
	if err := w.writeTable(ctx, b, schema.Spans, &b.rows.Spans.Block, b.entries); err != nil {
		return err
	}
	if err := w.insert(ctx, b, schema.Tombstones, deletion.TombstoneRows(tracesOf(b.groups), w.partition.Number())); err != nil {
		return err
	}
	if err := w.removeStored(ctx, b); err != nil {
		return err
	}
	if err := w.writeKeys(ctx, b); err != nil {
		return err
	}
	if err := w.deadLetter(ctx, b); err != nil {
		return err
	}
	if err := w.writeRejects(ctx, b, repeat); err != nil {
		return err
	}
	return w.writeProgress(ctx, b.progress)
}

func (w *worker) insert(ctx context.Context, b *batch, table string, block *native.Block) error {
	return w.store.Insert(ctx, clickhouse.Insertion{Table: table, Block: block, Token: w.token(table, b.rng), PossiblyDuplicate: b.doubtful})
}

// token returns the token of an insert. Equal rows have the same token, whichever owner
// inserts them; the rows of a topic that was created again under the same name have
// others.
func (w *worker) token(table string, rng stream.Range) string {
	return table + ":" + w.sink.topic + "@" + w.partition.Log() + ":" + w.label + ":" + strconv.FormatInt(rng.First, 10) + "-" + strconv.FormatInt(rng.Last, 10)
}

// writeTable inserts rows of spans. If ClickHouse refuses them for good, it halves them by
// records until the refused ones are alone, and those are dead-lettered. A repetition makes
// the same halves with the same tokens.
func (w *worker) writeTable(ctx context.Context, b *batch, table string, block *native.Block, entries []*entry) error {
	if alive := w.alive(b, entries); len(alive) < len(entries) {
		entries = alive
		var err error
		if block, err = w.rowsOf(b, entries, table); err != nil {
			return err
		}
	}
	return w.halve(ctx, b, table, block, entries, b.rng)
}

// alive returns the spans without those of records that an earlier table refused, and
// without those that are stored.
func (w *worker) alive(b *batch, entries []*entry) []*entry {
	dead := b.deadRecords()
	if len(dead) == 0 && len(b.stored) == 0 {
		return entries
	}
	return slices.DeleteFunc(slices.Clone(entries), func(e *entry) bool { return dead[e.record] || b.stored[e] })
}

// findStored notes the spans that the table spans has: the other tables had their rows
// before.
func (w *worker) findStored(ctx context.Context, b *batch) error {
	stored, err := w.storedVersions(ctx, b.rng, b.entries)
	if err != nil {
		return err
	}
	b.stored = map[*entry]bool{}
	for _, e := range b.entries {
		if stored[storedVersion{e.Version, e.ContentHash}] {
			b.stored[e] = true
		}
	}
	return nil
}

func (w *worker) halve(ctx context.Context, b *batch, table string, block *native.Block, entries []*entry, rng stream.Range) error {
	in := clickhouse.Insertion{Table: table, Block: block, Token: w.token(table, rng), PossiblyDuplicate: b.doubtful}
	if table == schema.Spans { // a row too many would count twice until it is merged
		in.Missing = func(ctx context.Context) (*native.Block, error) { return w.missing(ctx, b, rng, block, entries) }
	}
	err := w.store.Insert(ctx, in)
	if err == nil || !domain.KindOf(err).Permanent() {
		return err
	}
	if rng.First == rng.Last {
		for i := range b.records {
			if b.records[i].Offset == rng.First {
				b.deadLetter(i, "store", err)
			}
		}
		if table == schema.SpanPayloads {
			return nil
		}
		return w.removeDocuments(ctx, entries) // who reads a trace needs no other table
	}
	w.metrics.bisections.Inc()
	w.log.LogAttrs(ctx, slog.LevelWarn, "ClickHouse refused a batch, each half is inserted alone",
		slog.String("table", table), slog.Int64("first", rng.First), slog.Int64("last", rng.Last), slog.Any("error", err))
	middle := rng.First + (rng.Last-rng.First)/2
	for _, half := range [...]stream.Range{{First: rng.First, Last: middle}, {First: middle + 1, Last: rng.Last}} {
		part := slices.DeleteFunc(slices.Clone(entries), func(e *entry) bool {
			offset := b.records[e.record].Offset
			return offset < half.First || offset > half.Last
		})
		rows, err := w.rowsOf(b, part, table)
		if err != nil {
			return err
		}
		if err := w.halve(ctx, b, table, rows, part, half); err != nil {
			return err
		}
	}
	return nil
}

// rowsOf builds the rows of some entries for a table again.
func (w *worker) rowsOf(b *batch, entries []*entry, table string) (*native.Block, error) {
	if err := w.revive(b, entries); err != nil {
		return nil, err
	}
	if block := w.annotationsOf(entries, table); block != nil {
		return block, nil
	}
	again, document := rows.NewBuffer(w.sink.keys.has), &rows.Content{}
	for _, e := range entries {
		document.Render(e.Span, e.Declared)
		again.Append(&e.Entry, w.partition.Number(), document)
	}
	if table == schema.Spans {
		return &again.Spans.Block, nil
	}
	return &again.Payloads.Block, nil
}

// unremember drops spans from the cache that will not be stored, because otherwise the next
// attempt of their client would be taken for a retry.
func (w *worker) unremember(entries []*entry) {
	byTrace := map[rows.TraceKey]map[trace.SpanID]bool{}
	for _, e := range entries {
		if byTrace[e.Key] == nil {
			byTrace[e.Key] = map[trace.SpanID]bool{}
		}
		byTrace[e.Key][e.Span.SpanID] = true
	}
	for key, spans := range byTrace {
		w.memory.Drop(w.memory.Trace(key), spans)
	}
}

// missing returns the rows of a range that the table spans does not have: a stored row has
// the same version and the same content.
func (w *worker) missing(ctx context.Context, b *batch, rng stream.Range, block *native.Block, entries []*entry) (*native.Block, error) {
	stored, err := w.storedVersions(ctx, rng, entries)
	if err != nil || len(stored) == 0 {
		return block, err
	}
	entries = slices.DeleteFunc(slices.Clone(entries), func(e *entry) bool { return stored[storedVersion{e.Version, e.ContentHash}] })
	return w.rowsOf(b, entries, schema.Spans)
}

// storedVersion is a version with the hash of its content. A topic that was created again
// has the same versions with other content.
type storedVersion struct{ version, hash uint64 }

// storedVersions reads the versions of a range that the table spans has within the bounds of
// the entries: a row with the hash of an entry has its start, too.
func (w *worker) storedVersions(ctx context.Context, rng stream.Range, entries []*entry) (map[storedVersion]bool, error) {
	stored := map[storedVersion]bool{}
	if len(entries) == 0 {
		return stored, nil
	}
	where, keys := clickhouse.NoBounds(), make([]rows.TraceKey, len(entries))
	for i, e := range entries {
		where.Add(e.Start, e.Start, e.PartitionWeek, e.PartitionWeek)
		keys[i] = e.Key
	}
	statement := fmt.Sprintf("SELECT version, content_hash FROM %s WHERE project_id IN %s AND trace_type IN ('invocation', 'annotation', 'unknown') AND %s AND stream_partition = %s AND version BETWEEN %d AND %d",
		w.store.Table(schema.Spans), clickhouse.ProjectList(keys), where.SQL(), w.label, clickhouse.VersionOf(rng.First), clickhouse.VersionOf(rng.Last+1)-1)
	err := w.store.Query(ctx, "find stored versions", statement, func() { clear(stored) }, func(result driver.Rows) error {
		var s storedVersion
		if err := result.Scan(&s.version, &s.hash); err != nil {
			return err
		}
		stored[s] = true
		return nil
	})
	return stored, err
}

// storedFrom returns the last offset from first on that the table spans has, -1 for none.
func (w *worker) storedFrom(ctx context.Context, first int64) (last int64, err error) {
	statement := fmt.Sprintf("SELECT count(), max(version) FROM %s WHERE stream_partition = %s AND version >= %d", w.store.Table(schema.Spans), w.label, clickhouse.VersionOf(first))
	last = -1
	err = w.store.Query(ctx, "find stored versions", statement, func() { last = -1 }, func(result driver.Rows) error {
		var n, version uint64
		if err := result.Scan(&n, &version); err != nil {
			return err
		}
		if n > 0 {
			last = int64(version >> schema.VersionShift)
		}
		return nil
	})
	return last, err
}

func (w *worker) writeKeys(ctx context.Context, b *batch) error {
	found := b.rows.Spans.FoundKeys
	if len(found) == 0 {
		return nil
	}
	switch err := w.insert(ctx, b, schema.AttributeKeys, rows.AttributeKeys(found, b.newestAt)); {
	case domain.KindOf(err).Permanent(): // a batch must not wait for the completion of names
		w.log.LogAttrs(ctx, slog.LevelError, "ClickHouse refused attribute keys, completion does not offer them", slog.Any("error", err))
		return nil
	case err != nil:
		return err
	}
	keys := make([]rows.AttributeKey, len(found))
	for i := range found {
		keys[i] = found[i].AttributeKey
	}
	w.sink.keys.add(keys)
	return nil
}

// deadLetter sends the records that cannot be processed to the dead-letter topic, and adds each to
// the rejected spans.
func (w *worker) deadLetter(ctx context.Context, b *batch) error {
	slices.SortFunc(b.dead, func(x, y deadRecord) int { return cmp.Compare(x.record, y.record) })
	b.dead = slices.CompactFunc(b.dead, func(x, y deadRecord) bool { return x.record == y.record })
	for _, d := range b.dead {
		r, reason := &b.records[d.record], d.reason
		switch err := w.publishDead(ctx, r, d.stage+": "+d.reason); {
		case domain.KindOf(err) == domain.TooLarge:
			// The partition must go on, and a part of the record in the dead-letter topic would be redriven as if it were whole.
			reason = fmt.Sprintf("%s; the record exceeds the limit of the dead-letter topic: of its %d bytes (xxhash64 %016x) only the beginning is kept here, and all of them in the topic at this offset until its retention ends",
				d.reason, len(r.Value), xxhash.Sum64(r.Value))
			w.log.LogAttrs(ctx, slog.LevelError, "record exceeds the limit of the dead-letter topic, only rejected_spans names it",
				slog.Int64("offset", r.Offset), slog.String("stage", d.stage), slog.String("reason", d.reason), slog.Int("bytes", len(r.Value)), slog.Any("error", err))
		case err != nil:
			return fmt.Errorf("sink: send offset %d to the dead-letter topic: %w", r.Offset, err)
		default:
			w.metrics.dead.Inc()
			w.log.LogAttrs(ctx, slog.LevelError, "record cannot be stored, it was sent to the dead-letter topic",
				slog.Int64("offset", r.Offset), slog.String("stage", d.stage), slog.String("reason", d.reason))
		}
		b.rejects = append(b.rejects, rejectOf(r, d.stage, reason, b.builtAt))
	}
	return nil
}

// rejectOf returns the row of a dead-lettered record. Without a receipt it has the batch's time.
func rejectOf(r *stream.Record, stage, reason string, builtAt time.Time) rows.RejectedSpan {
	row := rows.RejectedSpan{Project: r.Project, At: r.ReceivedAt, Source: r.Source, Stage: stage, Reason: reason, Raw: r.Value, Offset: r.Offset}
	if row.At.IsZero() {
		row.At = builtAt
	}
	if !r.Trace.IsZero() {
		row.TraceID = r.Trace.String()
	}
	return row
}

// publishDead publishes until the broker has the record or ctx ends, at the intervals of
// inserts. An error of kind TooLarge means that the broker never accepts the record; it is
// returned at the second attempt, before which the producer reads the limit of the topic.
func (w *worker) publishDead(ctx context.Context, r *stream.Record, reason string) error {
	large := false
	for pause := w.sink.cfg.MinBackoff; ; pause = min(2*pause, w.sink.cfg.MaxBackoff) {
		err := w.sink.deps.Dead.Dead(ctx, []stream.Record{*r}, reason)
		if err == nil || large && domain.KindOf(err) == domain.TooLarge {
			return err
		}
		large = domain.KindOf(err) == domain.TooLarge
		w.store.CountRetry("dead topic")
		jittered := pause/2 + rand.N(pause) //nolint:gosec // spread, no secret
		select {
		case <-ctx.Done():
			return domain.Wrap(domain.Unavailable, err, "The dead-letter topic did not accept a record in time.")
		case <-time.After(jittered):
		}
	}
}

func (w *worker) writeRejects(ctx context.Context, b *batch, repeat bool) error {
	if len(b.rejects) == 0 {
		return nil
	}
	rest := func(ctx context.Context) (*native.Block, error) {
		stored, err := w.storedRejects(ctx, b.rng)
		left := slices.DeleteFunc(slices.Clone(b.rejects), func(r rows.RejectedSpan) bool {
			return stored[storedReject{uint64(r.Offset), r.Stage, r.Reason, r.TraceID, r.SpanID}] //nolint:gosec // an offset is never negative
		})
		return rows.RejectedSpans(left, w.partition.Number()), err
	}
	if !repeat {
		for i := range b.rejects {
			w.metrics.rejected.WithLabelValues(b.rejects[i].Stage).Inc()
		}
	}
	block := rows.RejectedSpans(b.rejects, w.partition.Number())
	return w.store.Insert(ctx, clickhouse.Insertion{Table: schema.RejectedSpans, Block: block, Token: w.token(schema.RejectedSpans, b.rng), PossiblyDuplicate: b.doubtful, Missing: rest})
}

// storedReject identifies a rejected span, also one of another topic with the same offset.
type storedReject struct {
	offset                         uint64
	stage, reason, traceID, spanID string
}

func (w *worker) storedRejects(ctx context.Context, rng stream.Range) (map[storedReject]bool, error) {
	stored := map[storedReject]bool{}
	statement := fmt.Sprintf("SELECT DISTINCT stream_offset, stage, reason, trace_id, span_id FROM %s WHERE stream_partition = %s AND stream_offset BETWEEN %d AND %d",
		w.store.Table(schema.RejectedSpans), w.label, rng.First, rng.Last)
	err := w.store.Query(ctx, "find stored rejected_spans", statement, func() { clear(stored) }, func(result driver.Rows) error {
		var s storedReject
		if err := result.Scan(&s.offset, &s.stage, &s.reason, &s.traceID, &s.spanID); err != nil {
			return err
		}
		stored[s] = true
		return nil
	})
	return stored, err
}

// progress is a row of sink_progress: everything below next is visible, and the traces that
// were last written to before finalizedUntil are finalized.
type progress struct {
	next               int64
	finalizedUntil, at time.Time
}

// progress returns what holds once everything below next is stored. Batches that are built
// meanwhile have a later last_write_at.
func (w *worker) progress(next int64) progress {
	now := w.clock()
	return progress{next: next, finalizedUntil: w.memory.FinalizedUntil(now), at: now}
}

// writeProgress inserts a row of sink_progress.
func (w *worker) writeProgress(ctx context.Context, p progress) error {
	block := rows.Progress(w.sink.topic, w.partition.Number(), p.next, p.finalizedUntil, p.at)
	err := w.store.Insert(ctx, clickhouse.Insertion{Table: schema.SinkProgress, Block: block})
	if err == nil {
		w.progressAt = p.at
		w.visible.Store(p.next)
	}
	return err
}
