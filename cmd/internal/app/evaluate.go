package app

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"colonnade/cmd/internal/server"
	"colonnade/domain"
	"colonnade/domain/trace"
	readapi "colonnade/read/api"
	lineage "colonnade/read/entities"
	evaluationsapi "colonnade/write/api/evaluations"
	"colonnade/write/evaluate"
	"colonnade/write/ingest"
	"colonnade/write/invoke"
)

// buildEvaluations wires who carries evaluations out: invocations, and traces
// that saved queries find, which are the read wing's to say.
func (p *process) buildEvaluations(h *house, s stores, commands commandSet, runtime *invoke.Invoke, stored *ingest.Stored) (err error) {
	found, err := p.savedTraces(h, s)
	if err != nil {
		return err
	}
	h.evaluations, err = evaluate.New(p.cfg.Evaluate, evaluate.Deps{
		Invoke: runtime, Registry: commands.entities, Runs: h.runs, Stored: stored, Traces: found, Log: p.log, Registerer: p.reg,
	})
	if err != nil {
		return err
	}
	const slack = 10 * time.Second
	evaluationsapi.MountBatch(h.commands, evaluationsapi.BatchDeps{
		Evaluate: h.evaluations, Timeout: p.cfg.Evaluate.Timeout + p.cfg.Invoke.PublishTimeout + slack, Status: server.StatusOf,
	})
	evaluationsapi.MountSimple(h.commands, evaluationsapi.SimpleDeps{Evaluate: h.evaluations, Runs: h.runs})
	return nil
}

// savedTraces asks as /traces/query does for a saved query.
func (p *process) savedTraces(h *house, s stores) (func(context.Context, domain.ProjectID, uuid.UUID, int) ([]trace.TraceID, error), error) {
	entities, err := lineage.New(p.cfg.Entities.Read, lineage.Deps{Pool: s.postgres})
	if err != nil {
		return nil, err
	}
	spans, err := readapi.NewSpans(p.cfg.Read.Limits, h.traces, func(ctx context.Context, project domain.ProjectID, query, variant, revision domain.Reference) (json.RawMessage, bool, error) {
		return entities.SavedQuery(ctx, project, query, variant, revision)
	})
	if err != nil {
		return nil, err
	}
	return spans.SavedTraces, nil
}
