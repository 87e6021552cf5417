//go:build embedded

package traces_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/filter/filterjson"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
	"colonnade/domain/trace/tracejson"
	"colonnade/migrations/schema"
	"colonnade/read/traces"
)

// Every golden statement is one that the store understands.
func TestEveryFilterRuns(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.insert(span(1, 1, now.Add(-time.Minute)))
	files, err := filepath.Glob("../filtersql/testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		require.NoError(t, err)
		for i, f := range archive.Files {
			if !strings.HasSuffix(f.Name, ".json") {
				continue
			}
			e, err := filterjson.Parse(f.Data)
			if err != nil {
				continue // what is refused is golden, too
			}
			window := domain.Window{Limit: 2, Oldest: now.Add(-10 * time.Minute)} // one statement of each
			_, err = s.reader.Spans(t.Context(), s.project, e, window)
			require.NoError(t, err, "%s %s", file, f.Name)
			if i%8 != 0 {
				continue
			}
			_, err = s.reader.Traces(t.Context(), s.project, e, window)
			require.NoError(t, err, "%s %s", file, f.Name)
		}
	}
}

// What was written comes back as it was.
func TestValuesUnchanged(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	in := full(now.Add(-time.Minute).Add(123456789))
	s.insert(in)
	page, err := s.reader.Spans(t.Context(), s.project, nil, domain.Window{Limit: 10})
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
	require.Equal(t, uuid.Nil, page.Next)
	want := in
	want.Version = page.Items[0].Version
	require.Equal(t, string(tracejson.AppendSpan(nil, &want)), string(tracejson.AppendSpan(nil, &page.Items[0])))
	opened(page.Items)
	if diff := cmp.Diff(want, page.Items[0]); diff != "" {
		t.Errorf("span (-want +got):\n%s", diff)
	}
	found, err := s.reader.TracesByID(t.Context(), s.project, []trace.TraceID{in.TraceID, in.TraceID})
	require.NoError(t, err)
	spans, err := s.reader.SpansByID(t.Context(), s.project, nil, []trace.SpanID{in.SpanID})
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, found[0], spans)
	require.Equal(t, page.Items, opened(spans))
}

