package traces

import (
	"context"
	"math"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/domain/trace"
	"colonnade/read/compile"
)

// narrowLinked bounds a walk whose spans all link to traces that its filter
// names: what was said about a trace stands together in annotations, and its
// rows say where those spans are. Whether they match is for the scan to see;
// of very many it finds its own way, too.
func (r *Reader) narrowLinked(ctx context.Context, w *walk) error {
	if w.cond.Linked == nil || len(w.cond.Linked) > maxNarrow || w.empty() {
		return nil
	}
	lo, hi, rows := int64(math.MaxInt64), int64(math.MinInt64), 0
	found := map[trace.TraceID]bool{}
	err := r.query(ctx, "linking", compile.Linking(w.project, w.cond.Linked, maxNarrow+1), func(row driver.Rows) error {
		var id trace.TraceID
		var start int64
		err := row.Scan(traceOf(&id), &start)
		found[id] = true
		lo, hi = min(lo, start), max(hi, start)
		rows++
		return err
	})
	switch {
	case err != nil:
		return err
	case rows > maxNarrow:
		return nil
	case rows == 0:
		w.cond.Types = nil
		return nil
	}
	w.only = keysOf(found)
	w.rest = w.rest.Intersect(compile.Starts(lo, hi))
	return nil
}
