package sink

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/domain"
	"colonnade/migrations/schema"
)

// A deleted project's spans are removed while others of it may still be on
// their way: in a request, in the stream, in the dead topic. None of them is
// kept back, since no credential leads to the project any more; they are
// looked for again and again, soon after the deletion and then at each
// clean-up, and what has come is removed. So nothing depends on the order in
// which deletion, inserts and redrives meet, or on who runs when.

// watchErasures removes what deleted projects have, in the process that has partition 0: one is enough.
func (s *Sink) watchErasures(ctx context.Context) {
	if s.deps.Erased == nil {
		return
	}
	ticker := time.NewTicker(s.cfg.PurgeEvery)
	defer ticker.Stop()
	var lookedAtAll time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if !s.ownsFirst() {
			continue
		}
		now := s.deps.Now()
		all := now.Sub(lookedAtAll) >= s.cfg.CleanUpEvery
		since := time.Time{}
		if !all { // the clocks of two machines differ, and a deletion may take a while to commit
			since = lookedAtAll.Add(-s.cfg.CleanUpEvery)
		}
		if err := s.eraseSince(ctx, since); err != nil {
			if ctx.Err() == nil {
				s.metrics.erasures.WithLabelValues("error").Inc()
				s.log.LogAttrs(ctx, slog.LevelWarn, "purge of deleted projects failed, it is tried again later", slog.Any("error", err))
			}
			continue
		}
		if all {
			lookedAtAll = now
		}
	}
}

// erasedAtOnce bounds the projects of one statement.
const erasedAtOnce = 500

func (s *Sink) eraseSince(ctx context.Context, since time.Time) error {
	gone, err := s.deps.Erased(ctx, since)
	if err != nil {
		return fmt.Errorf("sink: ask for deleted projects: %w", err)
	}
	for some := range slices.Chunk(gone, erasedAtOnce) {
		if err := s.erase(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// erase removes all rows of projects, first those that make a span visible.
func (s *Sink) erase(ctx context.Context, projects []domain.ProjectID) error {
	quoted := make([]string, len(projects))
	for i, p := range projects {
		quoted[i] = "toUUID('" + p.String() + "')"
	}
	which := "project_id IN (" + strings.Join(quoted, ",") + ")"
	for _, table := range [...]string{
		schema.Spans, schema.AnnotationIndex, schema.EvaluationIndex, schema.SpanPayloads, schema.SpanPayloadNgrams, schema.SpanCumulative, schema.TraceMetrics1m, schema.TraceTotals, schema.TraceIndex, schema.AttributeKeys, schema.RejectedSpans, schema.Tombstones,
	} {
		held := false
		err := s.store.Query(ctx, "look for rows of deleted projects", "SELECT 1 FROM "+s.cfg.Deployment.Table(table)+" WHERE "+which+" LIMIT 1",
			func() { held = false }, func(driver.Rows) error { held = true; return nil })
		if err != nil {
			return err
		}
		if !held {
			continue
		}
		if err := s.store.Delete(ctx, table, which); err != nil {
			return err
		}
		s.metrics.erasures.WithLabelValues("done").Inc()
	}
	return nil
}
