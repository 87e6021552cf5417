package wire_test

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/write/otlp/wire"
)

func text(s string) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: s}}
}

func attribute(k, v string) *commonpb.KeyValue { return &commonpb.KeyValue{Key: k, Value: text(v)} }

// nested is a value of arrays within arrays.
func nested(depth int) *commonpb.AnyValue {
	v := text("deep")
	for range depth {
		v = &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: &commonpb.ArrayValue{Values: []*commonpb.AnyValue{v}}}}
	}
	return v
}

func pbSpan(traceN, spanN byte, edit ...func(*tracepb.Span)) *tracepb.Span {
	s := &tracepb.Span{
		TraceId: append(bytes.Repeat([]byte{0}, 15), traceN), SpanId: append(bytes.Repeat([]byte{0}, 7), spanN),
		ParentSpanId: []byte{1, 2, 3, 4, 5, 6, 7, 8}, Name: fmt.Sprintf("span %d", spanN), Kind: tracepb.Span_SPAN_KIND_CLIENT,
		StartTimeUnixNano: 1_700_000_000_000_000_001, EndTimeUnixNano: 1_700_000_000_500_000_002, TraceState: "a=b", Flags: 1,
		Attributes: []*commonpb.KeyValue{attribute("gen_ai.system", "openai"), {Key: "n", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: -3}}}},
		Events:     []*tracepb.Span_Event{{Name: "e", TimeUnixNano: 5, Attributes: []*commonpb.KeyValue{attribute("k", "v")}}},
		Links:      []*tracepb.Span_Link{{TraceId: make([]byte, 16), SpanId: make([]byte, 8), Attributes: []*commonpb.KeyValue{attribute("k", "v")}}},
		Status:     &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: "no"},
	}
	for _, e := range edit {
		e(s)
	}
	return s
}

func pbScope(name string, spans ...*tracepb.Span) *tracepb.ScopeSpans {
	return &tracepb.ScopeSpans{Scope: &commonpb.InstrumentationScope{Name: name, Version: "1"}, Spans: spans, SchemaUrl: "https://example.test/1"}
}

func pbResource(name string, scopes ...*tracepb.ScopeSpans) *tracepb.ResourceSpans {
	return &tracepb.ResourceSpans{
		Resource:   &resourcepb.Resource{Attributes: []*commonpb.KeyValue{attribute("service.name", name)}},
		ScopeSpans: scopes, SchemaUrl: "https://example.test/2",
	}
}

func marshal(t testing.TB, resources ...*tracepb.ResourceSpans) string {
	t.Helper()
	b, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: resources})
	require.NoError(t, err)
	return string(b)
}

// encoded is the parts of a batch as messages.
func encoded(t testing.TB, b *wire.Batch, target, most int) []*tracepb.TracesData {
	t.Helper()
	var all []*tracepb.TracesData
	for _, p := range b.Split(target, most) {
		buf := make([]byte, p.MaxBytes)
		var d tracepb.TracesData
		require.NoError(t, proto.Unmarshal(b.Encode(buf, p), &d))
		all = append(all, &d)
	}
	return all
}

func TestSpansOfATraceKeepTheirWrappersAndOrder(t *testing.T) {
	t.Parallel()
	body := marshal(t,
		pbResource("one", pbScope("a", pbSpan(1, 1), pbSpan(2, 2), pbSpan(1, 3)), pbScope("b", pbSpan(2, 4))),
		pbResource("two", pbScope("a", pbSpan(1, 5), pbSpan(3, 6))),
		&tracepb.ResourceSpans{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{pbSpan(1, 7)}}}},
	)
	var b wire.Batch
	for range 2 { // a batch is used again
		require.NoError(t, b.Scan(body))
		require.Zero(t, b.Refused.Count)
		require.Len(t, b.Spans, 7)
		want := []*tracepb.TracesData{
			{ResourceSpans: []*tracepb.ResourceSpans{
				pbResource("one", pbScope("a", pbSpan(1, 1), pbSpan(1, 3))), pbResource("two", pbScope("a", pbSpan(1, 5))),
				{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{pbSpan(1, 7)}}}},
			}},
			{ResourceSpans: []*tracepb.ResourceSpans{pbResource("one", pbScope("a", pbSpan(2, 2)), pbScope("b", pbSpan(2, 4)))}},
			{ResourceSpans: []*tracepb.ResourceSpans{pbResource("two", pbScope("a", pbSpan(3, 6)))}},
		}
		require.Empty(t, cmp.Diff(want, encoded(t, &b, 1<<20, 1<<20), protocmp.Transform()))
	}
}

