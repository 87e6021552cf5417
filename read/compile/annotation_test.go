package compile_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/trace"
	"colonnade/read/compile"
)

func TestSaid(t *testing.T) {
	t.Parallel()
	one, two := trace.TraceID{1}, trace.TraceID{2}
	id, other := uuid.UUID{1}, uuid.UUID{2}
	link := func(id trace.TraceID) filter.Expr { return filter.Link{TraceID: id} }
	condition := filter.Expr(filter.StatusCode{In: []trace.Status{trace.StatusError}})
	rooted := filter.ParentID{In: []trace.SpanID{{}}}
	evaluator := func(r filter.Reference) filter.Expr { r.Key = "evaluator"; return r }
	slug := evaluator(filter.Reference{Slug: "a"})
	revision := func(r filter.Reference) filter.Expr { r.Key = "application_revision"; return r }
	tests := []struct {
		name string
		in   filter.Expr
		want *compile.Said
	}{
		{"nothing", nil, nil},
		{"a link", link(one), &compile.Said{Of: []trace.TraceID{one}}},
		{"any link", filter.Link{}, nil},
		{"of a span alone", filter.Link{SpanID: trace.SpanID{1}}, nil},
		{"one of two", filter.Or{link(one), link(two)}, &compile.Said{Of: []trace.TraceID{one, two}}},
		{"or something else", filter.Or{link(one), condition}, nil},
		{"and something else", filter.And{condition, link(one)}, &compile.Said{Of: []trace.TraceID{one}}},
		{"the shorter of two", filter.And{filter.Or{link(one), link(two)}, link(two)}, &compile.Said{Of: []trace.TraceID{two}}},
		{"not", filter.Not{Expr: link(one)}, nil},
		{"too many", many(2000), nil},
		{"a root of an evaluator", filter.And{rooted, slug}, &compile.Said{Slugs: []string{"a"}}},
		{"any span of an evaluator", slug, nil},
		{"any child of an evaluator", filter.And{filter.ParentID{In: []trace.SpanID{{1}}}, slug}, nil},
		{"a root or a child of an evaluator", filter.And{filter.ParentID{In: []trace.SpanID{{}, {1}}}, slug}, nil},
		{"a root of any evaluator", filter.And{rooted, evaluator(filter.Reference{})}, nil},
		{"by version", filter.And{rooted, evaluator(filter.Reference{Version: "1"})}, nil},
		{"by any reference", filter.And{rooted, filter.Reference{Slug: "a"}}, nil},
		{"by id", filter.And{rooted, evaluator(filter.Reference{ID: id})}, &compile.Said{Evaluators: []uuid.UUID{id}}},
		{"by id or slug", filter.And{rooted, filter.Or{evaluator(filter.Reference{ID: id}), slug}}, &compile.Said{Slugs: []string{"a"}, Evaluators: []uuid.UUID{id}}},
		{"by both", filter.And{rooted, evaluator(filter.Reference{ID: id, Slug: "a"})}, &compile.Said{Slugs: []string{"a"}}},
		{"of a revision", filter.And{rooted, slug, filter.And{filter.Or{revision(filter.Reference{ID: id})}, revision(filter.Reference{Version: "1"})}}, &compile.Said{Slugs: []string{"a"}, ApplicationRevisions: []uuid.UUID{id}}},
		{"of two revisions", filter.And{rooted, slug, filter.Or{revision(filter.Reference{ID: id}), revision(filter.Reference{ID: other})}}, &compile.Said{Slugs: []string{"a"}, ApplicationRevisions: []uuid.UUID{id, other}}},
		{"of a revision by slug", filter.And{rooted, slug, filter.Or{revision(filter.Reference{ID: id}), revision(filter.Reference{Slug: "r"})}}, &compile.Said{Slugs: []string{"a"}}},
		{"a link of an evaluator", filter.And{link(one), slug, revision(filter.Reference{ID: id})}, &compile.Said{Of: []trace.TraceID{one}, Slugs: []string{"a"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, err := compile.Filter(tt.in)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(tt.want, c.Said))
		})
	}
}

