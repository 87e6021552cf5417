//go:build embedded

package traces_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
	"colonnade/read/traces"
)

// nothingBeside has no page read what lies beside its payloads.
func nothingBeside() traces.Config {
	cfg := traces.DefaultConfig()
	cfg.MaxBesideBytes = 10
	return cfg
}

// Pages take the sums of settled traces from where the sink put them, and add
// up those of traces that were written to since, that may not have them all, or
// whose numbers a float does not hold.
func TestSettledSums(t *testing.T) {
	t.Parallel()
	const (
		added  = int64(30) // by the spans
		stored = int64(77) // in the table, to tell it from them
	)
	tests := []struct {
		name    string
		age     time.Duration // of the spans
		ago     time.Duration // when it was settled for the last time
		settled uint64        // up to what version; the spans' own are below 10
		written uint64
		value   float64
		root    int64 // what the root should sum
	}{
		{"settled", time.Hour, time.Hour, 20, 10, 77, stored},
		{"settled up to the last write", time.Hour, time.Hour, 10, 10, 77, stored},
		{"settled this minute", time.Hour, time.Second, 20, 20, 77, added},
		{"settled again this minute", time.Hour, time.Second, 20, 10, 77, stored},
		{"written to since", time.Hour, time.Hour, 20, 21, 77, added},
		{"never settled", time.Hour, time.Hour, 0, 10, 77, added},
		{"new", time.Second, time.Hour, 20, 10, 77, added},
		{"more than a float holds", time.Hour, time.Hour, 20, 10, 1 << 53, added},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStoreWith(t, nothingBeside())
			at := now.Add(-tt.age)
			root, leaf := span(1, 1, at), span(1, 2, at)
			leaf.ParentID = root.SpanID
			for _, one := range []*trace.Span{&root, &leaf} {
				one.SpanType = trace.Chat
				one.Attributes["ag"].(map[string]any)["metrics"] = map[string]any{"tokens": map[string]any{"incremental": map[string]any{"total": int64(15)}}}
				one.Attributes["ag"].(map[string]any)["data"] = map[string]any{"outputs": "a needle"}
			}
			s.insert(root, leaf)
			project := uuid.UUID(s.project)
			require.NoError(t, s.conn.Exec(t.Context(), "INSERT INTO trace_index (project_id, trace_id, min_start, max_start, last_version) VALUES (?, unhex(?), ?, ?, ?)",
				project, root.TraceID.String(), at, at, tt.written))
			if tt.settled > 0 {
				for version, settledAt := range map[uint64]time.Time{tt.settled - 5: now.Add(-time.Hour), tt.settled: now.Add(-tt.ago)} { // settled twice: the later counts
					require.NoError(t, s.conn.Exec(t.Context(), "INSERT INTO trace_totals (project_id, trace_id, version, finalized_at) VALUES (?, unhex(?), ?, ?)", project, root.TraceID.String(), version, settledAt))
				}
			}
			for version, value := range []float64{1, tt.value} {
				require.NoError(t, s.conn.Exec(t.Context(), "INSERT INTO span_cumulative (project_id, trace_type, start_time, sort_hash, partition_week, trace_id, span_id, version, tokens_total, costs_total) VALUES (?, 'invocation', ?, ?, ?, unhex(?), unhex(?), ?, ?, nan)",
					project, at, tieOf(&root), weekOf(root.Start), root.TraceID.String(), root.SpanID.String(), version, value))
			}
			// A page of everything, a filter that the statement decides, and one that documents decide.
			for _, conditions := range []string{"", `{"field":"trace_type","value":"invocation"}`, `{"field":"content","operator":"contains","value":"needle"}`} {
				window := domain.Window{Limit: 10}
				page, err := s.reader.Spans(t.Context(), s.project, where(t, conditions), window)
				require.NoError(t, err)
				require.Len(t, page.Items, 2)
				got := map[trace.SpanID]any{}
				for _, one := range page.Items {
					got[one.SpanID], _ = jsonvalue.Lookup(one.Attributes, []string{"ag", "metrics", "tokens", "cumulative", "total"})
				}
				require.Equal(t, map[trace.SpanID]any{root.SpanID: tt.root, leaf.SpanID: int64(15)}, got)
			}
		})
	}
}

