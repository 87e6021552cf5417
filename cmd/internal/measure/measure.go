// Package measure lets the write side compute metrics from stored traces: it adapts readers
// to the functions that evaluations ask for. cmd/internal/app is the only caller.
package measure

import (
	"context"

	"colonnade/domain"
	"colonnade/domain/evaluation"
	"colonnade/domain/trace"
	"colonnade/read/analytics"
	"colonnade/read/grid"
	"colonnade/write/registry/evaluations"
)

// Runs returns the function that computes the metrics of evaluation runs
// from the traces that their results name.
func Runs(reader *analytics.Reader) evaluations.Measure {
	return func(ctx context.Context, project domain.ProjectID, lots []evaluations.StepTraces) ([]map[string]any, error) {
		requested := make([]analytics.Evaluated, len(lots))
		for i, of := range lots {
			requested[i] = analytics.Evaluated{Traces: of.Traces, Outputs: of.Outputs, Schema: of.Schema}
		}
		computed, err := reader.Evaluate(ctx, project, requested)
		out := make([]map[string]any, len(computed))
		for i, metrics := range computed {
			out[i] = make(map[string]any, len(metrics))
			for path, m := range metrics {
				out[i][path] = m
			}
		}
		return out, err
	}
}

// Outcomes returns the function that reads what the table of an evaluation run shows of
// traces.
func Outcomes(reader *analytics.Reader) func(context.Context, domain.ProjectID, []trace.TraceID) (map[trace.TraceID]evaluation.Outcome, error) {
	return func(ctx context.Context, project domain.ProjectID, ids []trace.TraceID) (map[trace.TraceID]evaluation.Outcome, error) {
		return grid.Outcomes(ctx, project, ids, reader.Roots)
	}
}