func TestSplitKeepsRecordsSmallAndRefusesWhatCannotFit(t *testing.T) {
	t.Parallel()
	long := func(n int) func(*tracepb.Span) {
		return func(s *tracepb.Span) { s.Attributes = []*commonpb.KeyValue{attribute("text", strings.Repeat("x", n))} }
	}
	body := marshal(t, pbResource("one", pbScope("a",
		pbSpan(1, 1, long(600)), pbSpan(1, 2, long(600)), pbSpan(2, 3, long(50_000)), pbSpan(1, 4, long(600)), pbSpan(1, 5, long(5_000)), pbSpan(1, 6, long(600)))))
	var b wire.Batch
	require.NoError(t, b.Scan(body))
	var names [][]string
	for _, d := range encoded(t, &b, 2000, 10_000) {
		var of []string
		for _, s := range d.ResourceSpans[0].ScopeSpans[0].Spans {
			of = append(of, s.Name)
		}
		names = append(names, of)
	}
	require.Equal(t, [][]string{{"span 1"}, {"span 2", "span 4"}, {"span 5"}, {"span 6"}}, names)
	require.Len(t, b.Spans, 5)
	require.Equal(t, 1, b.Refused.Count)
	require.Equal(t, "span 3", b.Refused.First[0].Name)
	require.Equal(t, "span is larger than the stream takes", b.Refused.First[0].Reason)
}

func TestABadSpanIsRefusedAlone(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, want string
		edit       func(*tracepb.Span)
	}{
		{"short trace id", "trace_id is not 16 bytes that are not all zero", func(s *tracepb.Span) { s.TraceId = s.TraceId[:15] }},
		{"zero trace id", "trace_id is not 16 bytes that are not all zero", func(s *tracepb.Span) { s.TraceId = make([]byte, 16) }},
		{"no span id", "span_id is not 8 bytes that are not all zero", func(s *tracepb.Span) { s.SpanId = nil }},
		{"long parent id", "parent_span_id is not 8 bytes", func(s *tracepb.Span) { s.ParentSpanId = make([]byte, 9) }},
		{"kind", "kind is out of range", func(s *tracepb.Span) { s.Kind = 6 }},
		{"negative kind", "kind is out of range", func(s *tracepb.Span) { s.Kind = -1 }},
		{"status", "status code is out of range", func(s *tracepb.Span) { s.Status.Code = 3 }},
		{"start", "a time is after the year 2262", func(s *tracepb.Span) { s.StartTimeUnixNano = math.MaxInt64 + 1 }},
		{"end", "a time is after the year 2262", func(s *tracepb.Span) { s.EndTimeUnixNano = math.MaxUint64 }},
		{"event time", "event: a time is after the year 2262", func(s *tracepb.Span) { s.Events[0].TimeUnixNano = math.MaxUint64 }},
		{"link", "a link's trace_id is not 16 bytes or its span_id not 8", func(s *tracepb.Span) { s.Links[0].SpanId = []byte{1} }},
		{"depth", `attribute "deep": a value nests too deep`, func(s *tracepb.Span) {
			s.Attributes = []*commonpb.KeyValue{{Key: "deep", Value: nested(wire.MaxValueDepth)}}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var b wire.Batch
			require.NoError(t, b.Scan(marshal(t, pbResource("one", pbScope("a", pbSpan(1, 1), pbSpan(1, 2, tt.edit), pbSpan(1, 3))))))
			require.Len(t, b.Spans, 2)
			require.Equal(t, 1, b.Refused.Count)
			require.Equal(t, tt.want, b.Refused.First[0].Reason)
			require.Equal(t, "span 2", b.Refused.First[0].Name)
			require.Len(t, encoded(t, &b, 1<<20, 1<<20), 1)
		})
	}
}