// A page of everything whose spans lie far apart adds up what ran beside them,
// which is less to read.
func TestSumsOfFew(t *testing.T) {
	t.Parallel()
	s := newStoreWith(t, nothingBeside())
	spans := func(n uint64, apart time.Duration) (all []trace.Span) {
		for i := range n {
			one := span(1, i+1, now.Add(-time.Hour).Add(time.Duration(i)*apart))
			one.Attributes["ag"].(map[string]any)["metrics"] = map[string]any{"tokens": map[string]any{"incremental": map[string]any{"total": int64(1)}}}
			all = append(all, one)
		}
		return all
	}
	for _, tt := range []struct {
		apart time.Duration
		want  string
	}{{time.Millisecond, "metrics"}, {999 * time.Microsecond, "sums"}} {
		registry := prometheus.NewRegistry()
		reader, err := traces.New(nothingBeside(), s.conn, func() time.Time { return now }, registry)
		require.NoError(t, err)
		project := domain.ProjectID(uuid.New())
		all := spans(10, tt.apart)
		s.insertInto(project, all...)
		id := all[0].TraceID.String()
		require.NoError(t, s.conn.Exec(t.Context(), "INSERT INTO trace_index (project_id, trace_id, min_start, max_start, last_version) SELECT project_id, trace_id, min_start, max_start, 20 FROM trace_index WHERE project_id = ?", uuid.UUID(project)))
		require.NoError(t, s.conn.Exec(t.Context(), "INSERT INTO trace_totals (project_id, trace_id, version) VALUES (?, unhex(?), 20)", uuid.UUID(project), id))
		page, err := reader.Spans(t.Context(), project, nil, domain.Window{Limit: 100})
		require.NoError(t, err)
		require.Len(t, page.Items, 10)
		asked := statementsOf(t, registry)
		for _, other := range []string{"metrics", "sums"} {
			require.Equal(t, other == tt.want, asked[other].count > 0, other)
		}
	}
}

// A condition chooses no version of a span that a later one took the place of,
// in settled traces as in others. Where the row is of the trace's last record
// nothing is looked for.
func TestReplacedInASettledTrace(t *testing.T) {
	t.Parallel()
	s := newStoreWith(t, nothingBeside())
	require.NoError(t, s.conn.Exec(t.Context(), "SYSTEM STOP MERGES spans"))
	one, other := span(1, 1, now.Add(-time.Hour)), span(2, 2, now.Add(-time.Hour))
	s.insert(one, other)
	one.Status = trace.StatusError
	s.insert(one)
	for _, id := range []trace.TraceID{one.TraceID, other.TraceID} {
		require.NoError(t, s.conn.Exec(t.Context(), "INSERT INTO trace_index (project_id, trace_id, min_start, max_start, last_version) SELECT project_id, trace_id, min(start_time), max(start_time), max(version) FROM spans WHERE trace_id = unhex(?) GROUP BY ALL", id.String()))
		require.NoError(t, s.conn.Exec(t.Context(), "INSERT INTO trace_totals (project_id, trace_id, version) VALUES (?, unhex(?), ?)", uuid.UUID(s.project), id.String(), s.version+1))
	}
	for _, tt := range []struct {
		status string
		want   []trace.SpanID
		looked bool
	}{{"STATUS_CODE_OK", []trace.SpanID{other.SpanID}, true}, {"STATUS_CODE_ERROR", []trace.SpanID{one.SpanID}, false}} {
		got, asked := s.ofStatus(nothingBeside(), tt.status)
		require.Equal(t, tt.want, got, tt.status)
		require.NotZero(t, asked["settled"].count, "the traces are settled")
		require.Zero(t, asked["metrics"].count)
		require.Equal(t, tt.looked, asked["keys_latest"].count > 0, tt.status)
	}
}

// ofStatus gives a new reader's first page of the spans of a status, and what was asked for it.
func (s *store) ofStatus(cfg traces.Config, status string) (ids []trace.SpanID, asked map[string]spent) {
	s.t.Helper()
	registry := prometheus.NewRegistry()
	reader, err := traces.New(cfg, s.conn, func() time.Time { return now }, registry)
	require.NoError(s.t, err)
	page, err := reader.Spans(s.t.Context(), s.project, where(s.t, `{"field":"status_code","value":"`+status+`"}`), domain.Window{Limit: 10})
	require.NoError(s.t, err)
	for i := range page.Items {
		ids = append(ids, page.Items[i].SpanID)
	}
	return ids, statementsOf(s.t, registry)
}
