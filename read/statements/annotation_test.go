package statements_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/trace"
	"colonnade/read/filtersql"
	"colonnade/read/filtersql/traits"
	"colonnade/read/order"
	"colonnade/read/sqltext"
	"colonnade/read/statements"
)

// Every statement begins with the project and is bounded; names of callers are arguments.
func TestAnnotationStatements(t *testing.T) {
	t.Parallel()
	project := domain.ProjectID{15: 1}
	id := uuid.UUID{15: 2}
	const one, two = `'\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00'`, `'\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00'`
	everything := order.Everything()
	later := everything
	later.Low = order.Position{Start: 5, SortHash: 3}
	condition, err := filtersql.Filter(filter.And{filter.ParentID{In: []trace.SpanID{{}}}, filter.TraceType{In: []trace.Type{trace.Annotation}}, filter.Reference{Key: "evaluator", Slug: "q"}})
	require.NoError(t, err)
	tests := []struct {
		name string
		in   sqltext.Statement
		want sqltext.Statement
	}{
		{
			"of traces", statements.AnnotationPositions{Project: project, Lookup: &traits.Annotations{LinkedTraces: []trace.TraceID{{1}, {2}}}, Range: everything, Limit: 10}.Statement(),
			sqltext.Statement{
				SQL:  "SELECT toUnixTimestamp64Micro(start_time), sort_hash FROM annotation_index WHERE project_id = ? AND link_trace_id IN (" + one + ", " + two + ") ORDER BY start_time DESC, sort_hash DESC LIMIT 10",
				Args: []any{project.String()},
			},
		},
		{
			"of a trace by evaluators", statements.AnnotationPositions{Project: project, Lookup: &traits.Annotations{LinkedTraces: []trace.TraceID{{1}}}, Keys: []string{"a' OR 1", "b"}, Range: everything, Order: domain.Ascending, Limit: 10}.Statement(),
			sqltext.Statement{
				SQL:  "SELECT toUnixTimestamp64Micro(start_time), sort_hash FROM annotation_index WHERE project_id = ? AND link_trace_id = " + one + " AND evaluator_key IN (?, ?) ORDER BY start_time, sort_hash LIMIT 10",
				Args: []any{project.String(), "a' OR 1", "b"},
			},
		},
		{
			"of a revision", statements.AnnotationPositions{
				Project: project, Lookup: &traits.Annotations{Slugs: []string{"q"}, ApplicationRevisions: []uuid.UUID{id}, TestsetRevisions: []uuid.UUID{id}, Testcases: []uuid.UUID{id, id}}, Keys: []string{"q"}, Range: later, Limit: 7,
			}.Statement(),
			sqltext.Statement{
				SQL:  "SELECT toUnixTimestamp64Micro(start_time), sort_hash FROM evaluation_index WHERE project_id = ? AND evaluator_key = ? AND application_revision = ? AND testset_revision = ? AND testcase IN (?, ?) AND start_time >= '1970-01-01 00:00:00.000005' AND (start_time > '1970-01-01 00:00:00.000005' OR sort_hash >= ?) ORDER BY start_time DESC, sort_hash DESC LIMIT 7",
				Args: []any{project.String(), "q", id.String(), id.String(), id.String(), id.String(), uint64(3)},
			},
		},
		{
			"keys", statements.EvaluatorKeys(project, []uuid.UUID{id}),
			sqltext.Statement{SQL: "SELECT DISTINCT evaluator_key FROM evaluation_index WHERE project_id = ? AND evaluator_id = ?", Args: []any{project.String(), id.String()}},
		},
		{
			"a scan of places", statements.Scan{Project: project, Condition: condition, Range: everything, Positions: []order.Position{{Start: 1700000000000000, SortHash: 4}, {Start: 5, SortHash: 6}}, Limit: 3}.Keys(),
			sqltext.Statement{
				SQL: "SELECT trace_type, start_time, sort_hash, trace_id, span_id, stream_partition, version, created_at, payload_bytes, is_root, is_rewritten FROM spans WHERE project_id = ? AND trace_type = ? AND " +
					`((start_time, sort_hash) IN (('2023-11-14 22:13:20.000000', 4), ('1970-01-01 00:00:00.000005', 6)) AND indexOf(search_terms, ?) > 0 AND parent_id = '\x00\x00\x00\x00\x00\x00\x00\x00' AND trace_type = ?)` +
					" ORDER BY start_time DESC, sort_hash DESC LIMIT 3",
				Args: []any{project.String(), "annotation", "@ref.evaluator.slug=q", "annotation"}, StartsFirst: true,
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Empty(t, cmp.Diff(tt.want, tt.in))
		})
	}
}
