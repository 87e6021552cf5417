//go:build embedded

package e2e_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkInvokeOverhead is one invocation without its model: everything from
// the request to the durable trace, with a handler that does nothing. With the
// references it also looks its revision up. It runs the write role; "beside the
// sink" also carries the traces on into ClickHouse, on the same cores.
func BenchmarkInvokeOverhead(b *testing.B) {
	for _, where := range []string{"write role", "beside the sink"} {
		s := newIdleService(b)
		if where != "write role" {
			s = newService(b)
		}
		s.ok(http.StatusOK, http.MethodPost, "/simple/applications/", `{"application":{"slug":"mocked","data":{"uri":"svc:builtin:echo:v0","parameters":{"key":"static"}}}}`)
		for _, way := range []struct{ name, path, body string }{
			{"parameters", "/services/echo/v0/invoke", `{"data":{"inputs":{"country":"France"},"parameters":{"key":"static"}}}`},
			{"references", "/services/invoke", `{"data":{"inputs":{"country":"France"}},"references":{"application":{"slug":"mocked"}}}`},
		} {
			b.Run(where+"/"+way.name, func(b *testing.B) {
				b.ReportAllocs()
				s.measure(b, way.path, way.body)
			})
		}
	}
}

// measure posts a body again and again, and reports how long a reply took and its size.
func (s *service) measure(b *testing.B, path, body string) {
	b.Helper()
	var took []time.Duration
	size := 0
	for b.Loop() {
		start := time.Now()
		r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, path, strings.NewReader(body))
		r.Header.Set("Authorization", "ApiKey "+s.keys["ours owner"])
		w := httptest.NewRecorder()
		s.Server.Handler().ServeHTTP(w, r)
		took = append(took, time.Since(start))
		require.Equal(b, http.StatusOK, w.Code, w.Body.String())
		size = w.Body.Len()
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
	b.ReportMetric(float64(size), "reply-bytes")
}

// TestManyStreamsInLittleMemory holds 200 streamed invocations open at once
// and counts what the process holds for them.
func TestManyStreamsInLittleMemory(t *testing.T) {
	const streams, mostBytes = 200, 300 << 20
	// A model that says one word and then waits for all others.
	var at sync.WaitGroup
	at.Add(streams)
	release := make(chan struct{})
	p := newProvider(t)
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		p.chunk(w, "m", `{"role":"assistant","content":"`+strings.Repeat("word ", 200)+`"}`, "")
		at.Done()
		<-release
		p.chunk(w, "m", `{}`, "stop")
	}))
	defer model.Close()
	// One project holds at most three quarters of the slots.
	s := newService(t, "OPENAI_BASE_URL="+model.URL, "OPENAI_API_KEY=sk", "COLONNADE_INVOKE_SLOTS_COUNT=512")
	server := httptest.NewServer(s.Server.Handler())
	defer server.Close()
	var before, during runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)

	var done sync.WaitGroup
	status := make([]int, streams)
	ends := make([]string, streams)
	ended := make(chan int, streams)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: streams}}
	for n := range streams {
		done.Go(func() {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+runCompletion, strings.NewReader(prompted("m", "")))
			if err != nil {
				return
			}
			r.Header.Set("Authorization", "ApiKey "+s.keys["ours owner"])
			r.Header.Set("Accept", "text/event-stream")
			resp, err := client.Do(r)
			if err != nil {
				return
			}
			defer func() { _ = resp.Body.Close() }()
			status[n] = resp.StatusCode
			defer func() { ended <- resp.StatusCode }()
			all, _ := io.ReadAll(resp.Body)
			ends[n] = string(all[max(0, len(all)-400):])
		})
	}
	open := make(chan struct{})
	go func() {
		at.Wait()
		close(open)
	}()
	select {
	case <-open:
	case code := <-ended:
		close(release)
		require.Fail(t, "a stream ended before all were open", "status %d", code)
	}
	runtime.ReadMemStats(&during)
	close(release)
	done.Wait()
	grown := int64(during.HeapInuse+during.StackInuse) - int64(before.HeapInuse+before.StackInuse)
	t.Logf("200 streams: %d MiB more in use, clients and model of the test included; %d MiB of the process in all", grown>>20, during.Sys>>20)
	require.Less(t, grown, int64(mostBytes))
	for n := range streams {
		require.Equal(t, http.StatusOK, status[n])
		require.Contains(t, ends[n], `"message":"Success"`)
	}
}
