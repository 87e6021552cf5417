package tracejson_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/jsonvalue/jsonvaluetest"
	"colonnade/domain/trace"
	"colonnade/domain/trace/tracejson"
)

// randomSpan returns a random span of those that the JSON form can represent.
func randomSpan(r *rand.Rand) trace.Span {
	s := trace.Span{
		Type: trace.Type(r.IntN(4)), Kind: trace.Kind(r.IntN(6)), Status: trace.Status(r.IntN(3)),
		Name: jsonvaluetest.Text(r), Start: int64(r.Uint64()), End: int64(r.Uint64()),
		StatusMessage: jsonvaluetest.Text(r), Identifiers: trace.Identifiers{SessionID: jsonvaluetest.Text(r), UserID: jsonvaluetest.Text(r), AgentID: jsonvaluetest.Text(r)},
		Attributes: jsonvaluetest.Object(r, 3), CreatedAt: time.UnixMicro(r.Int64N(1e16)).UTC(),
	}
	for _, id := range [][]byte{s.TraceID[:], s.SpanID[:], s.ParentID[:]} {
		for i := range id {
			id[i] = byte(1 + r.IntN(255))
		}
	}
	if r.IntN(2) == 0 {
		s.ParentID = trace.SpanID{}
		s.UpdatedAt = s.CreatedAt.Add(time.Microsecond)
		s.CreatedBy = uuid.UUID{1, byte(r.Uint32())}
		s.Resource = jsonvaluetest.Object(r, 2)
		s.Scope = &trace.Scope{Name: jsonvaluetest.Text(r), Attributes: jsonvaluetest.Object(r, 1)}
	}
	if r.IntN(2) == 0 {
		s.SpanType = trace.SpanType(2 + r.IntN(11))
	}
	for range r.IntN(3) {
		s.References = append(s.References, trace.Reference{Key: "application", Reference: domain.Reference{ID: uuid.UUID{2}, Slug: jsonvaluetest.Text(r)}})
		s.Links = append(s.Links, trace.Link{TraceID: s.TraceID, Attributes: jsonvaluetest.Object(r, 1)})
		s.Hashes = append(s.Hashes, trace.Hash{ID: uuid.UUID{3}, Attributes: map[string]any{"key": "indirect"}})
		s.Events = append(s.Events, trace.Event{Name: jsonvaluetest.Text(r), Time: int64(r.Uint64()), Attributes: jsonvaluetest.Object(r, 1)})
	}
	return s
}

func FuzzAppendSpan(f *testing.F) {
	for seed := range uint64(32) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		want := randomSpan(rand.New(rand.NewPCG(seed, 1)))
		text := tracejson.AppendSpan(nil, &want)
		require.True(t, json.Valid(text), string(text))
		got, err := tracejson.ParseSpan(text)
		require.NoError(t, err, string(text))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("span (-want +got):\n%s", diff)
		}
	})
}

func TestAppendSpan(t *testing.T) {
	t.Parallel()
	s := trace.Span{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, Type: trace.Invocation, Kind: trace.KindServer, Name: "root",
		Start: 1735732800000000001, End: 1735732801000000000, Attributes: map[string]any{"ag": map[string]any{}},
		Links: []trace.Link{{TraceID: trace.TraceID{3}, SpanID: trace.SpanID{4}}}, CreatedAt: time.UnixMicro(1735732802000000),
	}
	require.JSONEq(t, `{"trace_id":"01000000000000000000000000000000","span_id":"0200000000000000","trace_type":"invocation","span_type":"task",
		"span_kind":"SPAN_KIND_SERVER","span_name":"root","start_time":"2025-01-01T12:00:00.000000001Z","end_time":"2025-01-01T12:00:01Z",
		"status_code":"STATUS_CODE_UNSET","attributes":{"ag":{}},"links":[{"trace_id":"03000000000000000000000000000000","span_id":"0400000000000000"}],
		"created_at":"2025-01-01T12:00:02Z"}`, string(tracejson.AppendSpan(nil, &s)))
}
