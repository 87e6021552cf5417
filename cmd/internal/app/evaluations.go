package app

import (
	"context"

	"colonnade/domain"
	"colonnade/read/analytics"
	"colonnade/read/traces"
	evaluationsapi "colonnade/write/api/evaluations"
	"colonnade/write/registry/evaluations"
)

// buildSpans wires what reads spans, once for all roles.
func (p *process) buildSpans(h *house, s stores) (err error) {
	if h.traces != nil {
		return nil
	}
	if h.traces, err = traces.New(p.cfg.Read.Store, s.clickhouse, p.Now, p.reg); err != nil {
		return err
	}
	if h.sink != nil && !p.cfg.ClickHouse.Replicated { // another replica may not have yet what the sink has written
		h.traces.Hear(h.sink.Visible)
	}
	h.analyst, err = analytics.New(p.cfg.Analytics, h.traces, p.Now)
	return err
}

// buildRuns wires the commands on evaluation runs. The metrics of runs are what
// the read wing makes of the traces that results name.
func (p *process) buildRuns(h *house, s stores, commands commandSet) error {
	if err := p.buildSpans(h, s); err != nil {
		return err
	}
	h.runs = evaluations.New(commands.db, commands.entities, evaluations.Spans{Wait: h.traces.Wait, Measure: measure(h.analyst)})
	evaluationsapi.MountRuns(h.commands, h.runs)
	return nil
}

// measure gives the metrics of traces as runs keep them.
func measure(analyst *analytics.Reader) evaluations.Measure {
	return func(ctx context.Context, project domain.ProjectID, lots []evaluations.StepTraces) ([]map[string]any, error) {
		asked := make([]analytics.Evaluated, len(lots))
		for i, of := range lots {
			asked[i] = analytics.Evaluated{Traces: of.Traces, Outputs: of.Outputs, Schema: of.Schema}
		}
		made, err := analyst.Evaluate(ctx, project, asked)
		out := make([]map[string]any, len(made))
		for i, metrics := range made {
			out[i] = make(map[string]any, len(metrics))
			for path, m := range metrics {
				out[i][path] = m
			}
		}
		return out, err
	}
}
