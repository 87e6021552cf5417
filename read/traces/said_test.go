//go:build embedded

package traces_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
	"colonnade/read/traces"
)

// Pages of what was said of a trace, or by an evaluator, hold all of it in
// order: also where few of the places match, and where the documents of a page
// are too many to be read at once.
func TestSaidIsPagedWhole(t *testing.T) {
	t.Parallel()
	small := traces.DefaultConfig()
	small.MaxPageBytes = 3000
	s := newStoreWith(t, small)
	of := trace.Link{TraceID: trace.TraceID{7}, SpanID: trace.SpanID{8}} // both end in zero bytes, as one id in 256 does
	var all, tagged []string
	for n := range uint64(20) {
		x := span(n+1, 1, now.Add(-time.Duration(n%13)*time.Hour-time.Duration(n)*time.Second))
		x.Type = trace.Annotation
		ag := x.Attributes["ag"].(map[string]any)
		ag["type"] = map[string]any{"trace": "annotation"}
		ag["data"] = map[string]any{"outputs": strings.Repeat("x", 300+int(n)*7)}
		ag["references"] = map[string]any{"evaluator": map[string]any{"slug": "quality"}}
		x.References = []trace.Reference{{Key: "evaluator", Reference: domain.Reference{Slug: "quality"}}}
		x.Links = []trace.Link{of}
		all = append(all, fmt.Sprint(x.Start, x.TraceID))
		if n%7 == 0 {
			ag["tags"] = map[string]any{"rare": true}
			tagged = append(tagged, all[n])
		}
		s.insert(x)
	}
	rare := filter.Attribute{Of: filter.Attributes, Path: "ag.tags.rare", Test: filter.Equal{Value: true}}
	linked := filter.Link{TraceID: of.TraceID}
	judged := filter.And{filter.ParentID{In: []trace.SpanID{{}}}, filter.Reference{Key: "evaluator", Slug: "quality"}}
	for name, tt := range map[string]struct {
		where filter.Expr
		want  []string
	}{
		"of a trace": {linked, all}, "of a span": {filter.Link{TraceID: of.TraceID, SpanID: of.SpanID}, all}, "of a span alone": {filter.Link{SpanID: of.SpanID}, all}, "by an evaluator": {judged, all},
		"few of a trace": {filter.And{linked, rare}, tagged}, "few by an evaluator": {filter.And{judged, rare}, tagged},
		"by nobody": {filter.And{judged[0], filter.Reference{Key: "evaluator", Slug: "nobody"}}, nil},
		"by id":     {filter.And{judged[0], filter.Reference{Key: "evaluator", ID: uuid.UUID{9}}}, nil},
	} {
		for _, order := range []domain.Order{domain.Ascending, domain.Descending} {
			for _, limit := range []int{3, 19} {
				var got []string
				window := domain.Window{Limit: limit, Order: order}
				for {
					page, err := s.reader.Records(t.Context(), s.project, tt.where, window)
					require.NoError(t, err)
					for _, x := range page.Items {
						got = append(got, fmt.Sprint(x.Start, x.TraceID))
					}
					if window.Next = page.Next; page.Next == uuid.Nil {
						break
					}
				}
				want := sorted(tt.want, order)
				require.Empty(t, cmp.Diff(want, got), "%s %s %d", name, order, limit)
			}
		}
	}
}

// A page of what was said shows what its spans sum with all of their trace, and
// reads that along with their documents.
func TestSaidIsSummed(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.batched = true
	of := trace.Link{TraceID: trace.TraceID{7}, SpanID: trace.SpanID{8}}
	var all []trace.Span
	for n := range uint64(5) {
		at := now.Add(-time.Hour - time.Duration(n)*time.Second)
		root := measured(n+1, 1, trace.SpanID{}, at, 1)
		root.Links = []trace.Link{of}
		below := measured(n+1, 2, root.SpanID, at, 2)
		for _, one := range []*trace.Span{&root, &below} {
			one.Type = trace.Annotation
			one.Attributes["ag"].(map[string]any)["type"] = map[string]any{"trace": "annotation"}
		}
		all = append(all, root, below)
	}
	s.insert(all...)
	registry := prometheus.NewRegistry()
	reader, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now }, registry)
	require.NoError(t, err)
	page, err := reader.Spans(t.Context(), s.project, filter.Link{TraceID: of.TraceID}, domain.Window{Limit: 50})
	require.NoError(t, err)
	require.Len(t, page.Items, 5)
	for i := range page.Items {
		got, _ := jsonvalue.Lookup(page.Items[i].Attributes, []string{"ag", "metrics", "tokens", "cumulative", "total"})
		require.Equal(t, int64(3), got)
	}
	asked := statementsOf(t, registry)
	for name, n := range map[string]uint64{"places": 1, "documents": 1, "bounds": 1, "heads": 0} {
		require.Equal(t, n, asked[name].count, name)
	}
}

// sorted gives names that begin with a start in the order of a list.
func sorted(names []string, order domain.Order) []string {
	out := slices.Sorted(slices.Values(names))
	if order == domain.Descending {
		slices.Reverse(out)
	}
	return out
}
