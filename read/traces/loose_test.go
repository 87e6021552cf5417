//go:build embedded

package traces_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
	"colonnade/read/traces"
)

// What rows do not hold of an attribute is few as a rule: such rows are read and
// decided, and no documents are searched for them. Where that reads in vain, or
// would read much, the store searches.
func TestLoose(t *testing.T) {
	t.Parallel()
	const short, long, hay = "a needle", "a long needle", "hay"
	for _, tt := range []struct {
		name string
		// values are the attributes of spans, from the latest on, each n times.
		values []string
		n      int
		limit  int64 // of what a page reads along; 0 is the default
		// found are how many of a page of 50 match, examined how many were read to decide.
		found, examined int
	}{
		{"few are long", []string{short, long, hay}, 10, 0, 20, 30},
		{"many are long", []string{hay, short, long}, 100, 0, 50, 64 + 200},
		{"they are large", []string{hay, short, long}, 10, 10, 20, 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			s.batched = true
			var all []trace.Span
			for i, value := range tt.values {
				if value != short {
					value += strings.Repeat(" and more", jsonvalue.MaxIndexedBytes)
				}
				for n := range tt.n {
					one := span(uint64(i*tt.n+n+1), 1, now.Add(-time.Minute-time.Duration(i*tt.n+n)*time.Millisecond))
					one.Attributes["note"] = value
					all = append(all, one)
				}
			}
			s.insert(all...)
			cfg := traces.DefaultConfig()
			if tt.limit != 0 {
				cfg.MaxBesideBytes = tt.limit
			}
			for _, read := range []struct {
				name string
				page func(r *traces.Reader) (int, error)
			}{
				{"spans", func(r *traces.Reader) (int, error) {
					page, err := r.Spans(t.Context(), s.project, where(t, `{"field":"attributes","key":"note","operator":"contains","value":"needle"}`), domain.Window{Limit: 50})
					return len(page.Items), err
				}},
				{"traces", func(r *traces.Reader) (int, error) {
					page, err := r.Traces(t.Context(), s.project, where(t, `{"field":"attributes","key":"note","operator":"contains","value":"needle"}`), domain.Window{Limit: 50})
					return len(page.Items), err
				}},
			} {
				registry := prometheus.NewRegistry()
				reader, err := traces.New(cfg, s.conn, func() time.Time { return now }, registry)
				require.NoError(t, err)
				found, err := read.page(reader)
				require.NoError(t, err, read.name)
				require.Equal(t, tt.found, found, read.name)
				require.Equal(t, tt.examined, examined(t, registry), read.name)
			}
		})
	}
}

// examined is how many spans were read to decide a filter.
func examined(t *testing.T, registry *prometheus.Registry) int {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == "colonnade_read_examined_spans_total" {
			return int(f.GetMetric()[0].GetCounter().GetValue())
		}
	}
	t.Fatal("the metric is gone")
	return 0
}
