package app

import (
	"colonnade/domain"
	"colonnade/domain/limit"
	analystsql "colonnade/read/sql"
	"colonnade/write/registry/outbox"
	"colonnade/write/registry/views"
)

// buildViews keeps the databases of analysts' views.
func (w *wiring) buildViews() error {
	w.Views = views.New(views.Deps{Postgres: w.Stores.Postgres, ClickHouse: w.Stores.ClickHouse, Deployment: w.cfg.Deployment(), Log: w.log})
	return nil
}

// buildOutbox publishes results of evaluation runs to ClickHouse.
func (w *wiring) buildOutbox() error {
	w.Outbox = outbox.New(outbox.Deps{
		Postgres: w.Stores.Postgres, ClickHouse: w.Stores.ClickHouse, Deployment: w.cfg.Deployment(),
		Entities: w.registry, Runs: w.Runs, Outcomes: outcomes(w.analytics), Log: w.log,
	})
	return nil
}

// buildSQL runs statements of analysts.
func (w *wiring) buildSQL() error {
	runner := analystsql.New(w.cfg.SQL, analystsql.Deps{
		Now: w.Now, Log: w.log, Allowed: func(project domain.ProjectID) int { return w.limits.Allowed(project, limit.SQLStatements) },
	})
	w.limits.Count(limit.SQLStatements, runner.Demand)
	runner.Mount(w.Server)
	return nil
}
