//go:build embedded

package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
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
	record "colonnade/domain/simple"
	"colonnade/domain/trace"
	"colonnade/read/filtersql"
	"colonnade/read/filtersql/traits"
	"colonnade/read/order"
	"colonnade/read/statements"
	"colonnade/write/sink"
	"colonnade/write/stream"
)

// judges makes traces that judge others, of few names, so that queries made of
// the same ones find some.
type judges struct {
	*generator
	evaluators, revisions, testsets, cases []uuid.UUID
	begun                                  time.Time
}

func newJudges() *judges {
	j := &judges{generator: &generator{Rand: rand.New(rand.NewPCG(3, 4))}, begun: time.Now().UTC().Add(-3 * time.Hour).Truncate(time.Millisecond)}
	for _, ids := range []*[]uuid.UUID{&j.evaluators, &j.revisions, &j.testsets, &j.cases} {
		for n := range 3 {
			*ids = append(*ids, uuid.NewSHA1(uuid.Nil, fmt.Append(nil, j.Uint64(), n)))
		}
	}
	return j
}

var judgeSlugs = []string{"quality", "tone", "length"}

// reference names a thing by its id, its slug, its version, or some of them.
func (j *judges) reference(ids []uuid.UUID, slugs ...string) domain.Reference {
	n := j.IntN(len(ids))
	r := domain.Reference{}
	if j.IntN(3) > 0 {
		r.ID = ids[n]
	}
	if r.ID == uuid.Nil || j.IntN(2) == 0 {
		r.Slug = slugs[j.IntN(len(slugs))]
	}
	if j.IntN(4) == 0 {
		r.Version = pick(j.generator, "1", "2")
	}
	return r
}

func (j *judges) references(p float64) map[string]domain.Reference {
	out := map[string]domain.Reference{}
	if j.Float64() < p {
		out["evaluator"] = j.reference(j.evaluators, judgeSlugs...)
	}
	for key, ids := range map[string][]uuid.UUID{"application_revision": j.revisions, "testset_revision": j.testsets, "testcase": j.cases} {
		if j.Float64() < p/2 {
			out[key] = j.reference(ids, "r1", "r2")
		}
	}
	if j.IntN(6) == 0 {
		out["application"] = domain.Reference{Slug: "my-app"}
	}
	return out
}

// link is to a span of few traces.
func (j *judges) link() (trace.TraceID, trace.SpanID) {
	n := uint64(j.IntN(4))
	return trace.TraceID(traceIDOf(5000 + n)), trace.SpanID(idOf(n%2 + 1))
}

// trace is of one to three spans; which of them is linked, declared or refers
// to what is left to chance.
func (j *judges) trace(n uint64) *tracepb.TracesData {
	scope := &tracepb.ScopeSpans{}
	for i := range uint64(1 + j.IntN(3)) {
		start := j.begun.Add(time.Duration(j.IntN(300)) * pick(j.generator, time.Millisecond, 20*time.Second))
		s := &tracepb.Span{TraceId: traceIDOf(n), SpanId: idOf(n<<8 | i + 1), Name: "judge", StartTimeUnixNano: uint64(start.UnixNano()), EndTimeUnixNano: uint64(start.UnixNano() + 1000)}
		if i > 0 && j.IntN(5) > 0 {
			s.ParentSpanId = idOf(n<<8 | 1)
		}
		attributes := map[string]any{}
		for key, r := range j.references(.8) {
			at := "ag.references." + key + "."
			if r.ID != uuid.Nil {
				attributes[at+"id"] = pick(j.generator, r.ID.String(), strings.ToUpper(r.ID.String()))
			}
			if r.Slug != "" {
				attributes[at+"slug"] = r.Slug
			}
			if r.Version != "" {
				attributes[at+"version"] = r.Version
			}
		}
		if j.IntN(8) > 0 {
			attributes["ag.data.outputs"] = map[string]any{"score": j.IntN(5)}
		}
		for _, flag := range []string{"is_feedback", "is_custom", "is_evaluation", "is_sdk", "is_web"} {
			if j.IntN(3) == 0 {
				attributes["ag.flags."+flag] = true
			}
		}
		if j.IntN(3) == 0 {
			attributes["ag.tags.t"] = pick(j.generator, "a", "b")
		}
		if j.IntN(3) == 0 {
			attributes["ag.meta.m"] = pick[any](j.generator, 1, "x")
		}
		if j.IntN(6) == 0 {
			attributes["ag.type.trace"] = pick(j.generator, "annotation", "invocation")
		}
		s.Attributes = keyValues(attributes)
		for range j.IntN(3) * j.IntN(2) {
			traceID, spanID := j.link()
			s.Links = append(s.Links, &tracepb.Span_Link{TraceId: traceID[:], SpanId: spanID[:], Attributes: keyValues(map[string]any{"key": "k"})})
		}
		scope.Spans = append(scope.Spans, s)
	}
	return &tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{scope}}}}
}

