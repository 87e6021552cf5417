//go:build embedded

package e2e_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/trace"
	"colonnade/read/analytics"
	"colonnade/write/sink"
	"colonnade/write/stream"
)

// What trace_metrics_1m serves equals what the spans say, at every moment: before
// it knows of a write and after, through retries, replacements, moves in time,
// late spans, edits and deletes.
func TestRollupOracle(t *testing.T) {
	t.Parallel()
	readsOnly(t)
	w := newPipeline(t, func(c *sink.Config) {
		c.FinalizeAfter, c.FinalizeEvery, c.RollupEvery, c.MaxClockSkew = 500*time.Millisecond, 100*time.Millisecond, 200*time.Millisecond, 50*time.Millisecond
	})
	g := &generator{Rand: rand.New(rand.NewPCG(9, 10)), now: time.Now().UTC()}
	project := domain.ProjectID(uuid.New())
	reader, err := analytics.New(analytics.DefaultConfig(), w.reader, time.Now)
	require.NoError(t, err)

	check := func(questions int) {
		t.Helper()
		for range asked(questions) {
			q := g.minuteQuestion()
			got, err := reader.Query(t.Context(), project, q)
			require.NoError(t, err)
			all := 1.0
			q.Rate = &all // is answered from the spans
			want, err := reader.Query(t.Context(), project, q)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(want, got), "%+v", q)
		}
	}
	send := func(operation stream.Operation, all ...*tracepb.TracesData) {
		t.Helper()
		var records []stream.Record
		for _, data := range all {
			value, err := proto.Marshal(data)
			require.NoError(t, err)
			records = append(records, stream.Record{
				Project: project, User: uuid.UUID{1}, Trace: trace.TraceID(data.ResourceSpans[0].ScopeSpans[0].Spans[0].TraceId), Source: "otlp",
				Operation: operation, ReceivedAt: time.Now().UTC().Truncate(time.Microsecond), Value: value,
			})
		}
		token, err := w.producer.Publish(t.Context(), records)
		require.NoError(t, err)
		pending, err := w.reader.Wait(t.Context(), token)
		require.NoError(t, err)
		require.Empty(t, pending)
	}

	var first []*tracepb.TracesData
	for n := range uint64(100) {
		first = append(first, g.metered(n))
	}
	send(stream.Upsert, first...)
	check(4)
	w.inMinutes(t, project)
	check(12)
	for _, change := range []func(){
		func() { send(stream.Upsert, first[:20]...) },
		func() { send(stream.Upsert, g.metered(1), g.metered(2), g.metered(30), g.metered(31)) },
		func() { send(stream.Edit, g.metered(3), g.metered(4), g.metered(32)) },
		func() { send(stream.Delete, first[5], first[33], first[34]) },
	} {
		change()
		check(3)
		w.inMinutes(t, project)
		check(3)
	}

	// The table it is that answers: what stands there shows.
	at := g.now.Add(-90 * time.Minute).Truncate(time.Minute)
	require.NoError(t, w.conn.Exec(t.Context(), "INSERT INTO trace_metrics_1m (project_id, minute, trace_type, version, roots, duration) VALUES (toUUID('"+project.String()+"'), toDateTime("+
		at.Format("'2006-01-02 15:04:05'")+", 'UTC'), 'invocation', 1, 1, [123456789])"))
	got, err := reader.Query(t.Context(), project, analytics.Question{Roots: true, Oldest: at, Newest: at.Add(time.Minute), Specs: analytics.DefaultSpecs()})
	require.NoError(t, err)
	require.Len(t, got.Buckets, 1)
	require.InDelta(t, 123456789, *got.Buckets[0].Metrics["attributes.ag.metrics.duration.cumulative"].Sum, 0)
}

// inMinutes waits until all that was written is in the table.
func (w *pipeline) inMinutes(t *testing.T, projects ...domain.ProjectID) {
	t.Helper()
	for _, project := range projects {
		w.finalized(t, project)
	}
	at := time.Now().UnixMicro()
	require.Eventually(t, func() bool {
		var claim int64
		err := w.conn.QueryRow(t.Context(), "SELECT toInt64(max(version)) FROM rollup_watermark").Scan(&claim)
		return err == nil && claim > at
	}, 3*time.Minute, 50*time.Millisecond, "the minutes are claimed")
}

// A trace that is sent to several projects, to each with other spans, costs in
// each what its spans there cost.
func TestMinutesOfATraceInSeveralProjects(t *testing.T) {
	t.Parallel()
	w := newPipeline(t, func(c *sink.Config) {
		c.FinalizeAfter, c.FinalizeEvery, c.RollupEvery, c.MaxClockSkew = 500*time.Millisecond, 100*time.Millisecond, time.Second, 50*time.Millisecond
	})
	reader, err := analytics.New(analytics.DefaultConfig(), w.reader, time.Now)
	require.NoError(t, err)
	at := time.Now().UTC().Add(-time.Hour).Truncate(time.Minute)
	tokens := func(n int) map[string]any {
		return map[string]any{"ag.type.span": "chat", "ag.metrics.tokens.incremental.total": n}
	}
	projects := []domain.ProjectID{domain.ProjectID(uuid.New()), domain.ProjectID(uuid.New()), domain.ProjectID(uuid.New())}
	for i, project := range projects {
		for n := range uint64(8) {
			w.write(project, simple(n, 2*n+1, 0, at, 1, tokens(1)), simple(n, 2*n+2, 2*n+1, at, 1, tokens(10*i)))
		}
	}
	w.inMinutes(t, projects...)
	for i, project := range projects {
		got, err := reader.Query(t.Context(), project, analytics.Question{Roots: true, Oldest: at, Newest: at.Add(time.Minute), Specs: analytics.DefaultSpecs()})
		require.NoError(t, err)
		require.Len(t, got.Buckets, 1)
		require.InDelta(t, 8*(1+10*i), *got.Buckets[0].Metrics["attributes.ag.metrics.tokens.cumulative.total"].Sum, 0, "project %d", i)
	}
}

// minuteQuestion is one that trace_metrics_1m can answer, in part at least.
func (g *generator) minuteQuestion() analytics.Question {
	newest := g.now.Add(pick(g, 2*time.Hour, time.Duration(0), -time.Minute))
	if g.IntN(3) > 0 {
		newest = newest.Truncate(time.Minute)
	}
	q := analytics.Question{Roots: true, Newest: newest, Interval: pick(g, 0, 1, 7, 60, 1440)}
	q.Oldest = newest.Add(-pick(g, time.Hour, 36*time.Hour, 10*24*time.Hour, 600*24*time.Hour))
	if g.IntN(2) == 0 {
		q.Where = filter.TraceType{In: []trace.Type{pick(g, trace.Invocation, trace.Annotation)}}
	}
	q.Specs = analytics.DefaultSpecs()
	for _, p := range summedPaths {
		if g.IntN(2) == 0 {
			q.Specs = append(q.Specs, analytics.Spec{Type: analytics.Discrete, Path: "again." + p, Keys: strings.Split(p, ".")})
		}
	}
	return q
}
