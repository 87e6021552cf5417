package sink

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"colonnade/domain"
	"colonnade/migrations/schema"
)

// A row of span_payloads_packed never takes the place of another: its key is the place
// in the stream. Readers choose a span's latest version, and what is left of the
// others is removed here, when there is time. Those that nobody remembers (they
// were replaced long after they came, or a process ended before it got here)
// stay until their trace is deleted.

// noteOutdated takes from a batch that is stored what it left behind. A record
// that was refused replaced nothing.
func (w *worker) noteOutdated(b *batch) {
	dead := b.deadRecords()
	for _, o := range b.outdated {
		if !dead[o.by] {
			w.outdated = append(w.outdated, o)
		}
	}
	b.outdated = nil
}

const (
	// outdatedAtOnce bounds the rows that one statement names.
	outdatedAtOnce = 2000
	// maxOutdated bounds those that are remembered while the store does not remove any.
	maxOutdated = 100_000
)

// outdatedDue tells whether documents are to be removed now.
func (w *worker) outdatedDue(now time.Time) bool {
	return len(w.outdated) > 0 && !now.Before(w.outdatedFrom)
}

// removeOutdated removes the documents of versions that were replaced. They are
// not worth the stream: where the store refuses for good, they stay, and where it
// does not answer in time they wait.
func (w *worker) removeOutdated(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, w.sink.cfg.FinalizeTimeout)
	defer cancel()
	for len(w.outdated) > 0 {
		some := w.outdated[:min(len(w.outdated), outdatedAtOnce)]
		keys := make([]traceKey, 0, len(some))
		var offsets, rows strings.Builder
		for i, o := range some {
			if i > 0 {
				offsets.WriteByte(',')
				rows.WriteByte(',')
			}
			keys = append(keys, traceKey{project: o.project})
			fmt.Fprintf(&offsets, "%d", o.version>>schema.VersionShift)
			rows.WriteString(versionLiteral(o.version, o.span))
		}
		which := fmt.Sprintf("project_id IN %s AND stream_partition = %s AND stream_offset IN (%s) AND (version, span_id) IN (%s)",
			projectList(keys), w.label, offsets.String(), rows.String())
		switch err := w.delete(bounded, schema.SpanPayloads, which); {
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

// removeDocuments removes those of one record that another table refused: it
// goes to the dead topic, and nothing of it is shown.
func (w *worker) removeDocuments(ctx context.Context, entries []*entry) error {
	seen := map[traceKey]bool{}
	for _, e := range entries {
		if seen[e.key] {
			continue
		}
		seen[e.key] = true
		which := fmt.Sprintf("project_id = toUUID('%s') AND stream_partition = %s AND stream_offset = %d AND trace_id = unhex('%s')",
			e.key.project, w.label, e.version>>schema.VersionShift, e.key.trace)
		if err := w.delete(ctx, schema.SpanPayloads, which); err != nil {
			return err
		}
	}
	return nil
}