func (j *judges) query() (record.Face, record.Query) {
	q := record.Query{References: j.references(.7)}
	if j.IntN(4) == 0 {
		q.Origin = pick(j.generator, record.Custom, record.Human, record.Auto)
	}
	if j.IntN(5) == 0 {
		q.Kind = pick(j.generator, record.Adhoc, record.Eval)
	}
	if j.IntN(5) == 0 {
		q.Channel = pick(j.generator, record.API, record.SDK, record.Web)
	}
	if j.IntN(6) == 0 {
		q.Tags = map[string]any{"t": pick(j.generator, "a", "b")}
	}
	if j.IntN(6) == 0 {
		q.Meta = map[string]any{"m": pick[any](j.generator, int64(1), "x")}
	}
	for range j.IntN(3) * j.IntN(2) {
		traceID, spanID := j.link()
		if j.IntN(2) == 0 {
			spanID = trace.SpanID{}
		}
		q.Links, q.AnyLink = append(q.Links, record.Link{TraceID: traceID, SpanID: spanID}), j.IntN(3) > 0
	}
	return pick(j.generator, record.Trace, record.Annotation, record.Invocation), q
}

// Queries that name an evaluator or a link read annotation_index and evaluation_index in
// the order of their key; they answer as a look at every span does, after
// edits, deletes and spans that come late, in both orders, page by page.
func TestAnnotationLookup(t *testing.T) {
	t.Parallel()
	readsOnly(t)
	w := newPipeline(t, func(c *sink.Config) { c.FinalizeAfter, c.FinalizeEvery = 500*time.Millisecond, 100*time.Millisecond })
	j := newJudges()
	project, other := domain.ProjectID(uuid.New()), domain.ProjectID(uuid.New())
	var all []*tracepb.TracesData
	for n := range uint64(300) {
		all = append(all, j.trace(n+1))
	}
	w.write(project, all...)
	w.write(other, all[:40]...)
	changed := w.change(t, project, j, all)
	corpus := w.everySpan(t, project)
	require.NotEmpty(t, corpus)
	require.Positive(t, changed)
	slices.SortFunc(corpus, byPlace)
	byTable := map[string]int{}
	for range asked(110) {
		face, q := j.query()
		where, err := q.Filter(face)
		require.NoError(t, err)
		c, err := filtersql.Filter(where)
		require.NoError(t, err)
		table := tableOf(c)
		byTable[table] += w.checkPages(project, corpus, j, where, fmt.Sprintf("%s %d %+v", table, face, q))
	}
	for _, table := range []string{"spans", "annotation_index", "evaluation_index"} {
		require.Greater(t, byTable[table], asked(30), "%s found some: %v", table, byTable)
	}
	for name, key := range map[string]string{"annotation_index": "link_trace_id", "evaluation_index": "evaluator_key"} {
		w.readsRange(project, name, key)
	}
}

func tableOf(c *filtersql.Condition) string {
	switch {
	case c.AnnotationLookup == nil:
		return "spans"
	case c.AnnotationLookup.LinkedTraces != nil:
		return "annotation_index"
	default:
		return "evaluation_index"
	}
}