func many(n int) filter.Or {
	var or filter.Or
	for i := range n {
		or = append(or, filter.Link{TraceID: trace.TraceID{1, byte(i), byte(i >> 8)}})
	}
	return or
}

// Every statement begins with the project and is bounded; names of callers are arguments.
func TestAnnotationStatements(t *testing.T) {
	t.Parallel()
	project := domain.ProjectID{15: 1}
	id := uuid.UUID{15: 2}
	const one, two = `'\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00'`, `'\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00'`
	everything := compile.Everything()
	later := everything
	later.Low = compile.Position{Start: 5, Tie: 3}
	condition, err := compile.Filter(filter.And{filter.ParentID{In: []trace.SpanID{{}}}, filter.TraceType{In: []trace.Type{trace.Annotation}}, filter.Reference{Key: "evaluator", Slug: "q"}})
	require.NoError(t, err)
	tests := []struct {
		name string
		in   compile.Statement
		want compile.Statement
	}{
		{
			"of traces", compile.Places{Project: project, Said: &compile.Said{Of: []trace.TraceID{{1}, {2}}}, Range: everything, Limit: 10}.Statement(),
			compile.Statement{
				SQL:  "SELECT toUnixTimestamp64Micro(start_time), sort_hash FROM annotation_index WHERE project_id = ? AND link_trace_id IN (" + one + ", " + two + ") ORDER BY start_time DESC, sort_hash DESC LIMIT 10",
				Args: []any{project.String()},
			},
		},
		{
			"of a trace by evaluators", compile.Places{Project: project, Said: &compile.Said{Of: []trace.TraceID{{1}}}, Keys: []string{"a' OR 1", "b"}, Range: everything, Order: domain.Ascending, Limit: 10}.Statement(),
			compile.Statement{
				SQL:  "SELECT toUnixTimestamp64Micro(start_time), sort_hash FROM annotation_index WHERE project_id = ? AND link_trace_id = " + one + " AND evaluator_key IN (?, ?) ORDER BY start_time, sort_hash LIMIT 10",
				Args: []any{project.String(), "a' OR 1", "b"},
			},
		},
		{
			"of a revision", compile.Places{
				Project: project, Said: &compile.Said{Slugs: []string{"q"}, ApplicationRevisions: []uuid.UUID{id}, TestsetRevisions: []uuid.UUID{id}, Testcases: []uuid.UUID{id, id}}, Keys: []string{"q"}, Range: later, Limit: 7,
			}.Statement(),
			compile.Statement{
				SQL:  "SELECT toUnixTimestamp64Micro(start_time), sort_hash FROM evaluation_index WHERE project_id = ? AND evaluator_key = ? AND application_revision = ? AND testset_revision = ? AND testcase IN (?, ?) AND start_time >= '1970-01-01 00:00:00.000005' AND (start_time > '1970-01-01 00:00:00.000005' OR sort_hash >= ?) ORDER BY start_time DESC, sort_hash DESC LIMIT 7",
				Args: []any{project.String(), "q", id.String(), id.String(), id.String(), id.String(), uint64(3)},
			},
		},
		{
			"keys", compile.EvaluatorKeys(project, []uuid.UUID{id}),
			compile.Statement{SQL: "SELECT DISTINCT evaluator_key FROM evaluation_index WHERE project_id = ? AND evaluator_id = ?", Args: []any{project.String(), id.String()}},
		},
		{
			"a scan of places", compile.Scan{Project: project, Condition: condition, Range: everything, Places: []compile.Position{{Start: 1700000000000000, Tie: 4}, {Start: 5, Tie: 6}}, Limit: 3}.Keys(),
			compile.Statement{
				SQL: "SELECT trace_type, start_time, sort_hash, trace_id, span_id, stream_partition, version, created_at, payload_bytes FROM spans WHERE project_id = ? AND trace_type = ? AND " +
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
