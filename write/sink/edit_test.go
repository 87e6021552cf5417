//go:build embedded

package sink_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"colonnade/write/stream"
)

// An edit of some spans leaves the others of their trace, and what it edits
// keeps its creation, wherever the new version stands.
func TestEditOfSomeSpans(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 2)
	h.start()
	h.send(h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "a"}, span{trace: 1, span: 2, parent: 1, name: "b"}))
	created := one[string](h, "SELECT toString(created_at) FROM spans WHERE span_name = 'a'")
	edit := h.record(stream.Edit, 1, span{trace: 1, span: 1, name: "a2", start: 70})
	edit.Headers = map[string]string{stream.HeaderScope: stream.ScopeSpans}
	h.send(edit)
	require.Equal(t, []string{"a2", "b"}, h.strings("SELECT span_name FROM spans ORDER BY span_name"))
	require.Equal(t, uint64(2), one[uint64](h, "SELECT count() FROM span_payloads_packed"))
	require.Equal(t, created, one[string](h, "SELECT toString(created_at) FROM spans WHERE span_name = 'a2'"))
	require.Equal(t, uint64(1), one[uint64](h, "SELECT count() FROM spans WHERE updated_at > created_at"))
	require.Equal(t, uint32(2), one[uint32](h, "SELECT spans FROM trace_totals FINAL"))
}

// What is written and edited in one batch was created when it was written;
// what is written after a delete is new.
func TestCreationWithinABatch(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 2)
	h.start()
	first, edited := h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "a"}), h.record(stream.Edit, 1, span{trace: 1, span: 1, name: "b"})
	h.send(first, edited)
	micros := func(r stream.Record) int64 { return r.ReceivedAt.UnixMicro() }
	require.Equal(t, []string{"b"}, h.strings("SELECT span_name FROM spans"))
	require.Equal(t, micros(first), one[int64](h, "SELECT toUnixTimestamp64Micro(created_at) FROM spans"))
	require.Equal(t, micros(edited), one[int64](h, "SELECT toUnixTimestamp64Micro(updated_at) FROM spans"))

	gone, again, last := h.record(stream.Delete, 1), h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "c"}), h.record(stream.Edit, 1, span{trace: 1, span: 1, name: "d"})
	h.send(gone, again, last)
	require.Equal(t, []string{"d"}, h.strings("SELECT span_name FROM spans"))
	require.Equal(t, micros(again), one[int64](h, "SELECT toUnixTimestamp64Micro(created_at) FROM spans"))
}

// An edit or a delete of some spans may name more of them than one condition takes.
func TestEditOfManySpans(t *testing.T) {
	t.Parallel()
	const many = 6000
	h := newFixture(t, 1)
	h.start()
	h.send(h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "root"}), h.many(stream.Upsert, many, "a"))
	edit := h.many(stream.Edit, many, "b")
	edit.Headers = map[string]string{stream.HeaderScope: stream.ScopeSpans}
	h.send(edit)
	require.Equal(t, []string{"b", "root"}, h.strings("SELECT DISTINCT span_name FROM spans ORDER BY span_name"))
	require.Equal(t, uint64(many+1), one[uint64](h, "SELECT count() FROM spans"))
	h.send(h.many(stream.Delete, many-1, "b"))
	require.Equal(t, uint64(2), one[uint64](h, "SELECT count() FROM spans"))
	require.Equal(t, uint64(2), one[uint64](h, "SELECT count() FROM span_payloads_packed"))
	require.Equal(t, uint32(2), one[uint32](h, "SELECT spans FROM trace_totals FINAL"))
}

// many is a record of n children of a trace's first span, all of one name.
func (h *fixture) many(op stream.Operation, n int, name string) stream.Record {
	r := h.record(op, 1)
	id, parent := traceOf(1), spanOf(1)
	scope := &tracepb.ScopeSpans{}
	for i := range n {
		scope.Spans = append(scope.Spans, &tracepb.Span{
			TraceId: id[:], ParentSpanId: parent[:], SpanId: binary.BigEndian.AppendUint64(nil, uint64(i)+1), Name: name,
			StartTimeUnixNano: uint64(base.UnixNano()), EndTimeUnixNano: uint64(base.UnixNano()) + 1,
		})
	}
	var err error
	r.Value, err = proto.Marshal(&tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{scope}}}})
	require.NoError(h.t, err)
	return r
}
