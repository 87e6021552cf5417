package deletion

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"colonnade/domain"
	"colonnade/migrations/schema"
	"colonnade/write/sink/clickhouse"
)

// A deleted project's spans are removed while others of it may still be on their way: in
// a request, in the topic, in the dead-letter topic. Nothing holds them back, because no
// credential leads to the project any more; instead the purge looks for its rows again and
// again, soon after the deletion and then at each clean-up, and removes what has come. So
// nothing depends on the order of deletion, inserts and redrives.

// JanitorConfig holds the sink's settings that the removal in the background needs.
type JanitorConfig struct {
	Deployment schema.Deployment
	// CleanUpEvery is the time within which deleted rows leave the disk, PurgeEvery how
	// often deleted projects are searched for, ExpireEvery how often expired rows are.
	CleanUpEvery, PurgeEvery, ExpireEvery time.Duration
}

// JanitorDeps are what a Janitor works with; all but Deleted and Retentions are required.
type JanitorDeps struct {
	Conn driver.Conn
	DB   *clickhouse.DB
	// Deleted returns the projects that were deleted at or after a time; nil means that
	// none ever is.
	Deleted func(ctx context.Context, since time.Time) ([]domain.ProjectID, error)
	// Retentions returns the projects that do not keep everything; nil means that all do.
	Retentions func(ctx context.Context) ([]domain.Retention, error)
	// Works reports whether this process is the one that removes.
	Works      func() bool
	Now        func() time.Time
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Janitor is the actor that purges deleted projects and removes deleted rows from disk.
type Janitor struct {
	cfg              JanitorConfig
	deps             JanitorDeps
	log              *slog.Logger
	cleanUps, purges *prometheus.CounterVec
	// expiries counts the runs of expireAll, expired the rows that they deleted.
	expiries, expired *prometheus.CounterVec
	// cleanedAt is when deleted rows were last removed from disk.
	cleanedAt time.Time
}

// NewJanitor creates a janitor; nothing runs before Run.
func NewJanitor(cfg JanitorConfig, deps JanitorDeps) *Janitor {
	f := promauto.With(deps.Registerer)
	return &Janitor{
		cfg: cfg, deps: deps, log: deps.Log,
		cleanUps: f.NewCounterVec(prometheus.CounterOpts{Name: "colonnade_sink_cleanups_total", Help: "Tables whose deleted rows were removed from disk, by outcome."}, []string{"outcome"}),
		purges:   f.NewCounterVec(prometheus.CounterOpts{Name: "colonnade_sink_purges_total", Help: "Tables purged of the rows of deleted projects, by outcome."}, []string{"outcome"}),
		expiries: f.NewCounterVec(prometheus.CounterOpts{Name: "colonnade_retention_runs_total", Help: "Runs of the deletion by retention, by outcome."}, []string{"outcome"}),
		expired:  f.NewCounterVec(prometheus.CounterOpts{Name: "colonnade_retention_deleted_rows_total", Help: "Rows deleted by retention, by table; payloads are spans whose payloads were emptied."}, []string{"table"}),
	}
}

// Run purges, expires and cleans up until ctx ends.
func (j *Janitor) Run(ctx context.Context) {
	var wait sync.WaitGroup
	wait.Go(func() { j.CleanUp(ctx) })
	wait.Go(func() { j.Purge(ctx) })
	wait.Go(func() { j.Expire(ctx) })
	wait.Wait()
}

// Purge removes the rows of deleted projects at intervals until ctx ends.
func (j *Janitor) Purge(ctx context.Context) {
	if j.deps.Deleted == nil {
		return
	}
	ticker := time.NewTicker(j.cfg.PurgeEvery)
	defer ticker.Stop()
	var readAll time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if !j.deps.Works() {
			continue
		}
		now := j.deps.Now()
		all := now.Sub(readAll) >= j.cfg.CleanUpEvery
		since := time.Time{}
		if !all { // the clocks of two machines differ, and a deletion may take a while to commit
			since = readAll.Add(-j.cfg.CleanUpEvery)
		}
		if err := j.purgeSince(ctx, since); err != nil {
			if ctx.Err() == nil {
				j.purges.WithLabelValues("error").Inc()
				j.log.LogAttrs(ctx, slog.LevelWarn, "purge of deleted projects failed, it is tried again later", slog.Any("error", err))
			}
			continue
		}
		if all {
			readAll = now
		}
	}
}

// maxProjects bounds the projects of one statement.
const maxProjects = 500

func (j *Janitor) purgeSince(ctx context.Context, since time.Time) error {
	gone, err := j.deps.Deleted(ctx, since)
	if err != nil {
		return fmt.Errorf("sink: read deleted projects: %w", err)
	}
	for some := range slices.Chunk(gone, maxProjects) {
		if err := j.purge(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// purge removes all rows of projects, first those that make a span visible.
func (j *Janitor) purge(ctx context.Context, projects []domain.ProjectID) error {
	quoted := make([]string, len(projects))
	for i, p := range projects {
		quoted[i] = "toUUID('" + p.String() + "')"
	}
	which := "project_id IN (" + strings.Join(quoted, ",") + ")"
	for _, table := range [...]string{
		schema.Spans, schema.AnnotationIndex, schema.EvaluationIndex, schema.SpanPayloads, schema.SpanPayloadNgrams, schema.SpanCumulative, schema.TraceMetrics1m, schema.TraceTotals, schema.TraceIndex, schema.RunResults, schema.AttributeKeys, schema.RejectedSpans, schema.Tombstones, schema.Entities,
	} {
		held := false
		err := j.deps.DB.Query(ctx, "look for rows of deleted projects", "SELECT 1 FROM "+j.deps.DB.Table(table)+" WHERE "+which+" LIMIT 1",
			func() { held = false }, func(driver.Rows) error { held = true; return nil })
		if err != nil {
			return err
		}
		if !held {
			continue
		}
		if err := j.deps.DB.Delete(ctx, table, which); err != nil {
			return err
		}
		j.purges.WithLabelValues("done").Inc()
	}
	return nil
}
