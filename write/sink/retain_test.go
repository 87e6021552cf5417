package sink

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/write/normalize"
	"colonnade/write/sink/rows"
)

// A record's bytes are a piece of all that was fetched with it, up to 32 MiB:
// what a worker keeps from batch to batch must not hold on to them.
func TestRowsKeepNoRecord(t *testing.T) {
	now := time.Now()
	r, gone := rows.NewBuffer(newKeySet(100).has), make(chan struct{})
	var d rows.Content
	func() {
		value := llmTrace(t, 1, 10, now)
		runtime.AddCleanup(&value[0], func(done chan struct{}) { close(done) }, gone)
		spans, _, err := normalizer(t).Spans(normalize.Meta{Source: "otlp", ReceivedAt: now}, value)
		require.NoError(t, err)
		for i := range spans {
			e := &entry{Entry: rows.Entry{Key: rows.TraceKey{Project: domain.ProjectID{1}, Trace: spans[i].TraceID}, Span: &spans[i], PartitionWeek: rows.PartitionWeek(spans[i].Start, now), CreatedAt: now}}
			normalize.Trace([]*trace.Span{e.Span})
			d.Render(e.Span, 0)
			r.Append(&e.Entry, 0, &d)
			e.release()
		}
		d.Release()
	}()
	require.NotEmpty(t, r.Spans.FoundKeys, "keys with samples of their values")
	require.Eventually(t, func() bool {
		runtime.GC() // twice at least: the normalizer's scratch is in a pool
		select {
		case <-gone:
			return true
		default:
			return false
		}
	}, 10*time.Second, time.Millisecond, "the record's bytes are still held")
	runtime.KeepAlive(r)
	runtime.KeepAlive(&d)
}
