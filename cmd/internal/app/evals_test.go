//go:build embedded

package app_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/trace"
	"colonnade/read/compile"
	"colonnade/read/evals"
)

// judged is an annotation of another trace, as an evaluator sends it.
func judged(n, about uint64, attributes map[string]any) *tracepb.TracesData {
	span := &tracepb.Span{
		TraceId: traceIDOf(n), SpanId: idOf(n), Name: "judge", StartTimeUnixNano: uint64(time.Now().UnixNano()) + n*1000, Attributes: keyValues(attributes),
		Links: []*tracepb.Span_Link{{TraceId: traceIDOf(about), SpanId: idOf(about)}},
	}
	span.EndTimeUnixNano = span.StartTimeUnixNano + 1000
	return &tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{span}}}}}}
}

// The annotations of invocations and the results of an evaluator are just
// those that a query over all spans chooses.
func TestAnnotationsAndResults(t *testing.T) {
	t.Parallel()
	w := newWings(t)
	project, other := domain.ProjectID(uuid.New()), domain.ProjectID(uuid.New())
	revisions := []string{uuid.NewString(), uuid.NewString()}
	evaluator := uuid.New()
	var all []*tracepb.TracesData
	for n := range uint64(240) {
		attributes := map[string]any{
			"ag.refs.evaluator.slug": fmt.Sprint("judge-", n%3), "ag.refs.application_revision.id": revisions[n%2], "ag.refs.testcase.id": uuid.NewSHA1(uuid.Nil, []byte{byte(n % 5)}).String(),
			"ag.data.outputs": `@ag.type=json:{"score":` + fmt.Sprint(float64(n)/4) + `,"label":"l` + strconv.FormatUint(n, 10) + `","ok":true}`,
		}
		switch {
		case n%3 == 0:
			attributes["ag.refs.evaluator.id"] = evaluator.String()
		case n == 100:
			delete(attributes, "ag.refs.evaluator.slug")
			attributes["ag.refs.evaluator.id"] = evaluator.String() // the same one, named by its id alone
		case n == 200:
			attributes["ag.data.outputs"] = `@ag.type=json:{"score":7,"text":"` + strings.Repeat("x", 50_000) + `"}`
		}
		all = append(all, judged(n+1, 1000+n%20, attributes))
	}
	corpus := w.write(project, all...)
	w.write(other, judged(1, 1000, map[string]any{"ag.refs.evaluator.slug": "judge-0"}))
	reader, err := evals.New(evals.DefaultConfig(), w.reader)
	require.NoError(t, err)

	var about []compile.Target
	for n := range uint64(7) {
		about = append(about, compile.Target{Trace: trace.TraceID(traceIDOf(1000 + 2*n))})
	}
	got, err := reader.Annotations(t.Context(), project, about)
	require.NoError(t, err)
	want := choose(corpus, func(s *trace.Span) bool {
		return slices.ContainsFunc(about, func(x compile.Target) bool { return s.Links[0].TraceID == x.Trace })
	})
	require.Empty(t, cmp.Diff(want, namesOf(got)))
	require.True(t, slices.IsSortedFunc(got, func(a, b evals.Annotation) int { return slices.Compare(a.Of.Trace[:], b.Of.Trace[:]) }))

	got, err = reader.Annotations(t.Context(), project, []compile.Target{{Trace: about[0].Trace, Span: trace.SpanID(idOf(1))}, about[1]}, domain.Reference{Slug: "judge-1"})
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(choose(corpus, func(s *trace.Span) bool {
		return s.Links[0].TraceID == about[1].Trace && slices.ContainsFunc(s.References, func(r trace.Reference) bool { return r.Slug == "judge-1" })
	}), namesOf(got)))

	of := func(references ...domain.Reference) func(*trace.Span) bool {
		return func(s *trace.Span) bool {
			return slices.ContainsFunc(s.References, func(r trace.Reference) bool {
				return r.Key == "evaluator" && slices.ContainsFunc(references, func(x domain.Reference) bool {
					return x.Slug != "" && x.Slug == r.Slug || x.ID != uuid.Nil && x.ID == r.ID
				})
			})
		}
	}
	for _, ref := range []domain.Reference{{Slug: "judge-1"}, {ID: evaluator}, {ID: evaluator, Slug: "judge-0"}} {
		got, err = reader.Results(t.Context(), project, evals.Question{Evaluator: ref})
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(choose(corpus, of(ref)), namesOf(got)), "%v", ref)
	}
	got, err = reader.Results(t.Context(), project, evals.Question{Evaluator: domain.Reference{Slug: "judge-2"}, ApplicationRevision: revisions[1]})
	require.NoError(t, err)
	want = choose(corpus, func(s *trace.Span) bool {
		return of(domain.Reference{Slug: "judge-2"})(s) && slices.ContainsFunc(s.References, func(r trace.Reference) bool { return r.ID.String() == revisions[1] })
	})
	require.NotEmpty(t, want)
	require.Empty(t, cmp.Diff(want, namesOf(got)))
	require.True(t, slices.IsSortedFunc(got, func(a, b evals.Annotation) int { return strings.Compare(a.Testcase, b.Testcase) }))
	for i := range got {
		require.Len(t, got[i].Numbers, 1)
		require.Equal(t, map[string]bool{"ok": true}, got[i].Bools)
		require.JSONEq(t, fmt.Sprintf(`{"score":%v,"label":%q,"ok":true}`, got[i].Numbers["score"], got[i].Strings["label"]), string(got[i].Outputs))
	}

	// A large output is not copied, and read all the same.
	got, err = reader.Annotations(t.Context(), project, []compile.Target{{Trace: trace.TraceID(traceIDOf(1000))}}, domain.Reference{Slug: "judge-2"})
	require.NoError(t, err)
	at := slices.IndexFunc(got, func(a evals.Annotation) bool { return len(a.Outputs) > 50_000 })
	require.GreaterOrEqual(t, at, 0)
	require.Equal(t, map[string]float64{"score": 7}, got[at].Numbers)
	w.linkedQueriesReadOnlyWhereTheyMust(project, corpus)
}

