package grid

import (
	"context"
	"math"

	"colonnade/domain"
	"colonnade/domain/evaluation"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/semconv"
	"colonnade/domain/trace"
)

// Roots calls each with every root of traces; read/analytics implements it.
type Roots func(ctx context.Context, project domain.ProjectID, ids []trace.TraceID, each func(root *trace.Span) error) error

// Outcomes returns what the table of a run shows of traces, of the first root of each.
// Traces that do not exist are absent.
func Outcomes(ctx context.Context, project domain.ProjectID, ids []trace.TraceID, roots Roots) (map[trace.TraceID]evaluation.Outcome, error) {
	found := map[trace.TraceID]evaluation.Outcome{}
	starts := map[trace.TraceID]int64{}
	err := roots(ctx, project, ids, func(root *trace.Span) error {
		if start, there := starts[root.TraceID]; there && start <= root.Start {
			return nil
		}
		starts[root.TraceID], found[root.TraceID] = root.Start, outcomeOf(root)
		return nil
	})
	return found, err
}

func outcomeOf(root *trace.Span) evaluation.Outcome {
	o := evaluation.NoOutcome()
	metric := func(keys ...string) float64 {
		value, _ := jsonvalue.Lookup(root.Attributes, append([]string{semconv.Root, semconv.Metrics}, keys...))
		if n, ok := jsonvalue.Float64(value); ok {
			return n
		}
		return math.NaN()
	}
	o.LatencyMs, o.Cost = metric(semconv.Duration, semconv.Cumulative), metric(semconv.Costs, semconv.Cumulative, semconv.Total)
	payload := func(name string) any {
		value, _ := jsonvalue.Lookup(root.Attributes, []string{semconv.Root, semconv.Data, name})
		return value
	}
	o.Inputs = trace.Preview(payload(semconv.Inputs), "prompt", "user", evaluation.PreviewLength)
	outputs := payload(semconv.Outputs)
	o.Outputs = trace.Preview(outputs, "completion", "assistant", evaluation.PreviewLength)
	o.SetOutputs(outputs)
	if len(root.Links) > 0 {
		o.About = root.Links[0].TraceID
	}
	return o
}
