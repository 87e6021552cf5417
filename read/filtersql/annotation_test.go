package filtersql_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain/filter"
	"colonnade/domain/trace"
	"colonnade/read/filtersql"
	"colonnade/read/filtersql/traits"
)

func TestAnnotationLookup(t *testing.T) {
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
		want *traits.Annotations
	}{
		{"nothing", nil, nil},
		{"a link", link(one), &traits.Annotations{LinkedTraces: []trace.TraceID{one}}},
		{"any link", filter.Link{}, nil},
		{"of a span alone", filter.Link{SpanID: trace.SpanID{1}}, nil},
		{"one of two", filter.Or{link(one), link(two)}, &traits.Annotations{LinkedTraces: []trace.TraceID{one, two}}},
		{"or something else", filter.Or{link(one), condition}, nil},
		{"and something else", filter.And{condition, link(one)}, &traits.Annotations{LinkedTraces: []trace.TraceID{one}}},
		{"the shorter of two", filter.And{filter.Or{link(one), link(two)}, link(two)}, &traits.Annotations{LinkedTraces: []trace.TraceID{two}}},
		{"not", filter.Not{Expr: link(one)}, nil},
		{"too many", many(2000), nil},
		{"a root of an evaluator", filter.And{rooted, slug}, &traits.Annotations{Slugs: []string{"a"}}},
		{"any span of an evaluator", slug, nil},
		{"any child of an evaluator", filter.And{filter.ParentID{In: []trace.SpanID{{1}}}, slug}, nil},
		{"a root or a child of an evaluator", filter.And{filter.ParentID{In: []trace.SpanID{{}, {1}}}, slug}, nil},
		{"a root of any evaluator", filter.And{rooted, evaluator(filter.Reference{})}, nil},
		{"by version", filter.And{rooted, evaluator(filter.Reference{Version: "1"})}, nil},
		{"by any reference", filter.And{rooted, filter.Reference{Slug: "a"}}, nil},
		{"by id", filter.And{rooted, evaluator(filter.Reference{ID: id})}, &traits.Annotations{Evaluators: []uuid.UUID{id}}},
		{"by id or slug", filter.And{rooted, filter.Or{evaluator(filter.Reference{ID: id}), slug}}, &traits.Annotations{Slugs: []string{"a"}, Evaluators: []uuid.UUID{id}}},
		{"by both", filter.And{rooted, evaluator(filter.Reference{ID: id, Slug: "a"})}, &traits.Annotations{Slugs: []string{"a"}}},
		{"of a revision", filter.And{rooted, slug, filter.And{filter.Or{revision(filter.Reference{ID: id})}, revision(filter.Reference{Version: "1"})}}, &traits.Annotations{Slugs: []string{"a"}, ApplicationRevisions: []uuid.UUID{id}}},
		{"of two revisions", filter.And{rooted, slug, filter.Or{revision(filter.Reference{ID: id}), revision(filter.Reference{ID: other})}}, &traits.Annotations{Slugs: []string{"a"}, ApplicationRevisions: []uuid.UUID{id, other}}},
		{"of a revision by slug", filter.And{rooted, slug, filter.Or{revision(filter.Reference{ID: id}), revision(filter.Reference{Slug: "r"})}}, &traits.Annotations{Slugs: []string{"a"}}},
		{"a link of an evaluator", filter.And{link(one), slug, revision(filter.Reference{ID: id})}, &traits.Annotations{LinkedTraces: []trace.TraceID{one}, Slugs: []string{"a"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, err := filtersql.Filter(tt.in)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(tt.want, c.AnnotationLookup))
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
