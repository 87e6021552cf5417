package load_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/cmd/internal/client"
	"colonnade/cmd/internal/load"
)

// pages answers every query with one span and counts the requests by path.
func pages(t *testing.T, failing string) (base string, asked map[string]int) {
	t.Helper()
	asked = map[string]int{}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		asked[req.URL.Path]++
		if req.URL.Path == failing {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"spans": []any{map[string]any{"trace_id": "a1", "session_id": "s1"}}})
	}))
	t.Cleanup(service.Close)
	return service.URL, asked
}

func TestARoundAsksEachReadOnce(t *testing.T) {
	t.Parallel()
	base, asked := pages(t, "")
	r := load.NewReader(client.New(base, "key"), 1, time.Hour, time.Now)
	r.Round(t.Context(), t.Context())
	for _, times := range r.Times() {
		require.Len(t, times.Took, 1, times.Name)
		require.Zero(t, times.Failed, times.Name)
	}
	require.Equal(t, map[string]int{"/spans/query": 11, "/traces/query": 2, "/traces/a1": 2}, asked)
}

func TestARoundOfOneReadAsksOnlyWhatItNeeds(t *testing.T) {
	t.Parallel()
	base, asked := pages(t, "")
	r := load.NewReader(client.New(base, "key"), 1, time.Hour, time.Now)
	r.Round(t.Context(), t.Context(), "a trace of any moment")
	require.Equal(t, map[string]int{"/spans/query": 2, "/traces/a1": 1}, asked)
}

func TestFailedReadsAreCountedApart(t *testing.T) {
	t.Parallel()
	base, _ := pages(t, "/traces/query")
	r := load.NewReader(client.New(base, "key"), 1, time.Hour, time.Now)
	r.Round(t.Context(), t.Context())
	failed := 0
	for _, times := range r.Times() {
		require.Equal(t, 1, len(times.Took)+times.Failed, times.Name)
		failed += times.Failed
	}
	require.Equal(t, 2, failed)
}

func TestReportPrint(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	r := load.Report{
		Spans: 1000, Traces: 50, Bytes: 2_000_000, Requests: 4, Sending: time.Second, Visible: 2 * time.Second,
		Delays: []time.Duration{time.Second, 1500 * time.Millisecond},
		Reads: []load.ReadTimes{
			{Name: "latest 50 spans", Took: []time.Duration{20 * time.Millisecond}},
			{Name: "a trace", Failed: 1, Err: errors.New("refused")},
		},
		Verified: "all",
	}
	require.NoError(t, r.Print(&out))
	require.Equal(t, strings.Join([]string{
		"sent                1000 spans in 50 traces, 2.0 MB, 4 requests, 0 retries",
		"accepted            1000 spans/s over 1.0 s",
		"visible             500 spans/s, all after 2.0 s",
		"receipt to visible  p50 1.5s, p99 1.5s, 2 timed",
		"latest 50 spans     p50 20ms, p99 20ms, slowest 20ms, 1 timed",
		"a trace             none timed before the sending ended, 1 failed, the last with: refused",
		"checked             all", "",
	}, "\n"), out.String())
}
