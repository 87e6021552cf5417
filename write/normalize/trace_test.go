package normalize_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
	"colonnade/write/cost"
	"colonnade/write/normalize"
)

func child(n byte, attributes ...attribute) *otlp.Span {
	s := newSpan(attributes...)
	s.SpanId = []byte{n, 0, 0, 0, 0, 0, 0, 0}
	s.ParentSpanId = id(spanHex)
	s.StartTimeUnixNano += uint64(n)
	return s
}

func linked(s *otlp.Span) *otlp.Span {
	s.Links = []*otlp.Span_Link{{TraceId: id(traceHex), SpanId: id(spanHex)}}
	return s
}

func fitTrace(t *testing.T, spans ...*otlp.Span) (fitted []*trace.Span, typ trace.Type, declared bool) {
	t.Helper()
	got, refused, err := newNormalizer(t).Spans(normalize.Meta{ReceivedAt: received}, record(t, spans...))
	require.NoError(t, err)
	require.Empty(t, refused)
	for i := range got {
		fitted = append(fitted, &got[i])
	}
	typ, declared = normalize.Trace(fitted)
	return fitted, typ, declared
}

func TestTraceType(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		in       []*otlp.Span
		want     trace.Type
		declared bool
	}{
		{"without links", []*otlp.Span{newSpan(), child(1)}, trace.Invocation, false},
		{"a link anywhere", []*otlp.Span{newSpan(), linked(child(1))}, trace.Annotation, false},
		{"declared on one span", []*otlp.Span{newSpan(), child(1, attribute{"ag.type.trace", "annotation"})}, trace.Annotation, true},
		{"declared against the links", []*otlp.Span{linked(newSpan(attribute{"ag.type.trace", "invocation"})), child(1)}, trace.Invocation, true},
		{"declared both ways", []*otlp.Span{newSpan(attribute{"ag.type.trace", "annotation"}), child(1, attribute{"ag.type.trace", "invocation"})}, trace.Annotation, true},
		{"declared unknown", []*otlp.Span{newSpan(attribute{"ag.type.trace", "unknown"})}, trace.Invocation, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			spans, typ, declared := fitTrace(t, tt.in...)
			require.Equal(t, tt.want, typ)
			require.Equal(t, tt.declared, declared)
			for _, s := range spans {
				require.Equal(t, tt.want, s.Type)
				value, _ := jsonvalue.Lookup(s.Attributes, []string{"ag", "type", "trace"})
				require.Equal(t, tt.want.String(), value)
			}
		})
	}
}

func TestPromotionAcrossSpans(t *testing.T) {
	t.Parallel()
	spans, _, _ := fitTrace(t,
		child(2, attribute{"ag.session.id", "late"}, attribute{"ag.user.id", "u2"}, attribute{"ag.agent.id", "a2"}),
		newSpan(attribute{"ag.user.id", "root's own"}),
		child(1, attribute{"ag.session.id", "early"}),
	)
	root := spans[1]
	require.Equal(t, []string{"early", "root's own", "a2"}, []string{root.SessionID, root.UserID, root.AgentID})
	for _, s := range []*trace.Span{spans[0], spans[2]} {
		require.Empty(t, s.SessionID+s.UserID+s.AgentID, "only roots carry them")
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	const start, end = 1_700_000_000_000_000_001, 1_700_000_001_000_000_002
	now := received.UnixNano()
	tests := []struct {
		name                 string
		start, end           uint64
		wantStart, wantEnd   int64
		spanName, wantedName string
	}{
		{"all there", start, end, start, end, "n", "n"},
		{"no end", start, 0, start, start, "n", "n"},
		{"no start", 0, end, end, end, "n", "n"},
		{"neither", 0, 0, now, now, "n", "n"},
		{"no name", start, end, start, end, "", "31d6cfe04b90"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := newSpan()
			in.Name, in.StartTimeUnixNano, in.EndTimeUnixNano = tt.spanName, tt.start, tt.end
			s := fitOne(t, in)
			require.Equal(t, []int64{tt.wantStart, tt.wantEnd}, []int64{s.Start, s.End})
			require.Equal(t, tt.wantedName, s.Name)
			require.Equal(t, trace.Task, s.EffectiveType())
			require.True(t, s.IsRoot())
		})
	}
}

