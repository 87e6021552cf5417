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

// FuzzDecode shows that no envelope makes Decode fail other than by Err, and what it
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
		r := Decode(k)
		if r.Err != nil {
			require.NotNil(t, r.Raw)
			return
		}
		again, err := encode(&r, "t")
		require.NoError(t, err)
		r.Redriven = false // what is written anew comes from nowhere
		require.Equal(t, r, Decode(again))
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
	require.Equal(t, r, Decode(k))
}
