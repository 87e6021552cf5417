package stream

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"colonnade/domain"
	"colonnade/domain/trace"
)

// FuzzDecode: no envelope makes decode fail otherwise than by Err, and what it
// accepts encodes to an envelope that means the same.
func FuzzDecode(f *testing.F) {
	good, err := encode(&Record{
		Project: domain.ProjectID(uuid.UUID{1}), Trace: trace.TraceID{15: 1}, Operation: Upsert, Source: "otlp", ReceivedAt: time.Unix(1, 2), Value: []byte("v"),
	}, "t")
	require.NoError(f, err)
	for _, h := range good.Headers {
		f.Add(good.Key, h.Key, h.Value, []byte("v"))
	}
	f.Add([]byte(nil), headerOperation, []byte(Reject), []byte("v"))
	f.Fuzz(func(t *testing.T, key []byte, header string, value, content []byte) {
		k := &kgo.Record{Key: key, Value: content, Headers: append([]kgo.RecordHeader(nil), good.Headers...)}
		replaced := false
		for i := range k.Headers {
			if k.Headers[i].Key == header {
				k.Headers[i].Value, replaced = value, true
			}
		}
		if !replaced {
			k.Headers = append(k.Headers, kgo.RecordHeader{Key: header, Value: value})
		}
		r := decode(k)
		if r.Err != nil {
			require.NotNil(t, r.Raw)
			return
		}
		again, err := encode(&r, "t")
		require.NoError(t, err)
		r.Redriven = false // what is written anew comes from nowhere
		require.Equal(t, r, decode(again))
	})
}

// TestHeadersOfWhereARecordWasAreNotGivenOut as additional ones.
func TestHeadersOfWhereARecordWasAreNotGivenOut(t *testing.T) {
	t.Parallel()
	r := Record{Project: domain.ProjectID{1}, Trace: trace.TraceID{2}, Operation: Upsert, ReceivedAt: time.Unix(1, 2).UTC(), Value: []byte("v")}
	k, err := encode(&r, "t")
	require.NoError(t, err)
	k.Headers = append(k.Headers,
		kgo.RecordHeader{Key: "redriven", Value: []byte("0:7")})
	r.Redriven = true
	require.Equal(t, r, decode(k))
}

func FuzzIntent(f *testing.F) {
	f.Add(formatIntent(Range{First: 3, Last: 9}), int64(3))
	f.Add("member-1", int64(0))
	f.Fuzz(func(t *testing.T, metadata string, committed int64) {
		r, ok, err := parseIntent(metadata, committed)
		if err != nil || !ok {
			return
		}
		again, ok, err := parseIntent(formatIntent(r), committed)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, r, again)
	})
}
