package sink

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"colonnade/migrations/schema"
)

// A delete hides rows at once and leaves them on disk until a merge happens
// to pass, which for a large old part may be never. Cleaning up removes them
// for good within CleanUpEvery. Source: contract §0 row 27.

// watchDeletes cleans up at intervals, in the process that has partition 0: one is enough.
func (s *Sink) watchDeletes(ctx context.Context) {
	ticker := time.NewTicker(s.cfg.CleanUpEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if !s.ownsFirst() {
			continue
		}
		if err := s.cleanUp(ctx); err != nil && ctx.Err() == nil {
			s.metrics.cleanUps.WithLabelValues("error").Inc()
			s.log.LogAttrs(ctx, slog.LevelWarn, "removal of deleted rows from disk failed, it is tried again later", slog.Any("error", err))
		}
	}
}

// ownsFirst tells whether this process has partition 0.
func (s *Sink) ownsFirst() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, mine := s.workers[0]
	return mine
}

func (s *Sink) cleanUp(ctx context.Context) error {
	d := s.cfg.Deployment
	began := s.deps.Now()
	for _, table := range [...]string{schema.Spans, schema.SpanPayloads, schema.SpanPayloadNgrams, schema.TraceIndex, schema.TraceTotals, schema.SpanCumulative, schema.TraceMetrics1m, schema.RejectedSpans, schema.AnnotationIndex, schema.EvaluationIndex, schema.AttributeKeys, schema.Tombstones} {
		hidden, err := s.hiddenRows(ctx, table)
		if err != nil {
			return err
		}
		if !hidden {
			continue
		}
		// Patches become masks within the parts, masks become absence. Not
		// waited for: it rewrites the parts that are concerned.
		for _, step := range [...]string{"APPLY PATCHES", "APPLY DELETED MASK"} {
			statement := fmt.Sprintf("ALTER TABLE %s%s %s SETTINGS mutations_sync = 0", d.Local(table), d.OnCluster(), step)
			if err := s.store.Once(ctx, func(ctx context.Context) error { return s.deps.Store.Exec(ctx, statement) }); err != nil {
				return fmt.Errorf("sink: clean up %s: %w", table, err)
			}
		}
		s.metrics.cleanUps.WithLabelValues("done").Inc()
	}
	s.cleanedAt = began
	return nil
}

// hiddenRows tells whether parts of a table hold rows that were deleted. A
// patch stays for a while after it was applied, so only new ones count. On a
// cluster the nodes are much alike: one is asked, all are cleaned.
func (s *Sink) hiddenRows(ctx context.Context, table string) (bool, error) {
	name := table
	if s.cfg.Deployment.Cluster != "" {
		name += "_local"
	}
	database := "currentDatabase()"
	if s.cfg.Deployment.Database != "" {
		database = "'" + s.cfg.Deployment.Database + "'"
	}
	var n uint64
	err := s.store.Once(ctx, func(ctx context.Context) error {
		row := s.deps.Store.QueryRow(ctx, "SELECT count() FROM system.parts WHERE active AND table = ? AND database = "+database+" AND (has_lightweight_delete OR startsWith(partition_id, 'patch-') AND modification_time >= toDateTime(?))", name, s.cleanedAt.Unix())
		return row.Scan(&n)
	})
	if err != nil {
		return false, fmt.Errorf("sink: look for deleted rows of %s: %w", table, err)
	}
	return n > 0, nil
}
