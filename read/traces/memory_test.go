//go:build embedded

package traces_test

import (
	"errors"
	"fmt"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/domain/trace/tracejson"
	"colonnade/read/clickhouse"
	"colonnade/read/traces"
)

// largeTrace inserts a trace of so many spans in three levels and returns its id.
func (s *store) largeTrace(spans int) trace.TraceID {
	s.batched = true
	all := make([]trace.Span, spans)
	for n := range all {
		one := span(1, uint64(n+1), now.Add(-time.Hour+time.Duration(n)*time.Millisecond))
		if n > 0 {
			one.ParentID = all[n/100].SpanID
		}
		one.Name = fmt.Sprint("step ", n%7)
		one.SpanType = []trace.SpanType{trace.Agent, trace.Chat, trace.Chat}[n%3]
		one.Attributes["text"] = strings.Repeat("text ", 60)
		ag := one.Attributes["ag"].(map[string]any)
		ag["metrics"].(map[string]any)["tokens"] = map[string]any{"incremental": map[string]any{"total": int64(n)}}
		all[n] = one
	}
	s.insert(all...)
	return all[0].TraceID
}

// A large trace is streamed, with the same text as one that is read whole.
func TestLargeTraceIsStreamed(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	id := s.largeTrace(6000)
	whole, err := s.reader.TracesByID(t.Context(), s.project, []trace.TraceID{id})
	require.NoError(t, err)
	want := tracejson.AppendTree(nil, trace.BuildTree(whole[0]))
	got, err := s.streamed(id)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

// streamed reads a trace as a request does.
func (s *store) streamed(id trace.TraceID) (text []byte, err error) {
	ctx, release := s.reader.Lease(domain.WithPrincipal(s.t.Context(), domain.Principal{Project: s.project}))
	defer release()
	spans, stream, err := s.reader.TraceByID(ctx, s.project, id)
	if err != nil {
		return nil, err
	}
	if spans != nil || stream == nil {
		return nil, errors.New("the trace is not streamed")
	}
	err = tracejson.Walk(stream.Skeleton, func(more []byte) { text = append(text, more...) }, func(int32) error {
		span, err := stream.Next()
		if err == nil {
			text = tracejson.AppendOpenSpan(text, span)
		}
		return err
	})
	return text, err
}

// 200 callers of one large trace hold no more memory than the setting, with what the
// garbage collector leaves. Whole, each of them would hold 20 MB. Those that do not fit
// are told to come back.
func TestMemoryOfManyLargeTraces(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	cfg := traces.DefaultConfig()
	cfg.MemoryBytes, cfg.Slots.WaitTimeout = 64<<20, time.Minute
	s := newStoreWith(t, cfg)
	id := s.largeTrace(5500)
	heap := func() uint64 {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	before, peak := heap(), uint64(0)
	var callers sync.WaitGroup
	var served, refused atomic.Int64
	for range 200 {
		callers.Go(func() {
			text, err := s.streamed(id)
			refusal, ok := errors.AsType[*domain.Error](err)
			switch {
			case err == nil && len(text) > 1<<20:
				served.Add(1)
			case ok && refusal.Kind == domain.Unavailable && refusal.RetryAfter > 0:
				refused.Add(1)
			default:
				t.Errorf("%d bytes, %v", len(text), err)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		callers.Wait()
		close(done)
	}()
	for open := true; open; {
		select {
		case <-done:
			open = false
		case <-time.After(5 * time.Millisecond):
			peak = max(peak, heap())
		}
	}
	t.Logf("served %d, refused %d, peak %d MiB above %d MiB", served.Load(), refused.Load(), (peak-min(before, peak))>>20, before>>20)
	require.Positive(t, served.Load())
	require.Positive(t, refused.Load())
	require.Less(t, peak, before+4*uint64(cfg.MemoryBytes))
	require.Zero(t, s.reader.MemoryInUse())
}

// The plan of a list names its statements with what each read and returned.
func TestPlanOfAList(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	var all []trace.Span
	for n := range uint64(300) {
		all = append(all, span(n, 1, now.Add(-time.Duration(n)*time.Second)))
	}
	s.insert(all...)
	ctx, plan := clickhouse.Explain(t.Context(), now)
	page, err := s.reader.Spans(ctx, s.project, nil, domain.Window{Limit: 20})
	require.NoError(t, err)
	require.Len(t, page.Items, 20)
	steps := plan.Steps()
	require.NotEmpty(t, steps)
	var rows int
	var read uint64
	for _, step := range steps {
		require.NotEmpty(t, step.Step)
		require.Contains(t, step.Statement, "SELECT")
		require.NotContains(t, step.Statement, s.project.String(), "values are not shown")
		rows, read = rows+step.Rows, read+step.RowsRead
	}
	require.GreaterOrEqual(t, rows, 20)
	require.GreaterOrEqual(t, read, uint64(20))
	t.Logf("%+v", steps)
}
