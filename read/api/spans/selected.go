package spans

import (
	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/read/api/columns"
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

// columns writes the selected fields of spans or traces.
func (w *writer) columns(q *plan, spans []trace.Span, traces [][]trace.Span) (err error) {
	var rows []columns.Row
	for i := range spans {
		rows = append(rows, columns.Row{Span: unwrapped(&spans[i]), Where: q.where})
	}
	for _, all := range traces {
		if roots := tree(all); len(roots) > 0 {
			rows = append(rows, columns.Row{Span: roots[0].Span, Spans: all, Where: q.where})
		}
	}
	w.open(len(rows), "columns")
	w.buf, err = q.selected.AppendJSON(w.buf, rows)
	return err
}