func full(start time.Time) trace.Span {
	s := span(7, 8, start)
	s.ParentID = trace.SpanID{1}
	s.SpanType, s.Status, s.StatusMessage = trace.LLM, trace.StatusError, "broken 💥"
	s.SessionID, s.UserID, s.AgentID = "sess", "us'er", `a\gent`
	s.UpdatedAt, s.UpdatedBy = now, uuid.UUID{1}
	app := uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")
	ag := s.Attributes["ag"].(map[string]any)
	ag["type"] = map[string]any{"trace": "invocation", "span": "llm"}
	ag["data"] = map[string]any{
		"inputs":  map[string]any{"": "empty", "a.b": map[string]any{`c\`: []any{int64(1), 1.0, nil, true, "é\u0000\x1f"}}, "long": strings.Repeat("x", 600)},
		"outputs": "text", "parameters": map[string]any{}, "internals": map[string]any{"deep": deep(200)},
	}
	ag["references"] = map[string]any{"application": map[string]any{"id": app.String(), "slug": "my-app"}, "evaluator": map[string]any{"version": "3"}}
	s.Attributes["big"] = int64(1<<62 + 1)
	s.Attributes["float"] = 1e300
	s.References = []trace.Reference{{Key: "application", Reference: domain.Reference{ID: app, Slug: "my-app"}}, {Key: "evaluator", Reference: domain.Reference{Version: "3"}}}
	s.Links = []trace.Link{{TraceID: trace.TraceID{9}, SpanID: trace.SpanID{9}, Attributes: map[string]any{"key": "invocation"}}, {TraceID: trace.TraceID{8}}}
	s.Hashes = []trace.Hash{{ID: uuid.UUID{5}, Attributes: map[string]any{"key": "indirect"}}}
	s.Events = []trace.Event{{Name: "exception", Time: s.Start + 1, Attributes: map[string]any{"exception.type": "E"}}, {Name: "", Time: s.Start}}
	s.Resource = map[string]any{"service": map[string]any{"name": "svc"}}
	s.Scope = &trace.Scope{Name: "lib", Version: "1", Attributes: map[string]any{"x": int64(1)}}
	return s
}

func deep(n int) any {
	var v any = "bottom"
	for range n {
		v = map[string]any{"d": v}
	}
	return v
}

// The type of a trace read by id is that of all its spans, also before the rows
// of the others have been moved to it.
func TestTypeOfATraceByID(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	first, linked, declared := span(1, 1, now.Add(-time.Minute)), span(1, 2, now.Add(-time.Minute)), span(2, 3, now.Add(-time.Minute))
	for _, sp := range []*trace.Span{&first, &linked} { // nobody declared what they are
		delete(sp.Attributes["ag"].(map[string]any), "type")
	}
	linked.Type, linked.Links = trace.Annotation, []trace.Link{{TraceID: trace.TraceID{9}, SpanID: trace.SpanID{9}}}
	declared.Links = linked.Links
	declared.Attributes["ag"].(map[string]any)["type"] = map[string]any{"trace": "invocation"}
	s.insert(first, linked, declared)
	found, err := s.reader.TracesByID(t.Context(), s.project, []trace.TraceID{first.TraceID, declared.TraceID})
	require.NoError(t, err)
	for i, want := range []trace.Type{trace.Annotation, trace.Invocation} {
		for _, sp := range found[i] {
			require.Equal(t, want, sp.Type)
			got, _ := jsonvalue.Lookup(sp.Attributes, []string{"ag", "type", "trace"})
			require.Equal(t, want.String(), got)
		}
	}
}

// A trace is found wherever in the stream its spans came, and by one statement.
func TestTraceAcrossPartitions(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	here, there, other := span(1, 1, now.Add(-time.Minute)), span(1, 2, now.Add(-time.Minute+time.Second)), span(2, 1, now.Add(-time.Minute))
	s.insert(here, other)
	const partition = 1<<20 - 1 // as high as a record can name
	text, head, lengths := documents(&there)
	there.Version = 7 << schema.VersionShift
	s.send("INSERT INTO span_payloads_packed (project_id, stream_partition, stream_offset, version, partition_week, start_time, trace_id, span_id, text, head, lengths)",
		[][]any{{uuid.UUID(s.project), uint32(partition), uint64(7), there.Version, weekOf(there.Start), time.Unix(0, there.Start).UTC(), string(there.TraceID[:]), string(there.SpanID[:]), text, head, lengths}})
	s.send("INSERT INTO trace_index (project_id, trace_id, min_start, max_start, records)",
		[][]any{{uuid.UUID(s.project), string(there.TraceID[:]), time.Unix(0, there.Start).UTC(), time.Unix(0, there.Start).UTC(), []uint64{schema.Record(partition, there.Version)}}})
	registry := prometheus.NewRegistry()
	reader, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now }, registry)
	require.NoError(t, err)
	found, err := reader.TracesByID(t.Context(), s.project, []trace.TraceID{here.TraceID, other.TraceID, {99}})
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.Equal(t, []trace.SpanID{here.SpanID, there.SpanID}, []trace.SpanID{found[0][0].SpanID, found[0][1].SpanID})
	require.Len(t, found[1], 1)
	asked := statementsOf(t, registry)
	require.EqualValues(t, 1, asked["documents"].count)
	require.Zero(t, asked["bounds"].count)
}

// Spans of a trace that is too large to be read whole are found by their rows.
func TestSpansOfALargeTrace(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	var all []trace.Span
	for n := range uint64(1200) {
		one := span(1, n+1, now.Add(-time.Hour+time.Duration(n)*time.Millisecond))
		one.SpanType = trace.Chat
		if n > 0 {
			one.ParentID = all[0].SpanID
		}
		one.Attributes["ag"].(map[string]any)["metrics"] = map[string]any{"tokens": map[string]any{"incremental": map[string]any{"total": int64(1)}}}
		all = append(all, one)
	}
	s.insert(all...)
	got, err := s.reader.SpansByID(t.Context(), s.project, []trace.TraceID{all[0].TraceID}, []trace.SpanID{all[0].SpanID, all[1100].SpanID})
	require.NoError(t, err)
	require.Len(t, got, 2)
	for i, want := range []int64{1200, 1} {
		sum, _ := jsonvalue.Lookup(got[i].Attributes, []string{"ag", "metrics", "tokens", "cumulative", "total"})
		require.Equal(t, want, sum)
	}
	whole, err := s.reader.TracesByID(t.Context(), s.project, []trace.TraceID{all[0].TraceID})
	require.NoError(t, err)
	require.Len(t, whole[0], 1200)
	require.Equal(t, opened(got)[1].Attributes, opened(whole[0])[1100].Attributes)
}

// A row whose documents are gone was replaced since, or removed.
func TestRowsThatWereReplaced(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	replaced, removed, stays := span(1, 1, now.Add(-time.Minute)), span(1, 2, now.Add(-time.Minute)), span(1, 3, now.Add(-time.Minute))
	s.insert(replaced, removed, stays)
	first := s.version
	replaced.Name = "new"
	s.insert(replaced)
	// Of the first its row is still there, and may be what a scan gives; its
	// documents are not. Of the second nothing is left but what a scan gave.
	require.NoError(t, s.conn.Exec(t.Context(), "DELETE FROM span_payloads_packed WHERE version <= ? AND span_id IN (unhex(?), unhex(?))", first, replaced.SpanID.String(), removed.SpanID.String()))
	rows := s.reader.Rows(t.Context(), t, s.project)
	require.NoError(t, s.conn.Exec(t.Context(), "DELETE FROM spans WHERE span_id = unhex(?)", removed.SpanID.String()))
	names := func(of []trace.Span) (out []string) {
		for i := range of {
			out = append(out, of[i].Name)
		}
		return out
	}
	got, err := s.reader.Fetch(t.Context(), s.project, rows)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"new", "span 3"}, names(got))

	// A row without documents that nothing took the place of is no empty answer.
	require.NoError(t, s.conn.Exec(t.Context(), "DELETE FROM span_payloads_packed WHERE span_id = unhex(?)", stays.SpanID.String()))
	_, err = s.reader.Fetch(t.Context(), s.project, rows)
	require.Equal(t, domain.Unavailable, domain.KindOf(err))
}
