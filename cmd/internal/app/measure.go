package app

import (
	"context"

	"colonnade/domain"
	"colonnade/read/analytics"
	"colonnade/write/registry/evaluations"
)

// measureRuns returns the function that computes the metrics of evaluation runs
// from the traces that their results name.
func measureRuns(reader *analytics.Reader) evaluations.Measure {
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
