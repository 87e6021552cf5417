package ingest

import (
	"context"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
)

// Place identifies a trace of a project.
type Place struct {
	Project domain.ProjectID
	Trace   trace.TraceID
}

// finalizedTraces bounds the traces of one statement.
const finalizedTraces = 1000

// Finalized returns the traces that are stored, each with the time at which it was last
// finalized; zero for one that was not.
func (s *Stored) Finalized(ctx context.Context, traces []Place) (map[Place]time.Time, error) {
	found := make(map[Place]time.Time, len(traces))
	for len(traces) > 0 {
		n := min(len(traces), finalizedTraces)
		if err := s.finalized(ctx, traces[:n], found); err != nil {
			return nil, err
		}
		traces = traces[n:]
	}
	return found, nil
}

func (s *Stored) finalized(ctx context.Context, traces []Place, found map[Place]time.Time) error {
	var list strings.Builder
	for i, at := range traces {
		if i > 0 {
			list.WriteString(", ")
		}
		// Both are hex digits, which need no escape.
		list.WriteString("(toUUID('" + at.Project.String() + "'), unhex('" + at.Trace.String() + "'))")
	}
	each := func(rows driver.Rows) error {
		var project uuid.UUID
		var id string
		var micros int64
		if err := rows.Scan(&project, &id, &micros); err != nil {
			return err
		}
		at := Place{Project: domain.ProjectID(project)}
		copy(at.Trace[:], id)
		found[at] = time.Time{}
		if micros > 0 {
			found[at] = time.UnixMicro(micros).UTC()
		}
		return nil
	}
	err := s.query(ctx, "SELECT DISTINCT project_id, trace_id, toInt64(0) FROM "+schema.TraceIndex+" WHERE (project_id, trace_id) IN ("+list.String()+")", nil, each)
	if err != nil {
		return err
	}
	return s.query(ctx, "SELECT project_id, trace_id, toUnixTimestamp64Micro(max(finalized_at)) FROM "+schema.TraceTotals+" WHERE (project_id, trace_id) IN ("+list.String()+") GROUP BY project_id, trace_id", nil, each)
}
