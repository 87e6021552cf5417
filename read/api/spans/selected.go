package spans

import (
	"context"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/read/api"
	"colonnade/read/api/columns"
	"colonnade/read/browse"
	"colonnade/read/statements"
)

// selectRequest is the body of a query of spans or traces.
type selectRequest struct {
	queryRequest
	// Select names the fields to return; without it, whole spans are returned.
	Select []string `json:"select"`
	// Preview is the maximum length of previews in characters.
	Preview *int `json:"preview" minimum:"32" maximum:"4000"`
}

func (r *selectRequest) decide(p *plan) (err error) {
	if p.selected, err = columns.Parse(r.Select, r.Preview); err != nil {
		return err
	}
	if p.selected != nil && p.format == formatOpenTelemetry {
		return domain.E(domain.Rejected, "Give select or format, not both.")
	}
	return nil
}

// Scores returns the scores that evaluators gave to traces or their spans; read/browse
// implements it.
type Scores func(ctx context.Context, s statements.Scores) (map[browse.Annotated]map[string]float64, error)

// UseScores sets the source of scores, without which score.<evaluator> has no values.
func (s *Routes) UseScores(of Scores) { s.scores = of }

// rows returns the rows of a page for the fields that a query selects.
func (s *Routes) rows(ctx context.Context, project domain.ProjectID, q *plan, spans []trace.Span, traces [][]trace.Span) (rows []columns.Row, err error) {
	var of []browse.Annotated
	for i := range spans {
		rows = append(rows, columns.Row{Span: api.Unwrapped(&spans[i]), Where: q.where})
		of = append(of, browse.Annotated{Trace: spans[i].TraceID, Span: spans[i].SpanID})
	}
	for _, all := range traces {
		if roots := api.Tree(all); len(roots) > 0 {
			rows = append(rows, columns.Row{Span: roots[0].Span, Spans: all, Where: q.where})
			of = append(of, browse.Annotated{Trace: all[0].TraceID})
		}
	}
	asked := statements.Scores{Project: project, Evaluators: q.selected.Evaluators(), Spans: q.focus == focusSpan}
	if s.scores == nil || len(asked.Evaluators) == 0 {
		return rows, nil
	}
	for _, a := range of {
		asked.Traces = append(asked.Traces, a.Trace)
	}
	found, err := s.scores(ctx, asked)
	for i := range rows {
		rows[i].Scores = found[of[i]]
	}
	return rows, err
}

// columns writes the selected fields of rows.
func (w *writer) columns(q *plan, rows []columns.Row) (err error) {
	w.open(len(rows), "columns")
	w.buf, err = q.selected.AppendJSON(w.buf, rows)
	return err
}
