package browse

import (
	"context"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/domain/trace"
	"colonnade/read/statements"
	"colonnade/read/traces"
)

// Annotated is what an annotation is about: a span, or with a zero Span a trace.
type Annotated struct {
	Trace trace.TraceID
	Span  trace.SpanID
}

// Scores returns the mean score that each evaluator gave, by what it is about.
func (r *Reader) Scores(ctx context.Context, s statements.Scores) (map[Annotated]map[string]float64, error) {
	out := map[Annotated]map[string]float64{}
	if len(s.Traces) == 0 || len(s.Evaluators) == 0 {
		return out, nil
	}
	err := r.run.Run(ctx, s.Project, "annotation_scores", s.Means(), func(rows driver.Rows) error {
		var of Annotated
		var evaluator string
		var score float64
		if err := rows.Scan(traces.ScanTraceID(&of.Trace), traces.ScanSpanID(&of.Span), &evaluator, &score); err != nil {
			return err
		}
		if out[of] == nil {
			out[of] = map[string]float64{}
		}
		out[of][evaluator] = score
		return nil
	})
	return out, err
}
