package app

import (
	"colonnade/read/activity"
	readapi "colonnade/read/api"
	activityread "colonnade/read/api/activity"
	browseread "colonnade/read/api/browse"
	entitiesread "colonnade/read/api/entities"
	evaluationsread "colonnade/read/api/evaluations"
	spansread "colonnade/read/api/spans"
	"colonnade/read/browse"
	readruns "colonnade/read/entities/runs"
	"colonnade/read/grid"
	"colonnade/write/cost"
)

// mountQueries mounts the endpoints that read.
func (w *wiring) mountQueries() error {
	prices, err := cost.LoadPrices(w.cfg.Cost)
	if err != nil {
		return err
	}
	router := readapi.Bounded(w.Server)
	finder := browse.New(w.traces, w.Now)
	w.spans.UseScores(finder.Scores)
	w.spans.Mount(router)
	w.spans.MountSimple(router)
	spansread.NewAnalytics(w.spans, w.analytics).Mount(router)
	activityread.Mount(router, activityread.Deps{Actors: activity.New(w.traces, w.analytics), Window: w.spans.Window, Caller: w.spans.Caller})
	browseread.Mount(router, browseread.Deps{Reader: finder, Prices: prices, Caller: w.spans.Caller})
	entitiesread.MountAccess(router, w.access)
	if w.cfg.Console.Enabled {
		w.mountSession(router)
	}
	entitiesread.MountRegistry(router, w.entities, w.spans.RunSaved)
	entitiesread.MountFolders(router, w.entities)
	evaluationsread.MountRuns(router, readruns.New(w.entities))
	evaluationsread.MountSimpleEvaluations(router, readruns.New(w.entities))
	evaluationsread.MountGrid(router, evaluationsread.GridDeps{Grid: grid.New(w.traces), Runs: readruns.New(w.entities), Caller: w.spans.Caller})
	entitiesread.MountTestcases(router, w.entities)
	entitiesread.MountTestsetFiles(router, w.entities)
	entitiesread.MountLegacy(router, w.entities)
	return nil
}
