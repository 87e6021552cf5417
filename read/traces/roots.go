package traces

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/semconv"
	"colonnade/domain/trace"
	"colonnade/read/statements"
)

// What the finalizer decides of roots is in their rows and not in their payloads: which
// spans with a parent are roots of what is stored, and the session, user and agent that
// a root has from its descendants.

// completeRoots fills Root, and the identifiers of roots, of the spans of whole traces.
func (r *Reader) completeRoots(ctx context.Context, project domain.ProjectID, found map[trace.TraceID][]trace.Span) error {
	if err := r.markRoots(ctx, project, found); err != nil {
		return err
	}
	for _, spans := range found {
		identifyRoots(spans)
	}
	return nil
}

// markRoots fills Root of the spans whose parent is not stored, which their rows tell:
// they are roots as soon as their trace is finalized. Few traces have any.
func (r *Reader) markRoots(ctx context.Context, project domain.ProjectID, found map[trace.TraceID][]trace.Span) error {
	orphans := map[identity]*trace.Span{}
	var at []statements.Bounds
	var ids []trace.SpanID
	for id, spans := range found {
		edges := make([]trace.Edge, len(spans))
		for i := range spans {
			edges[i] = trace.EdgeOf(&spans[i])
		}
		_, parents := trace.Forest(edges)
		of := statements.Bounds{Trace: id}
		for i := range spans { // ascending
			if s := &spans[i]; parents[i] < 0 && !s.IsRoot() {
				orphans[identity{id, s.SpanID}] = s
				if of.Max = time.Unix(0, s.Start).UnixMicro(); of.Min == 0 {
					of.Min = of.Max
				}
				ids = append(ids, s.SpanID)
			}
		}
		if of.Max != 0 {
			at = append(at, of)
		}
	}
	if len(at) == 0 {
		return nil
	}
	if len(ids) > fetchChunk { // more than a statement should name
		ids = nil
	}
	rows, err := r.keys(ctx, "roots", statements.OfTraces(project, statements.Keys, at, ids))
	for _, k := range latest(rows) {
		if s := orphans[k.identity]; s != nil {
			s.Root = k.root
		}
	}
	return err
}

// identifyRoots gives the roots of a whole trace the session, user and agent that they or
// the first of its other spans name, as the finalizer does with their rows.
func identifyRoots(spans []trace.Span) {
	paths := [...][]string{{semconv.Root, semconv.Session, semconv.ID}, {semconv.Root, semconv.User, semconv.ID}, {semconv.Root, semconv.Unsupported, semconv.Agent, semconv.ID}}
	for k, path := range paths {
		name := func(s *trace.Span) string {
			v, _ := jsonvalue.Lookup(s.Attributes, path)
			id, _ := v.(string)
			return id
		}
		var lacking []*string
		for i := range spans {
			if s := &spans[i]; s.Root {
				to := [...]*string{&s.SessionID, &s.UserID, &s.AgentID}[k]
				if *to = cmp.Or(*to, name(s)); *to == "" {
					lacking = append(lacking, to)
				}
			}
		}
		named := ""
		for i := 0; i < len(spans) && named == "" && len(lacking) > 0; i++ { // ascending
			if !spans[i].Root {
				named = name(&spans[i])
			}
		}
		for _, to := range lacking {
			*to = named
		}
	}
}

// setIdentifiers fills the session, user and agent of spans whose rows the finalizer wrote
// again with others than the span itself names.
func (r *Reader) setIdentifiers(ctx context.Context, project domain.ProjectID, rows []keyRow, found map[identity]trace.Span) error {
	rewritten := slices.DeleteFunc(slices.Clone(rows), func(k keyRow) bool { return !k.rewritten || found[k.identity].Version != k.version })
	for chunk := range slices.Chunk(rewritten, fetchChunk) {
		err := r.db.Query(ctx, "identifiers", statements.ByKeys(project, statements.Identifiers, keysOfRows(chunk)), func(rows driver.Rows) error {
			var id identity
			var version uint64
			var session, user, agent string
			err := rows.Scan(traceOf(&id.trace), spanOf(&id.span), &version, &session, &user, &agent)
			if s, there := found[id]; there && s.Version == version {
				s.SessionID, s.UserID, s.AgentID = session, user, agent
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
