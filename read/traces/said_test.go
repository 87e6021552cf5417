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
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/filter"
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

// sorted gives names that begin with a start in the order of a list.
func sorted(names []string, order domain.Order) []string {
	out := slices.Sorted(slices.Values(names))
	if order == domain.Descending {
		slices.Reverse(out)
	}
	return out
}