// A query by link looks at the few rows that annotations names.
func (w *wings) linkedQueriesReadOnlyWhereTheyMust(project domain.ProjectID, corpus []trace.Span) {
	w.t.Helper()
	link := filter.Link{TraceID: trace.TraceID(traceIDOf(1003))}
	for _, where := range []filter.Expr{link, filter.And{link, filter.TraceType{In: []trace.Type{trace.Annotation}}}, filter.Or{link, filter.Link{TraceID: trace.TraceID(traceIDOf(1004)), SpanID: trace.SpanID(idOf(1004))}}} {
		page, err := w.reader.Spans(w.t.Context(), project, where, domain.Window{Limit: 100})
		require.NoError(w.t, err)
		require.Empty(w.t, cmp.Diff(choose(corpus, func(s *trace.Span) bool { return filter.Match(where, s) }), spanNames(page.Items)))
		traces, err := w.reader.Traces(w.t.Context(), project, where, domain.Window{Limit: 5})
		require.NoError(w.t, err)
		require.Len(w.t, traces.Items, 5)
	}
	none, err := w.reader.Spans(w.t.Context(), project, filter.Link{TraceID: trace.TraceID{9}}, domain.Window{Limit: 100})
	require.NoError(w.t, err)
	require.Empty(w.t, none.Items)
	results := compile.Results{Project: project, Evaluator: "judge-1", Application: "x", Starts: compile.Everything(), Limit: 10}.Statement()
	for key, statement := range map[string]compile.Statement{
		"link_trace_id in [":        compile.Annotations(project, []compile.Target{{Trace: link.TraceID}}, nil, 10),
		"application_revision in [": results,
	} {
		var plan strings.Builder
		rows, err := w.conn.Query(w.t.Context(), "EXPLAIN indexes = 1 "+statement.SQL, statement.Args...)
		require.NoError(w.t, err)
		require.NoError(w.t, eachRow(rows, func() error {
			var line string
			err := rows.Scan(&line)
			plan.WriteString(line + "\n")
			return err
		}))
		require.Contains(w.t, plan.String(), "Read type: InOrder", "one ordered read")
		require.Contains(w.t, plan.String(), key, "of the key's range")
	}
}

func eachRow(rows driver.Rows, each func() error) error {
	for rows.Next() {
		if err := each(); err != nil {
			return err
		}
	}
	return rows.Err()
}

func choose(corpus []trace.Span, ok func(*trace.Span) bool) []string {
	var chosen []trace.Span
	for i := range corpus {
		if ok(&corpus[i]) {
			chosen = append(chosen, corpus[i])
		}
	}
	return spanNames(chosen)
}

func spanNames(spans []trace.Span) (out []string) {
	for i := range spans {
		out = append(out, spans[i].SpanID.String())
	}
	slices.Sort(out)
	return out
}

func namesOf(found []evals.Annotation) (out []string) {
	for i := range found {
		out = append(out, found[i].SpanID.String())
	}
	slices.Sort(out)
	return out
}
