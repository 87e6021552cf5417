package deletion

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/domain"
	"colonnade/migrations/schema"
	"colonnade/write/sink/rows"
)

// Expire deletes what is older than the retention of its project, at intervals until ctx
// ends. Days end at midnight UTC, so that one run a day finds something to delete and the
// others only look.
func (j *Janitor) Expire(ctx context.Context) {
	if j.deps.Retentions == nil {
		return
	}
	ticker := time.NewTicker(j.cfg.ExpireEvery)
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
		if err := j.expireAll(ctx); err != nil && ctx.Err() == nil {
			j.expiries.WithLabelValues("error").Inc()
			j.log.LogAttrs(ctx, slog.LevelWarn, "deletion by retention failed, it is tried again later", slog.Any("error", err))
			continue
		}
		j.expiries.WithLabelValues("done").Inc()
	}
}

func (j *Janitor) expireAll(ctx context.Context) error {
	all, err := j.deps.Retentions(ctx)
	if err != nil {
		return fmt.Errorf("sink: read the retention of projects: %w", err)
	}
	for _, r := range all {
		if r.Days > 0 {
			if err := j.expireSpans(ctx, r.Project, cutoff(j.deps.Now(), r.Days)); err != nil {
				return err
			}
		}
		if r.PayloadDays > 0 && (r.Days == 0 || r.PayloadDays < r.Days) {
			if err := j.expirePayloads(ctx, r.Project, cutoff(j.deps.Now(), r.PayloadDays)); err != nil {
				return err
			}
		}
	}
	return nil
}

// cutoff returns the start of the oldest day that is kept.
func cutoff(now time.Time, days int) time.Time {
	return now.UTC().Truncate(24*time.Hour).AddDate(0, 0, -days)
}

// expireSpans deletes the rows of a project that are older than a time, first those that
// make a span visible.
func (j *Janitor) expireSpans(ctx context.Context, project domain.ProjectID, before time.Time) error {
	for _, t := range [...]struct{ table, time, partition string }{
		{schema.Spans, "start_time", "partition_week"},
		{schema.AnnotationIndex, "start_time", ""},
		{schema.EvaluationIndex, "start_time", ""},
		{schema.SpanPayloads, "start_time", "partition_week"},
		{schema.SpanPayloadNgrams, "max_start", ""},
		{schema.SpanCumulative, "start_time", "partition_week"},
		{schema.TraceMetrics1m, "minute", ""},
		{schema.TraceTotals, "start_time", ""},
		{schema.TraceIndex, "max_start", ""},
		{schema.RejectedSpans, "rejected_at", ""},
	} {
		old := fmt.Sprintf("project_id = toUUID('%s') AND %s < %s", project, t.time, literal(before))
		parts, err := j.partitions(ctx, t.table, t.partition, old, before)
		if err != nil {
			return err
		}
		for _, p := range parts {
			if err := j.deps.DB.Delete(ctx, t.table, p.which); err != nil {
				return err
			}
			j.expired.WithLabelValues(t.table).Add(float64(p.rows))
		}
	}
	return nil
}

func literal(t time.Time) string {
	return fmt.Sprintf("fromUnixTimestamp64Micro(%d, 'UTC')", rows.Micros(t))
}

// part is the rows of a condition in one partition; week is empty for a table without them.
type part struct {
	which, week string
	rows        uint64
}

// partitions counts the rows that a condition holds for, by partition: a deletion works on
// one partition at a time.
func (j *Janitor) partitions(ctx context.Context, table, partition, which string, before time.Time) ([]part, error) {
	week := "''"
	if partition != "" {
		week = "toString(" + partition + ")"
		which += fmt.Sprintf(" AND %s <= toMonday(%s)", partition, literal(before))
	}
	var found []part
	err := j.deps.DB.Query(ctx, "look for expired rows", "SELECT "+week+" AS week, count() FROM "+j.deps.DB.Table(table)+" WHERE "+which+" GROUP BY week ORDER BY week",
		func() { found = nil }, func(r driver.Rows) error {
			var p part
			if err := r.Scan(&p.week, &p.rows); err != nil {
				return err
			}
			p.which = which
			if partition != "" {
				p.which = partition + " = toDate('" + p.week + "') AND " + which
			}
			found = append(found, p)
			return nil
		})
	return found, err
}

// expirePayloads empties the payloads of a project's spans that are older than a time: their
// inputs, outputs, parameters, internals and events. The spans stay with their attributes.
func (j *Janitor) expirePayloads(ctx context.Context, project domain.ProjectID, before time.Time) error {
	which := fmt.Sprintf("project_id = toUUID('%s') AND start_time < %s AND %s", project, literal(before), schema.HasPayloads())
	parts, err := j.partitions(ctx, schema.SpanPayloads, "partition_week", which, before)
	if err != nil || len(parts) == 0 {
		return err
	}
	busy, err := j.updating(ctx)
	if err != nil || busy {
		return err
	}
	d := j.cfg.Deployment
	for _, p := range parts {
		// It is not waited for, because it rewrites parts.
		statement := fmt.Sprintf("ALTER TABLE %s%s UPDATE text = substring(text, 1 + %s), lengths = toFixedString(concat(%s, substring(lengths, %d)), %d) IN PARTITION '%s' WHERE %s SETTINGS mutations_sync = 0",
			d.Local(schema.SpanPayloads), d.OnCluster(), schema.BytesBefore("attributes"), schema.NoLengths(), schema.ExpiringBytes+1, 4*schema.PayloadCount, p.week, p.which)
		if err := j.deps.DB.Exec(ctx, "empty expired payloads", statement); err != nil {
			return err
		}
		j.expired.WithLabelValues("payloads").Add(float64(p.rows))
	}
	return nil
}

// updating reports whether an earlier run still empties payloads.
func (j *Janitor) updating(ctx context.Context) (bool, error) {
	name := schema.SpanPayloads
	if j.cfg.Deployment.Cluster != "" {
		name += "_local"
	}
	busy := false
	err := j.deps.DB.Query(ctx, "look for unfinished mutations", "SELECT 1 FROM system.mutations WHERE table = '"+name+"' AND NOT is_done AND command LIKE '%UPDATE text%' LIMIT 1",
		func() { busy = false }, func(driver.Rows) error { busy = true; return nil })
	return busy, err
}
