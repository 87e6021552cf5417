package traces

import (
	"context"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/read/compile"
)

// LookAge is how long those who wait share a look.
const LookAge = lookAge

// RefuseNarrow lets the store refuse every stretch that is to be read at once.
func (r *Reader) RefuseNarrow() { r.LimitNarrow(1) }

// LimitNarrow lets it refuse those in which it would have to look at more rows.
func (r *Reader) LimitNarrow(rows int) { r.pace.maxRows, r.pace.maxNeedleRows = rows, rows }

// FirstRows is how many rows a page of traces would look at first.
func (r *Reader) FirstRows(ctx context.Context, project domain.ProjectID, where filter.Expr, window domain.Window) (int, error) {
	w, err := r.walk(ctx, project, compile.Traces, where, window)
	if err != nil {
		return 0, err
	}
	return r.pace.rowsOf(r.scanner(w.scan(), w.rest).list, w.limit+1, rowsPerTrace), nil
}
