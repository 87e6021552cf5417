package deletion

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"colonnade/migrations/schema"
)

// A DELETE hides rows at once and leaves them on disk until the next merge of their part,
// which for a large old part may be never. The clean-up removes them within CleanUpEvery.

// CleanUp removes deleted rows from disk at intervals until ctx ends.
func (j *Janitor) CleanUp(ctx context.Context) {
	ticker := time.NewTicker(j.cfg.CleanUpEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if !j.deps.Works() {
			continue
		}
		if err := j.cleanUp(ctx); err != nil && ctx.Err() == nil {
			j.cleanUps.WithLabelValues("error").Inc()
			j.log.LogAttrs(ctx, slog.LevelWarn, "removal of deleted rows from disk failed, it is tried again later", slog.Any("error", err))
		}
	}
}

func (j *Janitor) cleanUp(ctx context.Context) error {
	d := j.cfg.Deployment
	began := j.deps.Now()
	for _, table := range [...]string{schema.Spans, schema.SpanPayloads, schema.SpanPayloadNgrams, schema.TraceIndex, schema.TraceTotals, schema.SpanCumulative, schema.TraceMetrics1m, schema.RejectedSpans, schema.AnnotationIndex, schema.EvaluationIndex, schema.RunResults, schema.AttributeKeys, schema.Tombstones, schema.Entities} {
		hidden, err := j.deletedRows(ctx, table)
		if err != nil {
			return err
		}
		if !hidden {
			continue
		}
		// The first step turns patches into masks of deleted rows within the parts, the
		// second removes masked rows. Neither is waited for, because it rewrites parts.
		for _, step := range [...]string{"APPLY PATCHES", "APPLY DELETED MASK"} {
			statement := fmt.Sprintf("ALTER TABLE %s%s %s SETTINGS mutations_sync = 0", d.Local(table), d.OnCluster(), step)
			if err := j.deps.DB.Once(ctx, func(ctx context.Context) error { return j.deps.Conn.Exec(ctx, statement) }); err != nil {
				return fmt.Errorf("sink: clean up %s: %w", table, err)
			}
		}
		j.cleanUps.WithLabelValues("done").Inc()
	}
	j.cleanedAt = began
	return nil
}

// deletedRows reports whether parts of a table hold rows that were deleted. A patch stays
// for a while after it was applied, so only new patches count. On a cluster it asks one
// node, because the nodes are much alike, and all are cleaned.
func (j *Janitor) deletedRows(ctx context.Context, table string) (bool, error) {
	name := table
	if j.cfg.Deployment.Cluster != "" {
		name += "_local"
	}
	database := "currentDatabase()"
	if j.cfg.Deployment.Database != "" {
		database = "'" + j.cfg.Deployment.Database + "'"
	}
	var n uint64
	err := j.deps.DB.Once(ctx, func(ctx context.Context) error {
		row := j.deps.Conn.QueryRow(ctx, "SELECT count() FROM system.parts WHERE active AND table = ? AND database = "+database+" AND (has_lightweight_delete OR startsWith(partition_id, 'patch-') AND modification_time >= toDateTime(?))", name, j.cleanedAt.Unix())
		return row.Scan(&n)
	})
	if err != nil {
		return false, fmt.Errorf("sink: look for deleted rows of %s: %w", table, err)
	}
	return n > 0, nil
}