// TestTextThatIsNotUTF8 cannot be marshalled from objects, so bytes are exchanged.
func TestTextThatIsNotUTF8(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, want string
		edit       func(*tracepb.Span)
	}{
		{"name", "name: text is not UTF-8", func(s *tracepb.Span) { s.Name = "BAD" }},
		{"value", `attribute "k": text is not UTF-8`, func(s *tracepb.Span) { s.Attributes[0] = attribute("k", "BAD") }},
		{"key", `attribute "B\xffD": text is not UTF-8`, func(s *tracepb.Span) { s.Attributes[0] = attribute("BAD", "v") }},
		{"event", "event: text is not UTF-8", func(s *tracepb.Span) { s.Events[0].Name = "BAD" }},
		{"status", "status message: text is not UTF-8", func(s *tracepb.Span) { s.Status.Message = "BAD" }},
		{"trace state", "text is not UTF-8", func(s *tracepb.Span) { s.TraceState = "BAD" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			body := marshal(t, pbResource("one", pbScope("a", pbSpan(1, 1), pbSpan(1, 2, tt.edit))))
			var b wire.Batch
			require.NoError(t, b.Scan(strings.ReplaceAll(body, "BAD", "B\xffD")))
			require.Len(t, b.Spans, 1)
			require.Equal(t, 1, b.Refused.Count)
			require.Equal(t, tt.want, b.Refused.First[0].Reason)
			require.Equal(t, byte(2), b.Refused.First[0].Span[7])
		})
	}
}

func TestABadWrapperRefusesItsSpansOnly(t *testing.T) {
	t.Parallel()
	body := marshal(t, pbResource("BAD", pbScope("a", pbSpan(1, 1), pbSpan(1, 2))), pbResource("good", pbScope("BAD", pbSpan(2, 3)), pbScope("b", pbSpan(2, 4))), pbResource("BAD"))
	var b wire.Batch
	require.NoError(t, b.Scan(strings.ReplaceAll(body, "BAD", "B\xffD")))
	require.Len(t, b.Spans, 1)
	require.Equal(t, trace.SpanID{7: 4}, b.Spans[0].Span)
	var reasons []string
	for _, r := range b.Refused.First {
		reasons = append(reasons, r.Reason)
	}
	resource := `resource: attribute "service.name": text is not UTF-8`
	require.Equal(t, []string{resource, resource, "scope: text is not UTF-8", resource}, reasons)
}

func TestAnUnusableBodyIsRejected(t *testing.T) {
	t.Parallel()
	good := marshal(t, pbResource("one", pbScope("a", pbSpan(1, 1))))
	for _, body := range []string{good[:len(good)-1], "\x0a\xff", "\x0b", "hello", "\x07"} {
		var b wire.Batch
		require.Equal(t, domain.Rejected, domain.KindOf(b.Scan(body)), "%q", body)
	}
	var b wire.Batch
	require.NoError(t, b.Scan(""))
	require.Empty(t, b.Split(100, 100))
	many := &tracepb.ScopeSpans{Spans: make([]*tracepb.Span, wire.MaxSpans+1)}
	for i := range many.Spans {
		many.Spans[i] = &tracepb.Span{}
	}
	require.Equal(t, domain.TooLarge, domain.KindOf(b.Scan(marshal(t, pbResource("one", many)))))
}

