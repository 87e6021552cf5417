// Package views keeps the databases of analysts' views: one for each project, made when the
// project appears in Postgres, replaced when this build has other views, and dropped when
// the project is deleted. The views themselves are migrations/views; read/sql runs
// statements over them.
package views

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"colonnade/domain"
	"colonnade/migrations"
	"colonnade/migrations/schema"
	"colonnade/write/registry"
)

// Every is how often the projects are compared with their views: the longest time that the
// SQL of a new project answers 503.
const Every = 10 * time.Second

// Deps are the connections of a Maker.
type Deps struct {
	Postgres   *pgxpool.Pool
	ClickHouse driver.Conn
	Deployment schema.Deployment
	Log        *slog.Logger
}

// Maker makes and drops the views of projects.
type Maker struct{ deps Deps }

// New returns a Maker that connects at its first pass.
func New(deps Deps) *Maker {
	deps.Log = deps.Log.With(slog.String("component", "views"))
	return &Maker{deps}
}

// Run makes and drops views until the context ends. A pass that fails is repeated.
func (m *Maker) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		if err := m.Sync(ctx); err != nil && ctx.Err() == nil {
			m.deps.Log.WarnContext(ctx, "views of projects are not up to date, the next pass repeats them", slog.Any("error", err))
		}
		timer.Reset(Every)
	}
}

// Sync makes what is missing or of another build and drops what belongs to no project.
// Passes of several processes at once do no harm, because every statement bears repetition.
func (m *Maker) Sync(ctx context.Context) error {
	projects, err := m.projects(ctx)
	if err != nil {
		return err
	}
	made, err := m.made(ctx)
	if err != nil {
		return err
	}
	version := migrations.ViewsVersion()
	for _, p := range projects {
		if made[p] == version {
			delete(made, p)
			continue
		}
		delete(made, p)
		if err := migrations.CreateViews(ctx, m.deps.ClickHouse, m.deps.Deployment, p); err != nil {
			return err
		}
	}
	for p, version := range made {
		if version == "" {
			continue
		}
		if err := migrations.DropViews(ctx, m.deps.ClickHouse, m.deps.Deployment, p); err != nil {
			return err
		}
	}
	return nil
}

func (m *Maker) projects(ctx context.Context) ([]domain.ProjectID, error) {
	rows, err := m.deps.Postgres.Query(ctx, `SELECT id FROM projects ORDER BY created_at, id`)
	if err != nil {
		return nil, registry.Classify(err, "listing projects")
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (domain.ProjectID, error) {
		id, err := pgx.RowTo[uuid.UUID](row)
		return domain.ProjectID(id), err
	})
	return out, registry.Classify(err, "listing projects")
}

// made returns the version of the views of each project, empty where they were dropped.
func (m *Maker) made(ctx context.Context) (map[domain.ProjectID]string, error) {
	rows, err := m.deps.ClickHouse.Query(ctx, "SELECT project_id, version FROM "+m.deps.Deployment.Table(schema.ProjectViews)+" FINAL")
	if err != nil {
		return nil, fmt.Errorf("views: list the views of projects: %w", err)
	}
	defer func() { _ = rows.Close() }() // the error of the loop counts
	out := map[domain.ProjectID]string{}
	for rows.Next() {
		var project uuid.UUID
		var version string
		if err := rows.Scan(&project, &version); err != nil {
			return nil, fmt.Errorf("views: scan the views of projects: %w", err)
		}
		out[domain.ProjectID(project)] = version
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("views: list the views of projects: %w", err)
	}
	return out, nil
}