// checkPages walks through a list and compares it with the corpus; it gives how many it found.
func (w *pipeline) checkPages(project domain.ProjectID, corpus []trace.Span, j *judges, where filter.Expr, text string) int {
	w.t.Helper()
	window := domain.Window{Limit: 5 + j.IntN(60), Order: pick(j.generator, domain.Ascending, domain.Descending)}
	lo, hi := int64(0), int64(1)<<62
	if j.IntN(3) == 0 {
		window.Oldest = j.begun.Add(time.Duration(j.IntN(100)) * 20 * time.Second)
		window.Newest = window.Oldest.Add(time.Hour)
		lo, hi = window.Oldest.UnixMicro(), window.Newest.UnixMicro()
		if window.Order == domain.Ascending {
			lo++
		} else {
			hi--
		}
	}
	var want, got []spanKey
	for i := range corpus {
		if at := place(&corpus[i]).Start; at >= lo && at <= hi && filter.Match(where, &corpus[i]) {
			want = append(want, spanKey{corpus[i].TraceID, corpus[i].SpanID})
		}
	}
	if window.Order == domain.Descending {
		slices.Reverse(want)
	}
	for {
		list := w.reader.Records
		if j.IntN(2) == 0 {
			list = w.reader.Spans
		}
		page, err := list(w.t.Context(), project, where, window)
		require.NoError(w.t, err, text)
		for i := range page.Items {
			got = append(got, spanKey{page.Items[i].TraceID, page.Items[i].SpanID})
		}
		if window.Next = page.Next; page.Next == uuid.Nil {
			break
		}
		require.Len(w.t, page.Items, window.Limit, text)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(spanKey{})); diff != "" {
		w.t.Fatalf("%s %+v (-want +got):\n%s", text, window, diff)
	}
	traces, err := w.reader.Traces(w.t.Context(), project, where, domain.Window{Limit: 500, Order: window.Order, Oldest: window.Oldest, Newest: window.Newest})
	require.NoError(w.t, err, text)
	var order, gotTraces []trace.TraceID
	for _, k := range want {
		if !slices.Contains(order, k.trace) {
			order = append(order, k.trace)
		}
	}
	for _, spans := range traces.Items {
		gotTraces = append(gotTraces, spans[0].TraceID)
	}
	require.Equal(w.t, order, gotTraces, text)
	return len(want)
}

// change edits some of the traces, deletes some, adds late spans to others.
func (w *pipeline) change(t *testing.T, project domain.ProjectID, j *judges, all []*tracepb.TracesData) (changed int) {
	t.Helper()
	var records []stream.Record
	for i, data := range all {
		first := data.ResourceSpans[0].ScopeSpans[0].Spans[0]
		r := stream.Record{Project: project, User: uuid.UUID{2}, Trace: trace.TraceID(first.TraceId), Source: "otlp", ReceivedAt: time.Now().UTC().Truncate(time.Microsecond)}
		again := j.trace(uint64(i + 1))
		switch j.IntN(8) {
		case 0:
			r.Operation = stream.Delete
		case 1:
			r.Operation, r.Value = stream.Edit, marshal(w.t, again)
		case 2: // some of the spans in another version, at another time
			r.Operation, r.Value = stream.Upsert, marshal(w.t, again)
		case 3: // a link that comes late makes all of it an annotation, unless it says otherwise
			traceID, spanID := j.link()
			late := &tracepb.Span{
				TraceId: first.TraceId, SpanId: idOf(uint64(i)<<8 | 200), ParentSpanId: first.SpanId, Name: "late", StartTimeUnixNano: first.StartTimeUnixNano + 5, EndTimeUnixNano: first.StartTimeUnixNano + 6,
				Links: []*tracepb.Span_Link{{TraceId: traceID[:], SpanId: spanID[:]}},
			}
			again.ResourceSpans[0].ScopeSpans[0].Spans = []*tracepb.Span{late}
			r.Operation, r.Value = stream.Upsert, marshal(w.t, again)
		default:
			continue
		}
		records = append(records, r)
	}
	token, err := w.producer.Publish(w.t.Context(), records)
	require.NoError(w.t, err)
	pending, err := w.reader.Wait(w.t.Context(), token)
	require.NoError(w.t, err)
	require.Empty(w.t, pending)
	w.finalized(t, project)
	return len(records)
}

func marshal(t testing.TB, data *tracepb.TracesData) []byte {
	t.Helper()
	value, err := proto.Marshal(data)
	require.NoError(t, err)
	return value
}

// readsRange sees that the places of a table are read within its key's ranges.
func (w *pipeline) readsRange(project domain.ProjectID, name, key string) {
	w.t.Helper()
	lookup := &traits.Annotations{Slugs: []string{"quality"}}
	if name == "annotation_index" {
		lookup = &traits.Annotations{LinkedTraces: []trace.TraceID{{1}, {2}}}
	}
	s := statements.AnnotationPositions{Project: project, Lookup: lookup, Keys: lookup.Slugs, Range: order.Everything(), Limit: 50}.Statement()
	require.Contains(w.t, s.SQL, " FROM "+name+" ")
	var plan strings.Builder
	rows, err := w.conn.Query(w.t.Context(), "EXPLAIN indexes = 1 "+s.SQL, s.Args...)
	require.NoError(w.t, err)
	for rows.Next() {
		var line string
		require.NoError(w.t, rows.Scan(&line))
		plan.WriteString(line + "\n")
	}
	require.NoError(w.t, rows.Err())
	require.Contains(w.t, plan.String(), key+" in ", "the key's range")
}