// FuzzScan holds Scan to proto.Unmarshal: what it accepts means the same as
// what the oracle reads, and nothing that the oracle refuses is accepted.
func FuzzScan(f *testing.F) {
	f.Add([]byte(marshal(f, pbResource("one", pbScope("a", pbSpan(1, 1), pbSpan(2, 2)), pbScope("b", pbSpan(1, 3))), pbResource("two", pbScope("c", pbSpan(1, 4))))))
	f.Add([]byte(marshal(f, &tracepb.ResourceSpans{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{{}}}}})))
	f.Add([]byte(marshal(f, pbResource("one", pbScope("a", pbSpan(1, 1, func(s *tracepb.Span) {
		s.Attributes = append(s.Attributes, &commonpb.KeyValue{Key: "deep", Value: nested(3)}, &commonpb.KeyValue{Key: "map", Value: &commonpb.AnyValue{
			Value: &commonpb.AnyValue_KvlistValue{KvlistValue: &commonpb.KeyValueList{Values: []*commonpb.KeyValue{attribute("x", "y")}}},
		}})
	}))))))
	f.Add([]byte("\x0a\x04\x12\x02\x12\x00\x13\x14"))
	f.Fuzz(func(t *testing.T, body []byte) {
		var b wire.Batch
		err := b.Scan(string(body))
		var oracle tracepb.TracesData
		refused := proto.Unmarshal(body, &oracle) != nil
		if err != nil {
			if !refused && domain.KindOf(err) == domain.Rejected && !strings.Contains(err.Error(), "groups nest too deep") {
				t.Fatalf("the oracle reads what Scan rejects: %v", err)
			}
			return
		}
		if refused && b.Refused.Count == 0 {
			t.Fatal("Scan accepts what the oracle refuses")
		}
		got := make(map[string][]*tracepb.ResourceSpans)
		n := 0
		for _, d := range encoded(t, &b, 1<<30, 1<<30) { // fails where the oracle refuses an accepted span
			for _, r := range d.ResourceSpans {
				for _, sc := range r.ScopeSpans {
					for _, s := range sc.Spans {
						n++
						got[string(s.TraceId)] = append(got[string(s.TraceId)], &tracepb.ResourceSpans{
							Resource: r.Resource, SchemaUrl: r.SchemaUrl,
							ScopeSpans: []*tracepb.ScopeSpans{{Scope: sc.Scope, SchemaUrl: sc.SchemaUrl, Spans: []*tracepb.Span{s}}},
						})
					}
				}
			}
		}
		if n != len(b.Spans) {
			t.Fatalf("%d spans encoded of %d", n, len(b.Spans))
		}
		if refused || b.Refused.Count > 0 {
			return
		}
		want := make(map[string][]*tracepb.ResourceSpans)
		for _, r := range oracle.ResourceSpans {
			for _, sc := range r.ScopeSpans {
				for _, s := range sc.Spans {
					want[string(s.TraceId)] = append(want[string(s.TraceId)], &tracepb.ResourceSpans{
						Resource: r.Resource, SchemaUrl: r.SchemaUrl,
						ScopeSpans: []*tracepb.ScopeSpans{{Scope: sc.Scope, SchemaUrl: sc.SchemaUrl, Spans: []*tracepb.Span{s}}},
					})
				}
			}
		}
		same := func(a, b *tracepb.ResourceSpans) bool { return proto.Equal(a, b) }
		if !maps.EqualFunc(want, got, func(a, b []*tracepb.ResourceSpans) bool { return slices.EqualFunc(a, b, same) }) {
			t.Fatalf("(-oracle +scan)\n%s", cmp.Diff(want, got, protocmp.Transform()))
		}
	})
}

