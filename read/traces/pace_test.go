//go:build embedded

package traces_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/read/traces"
)

// What a list's pace was tells how much is read at first, and nothing else: in
// bursts and in pauses every span comes once and in order, of both types, from
// both ends, also where the store refuses the stretch.
func TestPace(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	var all []trace.Span
	at := now
	add := func(n int, apart time.Duration) {
		for range n {
			at = at.Add(-apart)
			one := span(uint64(len(all)/5), uint64(len(all)), at)
			if len(all)/5%3 == 0 {
				one.Type = trace.Annotation
			}
			all = append(all, one)
		}
	}
	add(150, time.Millisecond)
	add(60, time.Minute) // the pace of before finds nothing here
	add(200, 0)          // and that of the minutes far more than a page
	add(60, time.Hour)
	add(100, time.Second)
	s.insert(all...)
	for _, refuse := range []bool{false, true} {
		for _, order := range []domain.Order{domain.Descending, domain.Ascending} {
			t.Run(fmt.Sprintf("%s refused %t", order, refuse), func(t *testing.T) {
				t.Parallel()
				registry := prometheus.NewRegistry()
				reader, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now }, registry)
				require.NoError(t, err)
				if refuse {
					reader.RefuseNarrow()
				}
				var got []trace.SpanID
				window := domain.Window{Limit: 30, Order: order}
				for {
					page, err := reader.Spans(t.Context(), s.project, nil, window)
					require.NoError(t, err)
					for i := range page.Items {
						got = append(got, page.Items[i].SpanID)
					}
					if window.Next = page.Next; window.Next == uuid.Nil {
						break
					}
				}
				require.Equal(t, idsInOrder(all, order), got)
				require.NotZero(t, statementsOf(t, registry)["scan_narrow"].count)
			})
		}
	}
}

// idsInOrder are the ids of spans in the order of a list.
func idsInOrder(all []trace.Span, order domain.Order) []trace.SpanID {
	sorted := slices.SortedFunc(slices.Values(all), func(a, b trace.Span) int {
		if a.Start != b.Start {
			return int(b.Start - a.Start)
		}
		if tieOf(&a) < tieOf(&b) {
			return 1
		}
		return -1
	})
	if order == domain.Ascending {
		slices.Reverse(sorted)
	}
	out := make([]trace.SpanID, len(sorted))
	for i := range sorted {
		out[i] = sorted[i].SpanID
	}
	return out
}
