package load_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"colonnade/cmd/internal/client"
	"colonnade/cmd/internal/load"
)

func TestPlansBeforeTimeAreRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		over time.Duration
		want string // empty for none
	}{
		{0, ""},
		{14 * 24 * time.Hour, ""},
		{-time.Second, "must be from 0 to"},
		{100 * 365 * 24 * time.Hour, "must be from 0 to"}, // spans before 1970 have no start on the wire
	} {
		plan := load.DefaultPlan()
		plan.Over = tt.over
		err := plan.Validate()
		if tt.want == "" {
			require.NoError(t, err, tt.over)
			continue
		}
		require.ErrorContains(t, err, tt.want, tt.over)
	}
}

// plan sends a trace a request and checks nothing.
func plan() load.Plan {
	p := load.DefaultPlan()
	p.Duration, p.Connections, p.Batch, p.Probes, p.Runs, p.Verify = 2*time.Second, 2, 1, 0, 10, "none"
	return p
}

func TestAServiceThatIsNotThereEndsARunSoon(t *testing.T) {
	t.Parallel()
	nobody := httptest.NewServer(http.NotFoundHandler())
	nobody.Close()
	r, err := load.NewRunner(plan(), client.New(nobody.URL, "key"), io.Discard, false, time.Now)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err = r.Run(ctx)
	require.NoError(t, ctx.Err(), "it gave up by itself")
	require.ErrorContains(t, err, "was never reached")
	require.ErrorContains(t, err, "connection refused")
}

func TestTheFirstSignalEndsARunThatRetries(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		// then is what the service does after its first receipt.
		then func(w http.ResponseWriter)
	}{
		{"it asks for patience", func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusServiceUnavailable)
		}},
		{"it is gone", func(http.ResponseWriter) { panic(http.ErrAbortHandler) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, signal := context.WithCancel(t.Context())
			var requests atomic.Int64
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				if requests.Add(1) > 1 {
					signal()
					tt.then(w)
					return
				}
				raw, _ := io.ReadAll(req.Body)
				var body collector.ExportTraceServiceRequest
				_ = proto.Unmarshal(raw, &body)
				spans := body.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans()
				_, _ = fmt.Fprintf(w, `{"count":%d}`, len(spans))
			}))
			defer service.Close()
			one := plan()
			one.Connections = 1
			r, err := load.NewRunner(one, client.New(service.URL, "key"), io.Discard, false, time.Now)
			require.NoError(t, err)
			began := time.Now()
			report, err := r.Run(ctx)
			require.Less(t, time.Since(began), 9*time.Second)
			require.ErrorContains(t, err, "ended with a request that was not taken")
			require.EqualValues(t, 1, report.Requests, "the report has what was measured")
		})
	}
}

func TestASignalBeforeTheFirstRequestEndsARunAtOnce(t *testing.T) {
	t.Parallel()
	nobody := httptest.NewServer(http.NotFoundHandler())
	nobody.Close()
	r, err := load.NewRunner(plan(), client.New(nobody.URL, "key"), io.Discard, false, time.Now)
	require.NoError(t, err)
	ctx, signal := context.WithCancel(t.Context())
	signal()
	began := time.Now()
	report, err := r.Run(ctx)
	require.NoError(t, err)
	require.Less(t, time.Since(began), 5*time.Second)
	require.Zero(t, report.Requests)
}