// Fields that may come once and come many thousand times are joined in one go:
// what that costs grows with the body, not with its square.
func TestRepeatedFieldsAreJoinedInOneGo(t *testing.T) { // alone: it measures what the process allocates
	const pieces = 300_000
	var resource []byte
	for range pieces {
		resource = append(resource, 1<<3|2, 2, 2<<3, 0) // resource { dropped_attributes_count: 0 }
	}
	span := []byte{2<<3 | 2, 3, 2<<3 | 2, 1, 0} // scope_spans { spans { an invalid one } }
	body := protowire.AppendBytes([]byte{1<<3 | 2}, append(resource, span...))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var b wire.Batch
	require.NoError(t, b.Scan(string(body)))
	require.NoError(t, wire.Walk(string(body), func(_, _, _ string) error { return nil }))
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(20*len(body)))
}

// What holds no good span is not kept, and of bad ones no more than some: a body
// of nothing but wrappers costs what it weighs.
func TestEmptyAndBadWrappersAreNotKept(t *testing.T) { // alone: it measures what the process allocates
	const mebibyte = 1 << 20
	tests := []struct {
		name, piece string
		pieces      int
		refused     int
		kind        domain.Kind
	}{
		{"empty resources", "\x0a\x00", 2 * mebibyte, 0, 0},
		{"empty scopes", "\x0a\x02\x12\x00", mebibyte, 0, 0},
		{"resources that are bad", "\x0a\x03\x0a\x01\xff", 100_000, 100_000, 0},
		{"scopes that are bad", "\x0a\x05\x12\x03\x0a\x01\xff", 100_000, 100_000, 0},
		{"spans that are bad", "\x0a\x04\x12\x02\x12\x00", 100_000, 100_000, 0},
		{"more bad resources than there may be spans", "\x0a\x03\x0a\x01\xff", wire.MaxSpans + 1, 0, domain.TooLarge},
	}
	for _, tt := range tests {
		body := strings.Repeat(tt.piece, tt.pieces)
		var b wire.Batch
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		err := b.Scan(body)
		runtime.GC()
		runtime.ReadMemStats(&after)
		require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(mebibyte), tt.name)
		require.Equal(t, tt.kind, domain.KindOf(err), tt.name)
		if err == nil {
			require.Equal(t, tt.refused, b.Refused.Count, tt.name)
			require.LessOrEqual(t, len(b.Refused.First), wire.MaxRefused, tt.name)
		}
		runtime.KeepAlive(&b)
		runtime.KeepAlive(body)
	}
}

// A span of too many parts is refused by the scanner and by the decoder.
func TestASpanOfTooManyParts(t *testing.T) {
	t.Parallel()
	values := func(n int, value string) string { return strings.Repeat(value, n) }
	field := func(number int, content string) string {
		return string(protowire.AppendString(protowire.AppendTag(nil, protowire.Number(number), protowire.BytesType), content))
	}
	attribute := func(value string) string { return field(9, field(1, "k")+field(2, value)) }
	good, err := proto.Marshal(pbSpan(1, 2))
	require.NoError(t, err)
	tests := map[string]string{
		"events":        values(3_000_000, "\x5a\x00"),
		"links":         values(700_000, "\x6a\x00"),
		"empty values":  attribute(field(5, values(9_000_000, "\x0a\x00"))),
		"objects":       attribute(field(5, values(900_000, "\x0a\x02\x32\x00"))),
		"parts of keys": values(30_000, field(9, field(1, strings.Repeat("a.", 40)))),
	}
	for name, parts := range tests {
		var b wire.Batch
		require.NoError(t, b.Scan(field(1, field(2, field(2, string(good)+parts)+field(2, string(good))))), name)
		require.Len(t, b.Spans, 1, name)
		require.Equal(t, 1, b.Refused.Count, name)
		require.Equal(t, "the span holds too many attributes, values, events or links", b.Refused.First[0].Reason, name)
		require.Equal(t, "span 2", b.Refused.First[0].Name, name)
		require.ErrorContains(t, new(wire.Span).Decode(string(good)+parts), "too many", name)
	}
}