// TestWhatIsNoAttribute shows what is kept of kinds, codes, events and links out of range.
func TestWhatIsNoAttribute(t *testing.T) {
	t.Parallel()
	in := newSpan()
	in.Kind, in.Status = 99, &otlp.Status{Code: -1, Message: "m"}
	in.Events = []*otlp.Span_Event{{Name: "e", Attributes: keyValues([]attribute{{"a.b", 1}})}}
	in.Links = []*otlp.Span_Link{{TraceId: []byte{1}, SpanId: id(spanHex), Attributes: keyValues([]attribute{{"key", "k"}})}}
	s := fitOne(t, in)
	require.Equal(t, trace.KindUnspecified, s.Kind)
	require.Equal(t, trace.StatusUnset, s.Status)
	require.Equal(t, "m", s.StatusMessage)
	require.Empty(t, s.Links)
	require.Equal(t, []trace.Event{{Name: "e", Time: s.Start, Attributes: object{"a.b": int64(1)}}}, s.Events)
	parked, _ := jsonvalue.Lookup(s.Attributes, []string{"ag", "unsupported"})
	want := object{"kind": int64(99), "status_code": int64(-1), "links": []any{object{"trace_id": "01", "span_id": spanHex, "attributes": object{"key": "k"}}}}
	if diff := cmp.Diff(want, parked); diff != "" {
		t.Errorf("unsupported (-want +got):\n%s", diff)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	bad := func(change func(*otlp.Span)) *otlp.Span {
		s := newSpan()
		change(s)
		return s
	}
	registry := prometheus.NewRegistry()
	normalizer, err := normalize.New(cost.DefaultConfig(), registry)
	require.NoError(t, err)
	user := uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")
	spans, refused, err := normalizer.Spans(normalize.Meta{ReceivedAt: received, User: user}, record(t,
		bad(func(s *otlp.Span) { s.TraceId = []byte{1} }),
		bad(func(s *otlp.Span) { s.SpanId = nil }),
		newSpan(),
		bad(func(s *otlp.Span) { s.ParentSpanId = []byte{1, 2} }),
		bad(func(s *otlp.Span) { s.TraceId = make([]byte, 16) }),
		bad(func(s *otlp.Span) { s.StartTimeUnixNano = 1 << 63 }),
	))
	require.NoError(t, err)
	require.Len(t, spans, 1, "the good one is kept")
	require.Equal(t, user, spans[0].CreatedBy)
	reasons := make([]string, 0, len(refused))
	for _, r := range refused {
		require.Equal(t, "root", r.Name)
		reasons = append(reasons, r.Reason)
	}
	want := []string{
		"The trace_id has 1 bytes instead of 16.",
		"The span_id has 0 bytes instead of 8.",
		"The parent_span_id has 2 bytes instead of 8.",
		"The trace_id or span_id is all zeros.",
		"A time lies beyond the year 2262.",
	}
	if diff := cmp.Diff(want, reasons); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
	require.Equal(t, spanHex, refused[0].SpanID.String())
	require.Equal(t, traceHex, refused[1].TraceID.String())
	require.Equal(t, map[string]float64{"normalized": 1, "refused": 5}, counted(t, registry, "colonnade_normalize_spans_total"))

	_, _, err = normalizer.Spans(normalize.Meta{ReceivedAt: time.Time{}}, []byte{0x0a, 0xff})
	require.Error(t, err, "a record that is no protobuf")
}

// counted gives a counter by the value of its only label.
func counted(t *testing.T, registry *prometheus.Registry, name string) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	values := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == name {
				values[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
			}
		}
	}
	return values
}

func TestResourceAndScope(t *testing.T) {
	t.Parallel()
	data := record(t, newSpan(), child(1))
	withOrigin := &otlp.TracesData{}
	unmarshal(t, data, withOrigin)
	withOrigin.ResourceSpans[0].Resource = resource(attribute{"service.name", "api"}, attribute{"service", "x"}, attribute{"k8s.pod.0", 1})
	withOrigin.ResourceSpans[0].ScopeSpans[0].Scope = scope("lib", "1.2", attribute{"a.b", "c"})
	spans, _, err := newNormalizer(t).Spans(normalize.Meta{ReceivedAt: received}, marshal(t, withOrigin))
	require.NoError(t, err)
	for _, s := range spans {
		require.Equal(t, object{"service": object{"name": "api"}, "service_": "x", "k8s": object{"pod": []any{int64(1)}}}, s.Resource)
		require.Equal(t, &trace.Scope{Name: "lib", Version: "1.2", Attributes: object{"a": object{"b": "c"}}}, s.Scope)
	}
}
