package app

import (
	"colonnade/cmd/internal/measure"
	"colonnade/domain"
	"colonnade/domain/limit"
	"colonnade/read/access"
	analystsql "colonnade/read/sql"
	"colonnade/write/registry/entitycopy"
	"colonnade/write/registry/outbox"
	"colonnade/write/registry/views"
)

// buildViews keeps the databases of analysts' views, and the entities that they show.
func (w *wiring) buildViews() error {
	w.Views = views.New(views.Deps{Postgres: w.Stores.Postgres, ClickHouse: w.Stores.ClickHouse, Deployment: w.cfg.Deployment(), Log: w.log})
	w.Entities = entitycopy.New(entitycopy.Deps{Postgres: w.Stores.Postgres, ClickHouse: w.Stores.ClickHouse, Deployment: w.cfg.Deployment(), Log: w.log})
	return nil
}

// buildOutbox publishes results of evaluation runs to ClickHouse.
func (w *wiring) buildOutbox() error {
	w.Outbox = outbox.New(outbox.Deps{
		Postgres: w.Stores.Postgres, ClickHouse: w.Stores.ClickHouse, Deployment: w.cfg.Deployment(),
		Entities: w.registry, Runs: w.Runs, Outcomes: measure.Outcomes(w.analytics), Log: w.log,
	})
	return nil
}

// buildSQL runs statements of analysts.
func (w *wiring) buildSQL() error {
	runner, err := analystsql.New(w.cfg.SQL, analystsql.Deps{
		Now: w.Now, Log: w.log, Registerer: w.reg, Allowed: func(project domain.ProjectID) int { return w.limits.Allowed(project, limit.SQLStatements) },
	})
	if err != nil {
		return err
	}
	w.limits.Count(limit.SQLStatements, runner.Demand)
	runner.Mount(w.Server)
	return nil
}

// allows reports whether a role has a permission here: sql.viewers gives SQL to every role.
func (w *wiring) allows(role string, permission domain.Permission) bool {
	return access.Allows(role, permission) || w.cfg.SQL.Viewers && permission == domain.QuerySQL && domain.ValidRole(role)
}
