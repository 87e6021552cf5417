package traces

import (
	"context"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/read/statements"
)

// completeRoots fills Root, and the identifiers of roots, of the spans of whole traces. Rows
// tell whether the spans whose parent is not stored are roots by now; few traces have any.
func completeRoots(ctx context.Context, r *Reader, project domain.ProjectID, found map[trace.TraceID][]trace.Span) error {
	orphans := map[identity]*trace.Span{}
	var at []statements.Bounds
	var ids []trace.SpanID
	for id, spans := range found {
		for _, s := range trace.Orphans(spans) {
			orphans[identity{id, s.SpanID}] = s
			start := time.Unix(0, s.Start).UnixMicro()
			at, ids = append(at, statements.Bounds{Trace: id, Min: start, Max: start}), append(ids, s.SpanID)
		}
	}
	if len(at) > 0 {
		if len(ids) > fetchChunk { // more than a statement should name
			ids = nil
		}
		rows, err := r.keys(ctx, "roots", statements.OfTraces(project, statements.Keys, at, ids))
		if err != nil {
			return err
		}
		for _, k := range latest(rows) {
			if s := orphans[k.identity]; s != nil {
				s.Root = k.root
			}
		}
	}
	for _, spans := range found {
		trace.IdentifyRoots(spans)
	}
	return nil
}

// setIdentifiers fills the identifiers of spans whose rows the finalizer wrote again with
// others than the spans themselves name.
func setIdentifiers(ctx context.Context, r *Reader, project domain.ProjectID, rows []keyRow, found map[identity]trace.Span) error {
	rewritten := slices.DeleteFunc(slices.Clone(rows), func(k keyRow) bool { return !k.rewritten || found[k.identity].Version != k.version })
	for chunk := range slices.Chunk(rewritten, fetchChunk) {
		err := r.db.Query(ctx, "identifiers", statements.ByKeys(project, statements.Identifiers, keysOfRows(chunk)), func(rows driver.Rows) error {
			var id identity
			var version uint64
			var of trace.Identifiers
			err := rows.Scan(traceOf(&id.trace), spanOf(&id.span), &version, &of.SessionID, &of.UserID, &of.AgentID)
			if s, there := found[id]; there && s.Version == version {
				s.Identifiers = of
				found[id] = s
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
