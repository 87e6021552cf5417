package sink

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"colonnade/domain"
	"colonnade/migrations/schema"
	"colonnade/write/sink/deletion"
	"colonnade/write/sink/internal/native"
	"colonnade/write/sink/plan"
	"colonnade/write/sink/rows"
)

// A row of span_payloads_packed never replaces another, because its key has the partition and
// the offset. Readers choose the latest version of a span, and the worker deletes the
// payloads of the others when it has time. Payloads that are in no worker's memory (they were
// replaced long after they came, or the process ended before) stay until their trace is
// deleted.

// noteOutdated takes over the payloads that a stored batch left behind. A refused record
// replaced nothing.
func (w *worker) noteOutdated(b *batch) {
	dead := b.deadRecords()
	for _, o := range b.outdated {
		if !dead[o.by] {
			w.outdated = append(w.outdated, o)
		}
	}
	b.outdated = nil
}

// maxOutdated bounds the versions in memory while ClickHouse does not delete any.
const maxOutdated = 100_000

// outdatedDue reports whether payloads are to be deleted now.
func (w *worker) outdatedDue(now time.Time) bool {
	return len(w.outdated) > 0 && !now.Before(w.outdatedFrom)
}

// removeOutdated deletes the payloads of replaced versions. The partition does not wait for
// it: if ClickHouse refuses for good, they stay, and if it does not answer in time, they are
// tried again later.
func (w *worker) removeOutdated(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, w.sink.cfg.FinalizeTimeout)
	defer cancel()
	for len(w.outdated) > 0 {
		some := w.outdated[:min(len(w.outdated), deletion.RowsAtOnce)]
		versions := make([]plan.Version, len(some))
		for i := range some {
			versions[i] = some[i].Version
		}
		switch err := w.execute(bounded, []plan.Step{deletion.PayloadsOf(w.label, versions)}); {
		case domain.KindOf(err).Permanent():
			w.log.LogAttrs(ctx, slog.LevelError, "ClickHouse refused to delete payloads of superseded versions, they stay on disk", slog.Int("rows", len(some)), slog.Any("error", err))
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			w.outdated = slices.Delete(w.outdated, 0, max(len(w.outdated)-maxOutdated, 0))
			w.outdatedFrom = w.clock().Add(w.sink.cfg.FinalizeTimeout)
			w.log.LogAttrs(ctx, slog.LevelWarn, "deletion of payloads of superseded versions failed, it is tried again later", slog.Int("rows", len(w.outdated)), slog.Any("error", err))
			return nil
		}
		w.outdated = slices.Delete(w.outdated, 0, len(some))
	}
	w.outdated = nil
	return nil
}

// removeDocuments deletes the payloads of one record that another table refused: the record
// is dead-lettered, and nothing of it is shown.
func (w *worker) removeDocuments(ctx context.Context, entries []*entry) error {
	seen := map[rows.TraceKey]bool{}
	for _, e := range entries {
		if seen[e.Key] {
			continue
		}
		seen[e.Key] = true
		if err := w.execute(ctx, []plan.Step{deletion.PayloadsAt(w.label, e.Key, e.Version>>schema.VersionShift)}); err != nil {
			return err
		}
	}
	return nil
}

// writeDocuments inserts the payloads of a batch and their n-grams at the same time: readers
// need both, and neither needs the other.
func (w *worker) writeDocuments(ctx context.Context, b *batch) error {
	ngrams := make(chan error, 1)
	go func() { ngrams <- w.writeNgrams(ctx, b) }()
	err := w.writeTable(ctx, b, schema.SpanPayloads, &b.rows.Payloads.Block, b.entries)
	return errors.Join(err, <-ngrams)
}

// writeNgrams inserts the n-grams of the payloads of a batch, also of those that are
// stored already. A span without its n-grams would not be found, and no client chooses what
// these rows have: a refusal means that the table is not that of this build, and readiness
// shows that the sink waits.
func (w *worker) writeNgrams(ctx context.Context, b *batch) error {
	err := w.insert(ctx, b, schema.SpanPayloadNgrams, b.rows.Ngrams.Of(b.rows.Payloads, w.partition.Number()))
	if domain.KindOf(err).Permanent() {
		return domain.Wrap(domain.Unavailable, err, "ClickHouse refused n-grams.")
	}
	return err
}

// writeAnnotations inserts the rows of both annotation tables. They come before the spans, so
// that they are stored if a repetition finds the span; a row that is stored twice replaces
// its equal.
func (w *worker) writeAnnotations(ctx context.Context, b *batch) error {
	annotations := b.rows.Annotations
	if annotations.Links.Rows() == 0 && annotations.Results.Rows() == 0 {
		return nil
	}
	var annotated []*entry
	for _, e := range b.entries {
		if rows.HasAnnotation(&e.Entry) || rows.HasEvaluator(e.Span) {
			annotated = append(annotated, e)
		}
	}
	if err := w.writeTable(ctx, b, schema.AnnotationIndex, &annotations.Links.Block, annotated); err != nil {
		return err
	}
	return w.writeTable(ctx, b, schema.EvaluationIndex, &annotations.Results.Block, annotated)
}

// annotationsOf builds the rows of an annotation table again for some entries; nil for another
// table.
func (w *worker) annotationsOf(entries []*entry, table string) *native.Block {
	if table != schema.AnnotationIndex && table != schema.EvaluationIndex {
		return nil
	}
	again, document := rows.NewAnnotationRows(), &rows.Content{}
	for _, e := range entries {
		document.Render(e.Span, e.Declared)
		again.Append(&e.Entry, document)
	}
	if table == schema.EvaluationIndex {
		return &again.Results.Block
	}
	return &again.Links.Block
}
