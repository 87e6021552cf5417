//go:build embedded

package e2e_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/limit"
	"colonnade/write/lease"
)

// A project that reads or sends beyond its limits is refused with the time to come back;
// other projects are served.
func TestLimitsOfProjects(t *testing.T) {
	t.Parallel()
	s := newIdleService(t, "COLONNADE_PROJECTS_LIMITS_READS_PER_SECOND=1", "COLONNADE_PROJECTS_LIMITS_SPANS_PER_SECOND=10")
	read := func(who string) reply { return s.as(who, "POST", "/simple/queries/query", `{}`) }
	var refused reply
	require.Eventually(t, func() bool {
		refused = read("ours owner")
		return refused.Code == http.StatusTooManyRequests
	}, time.Minute, time.Millisecond)
	require.Equal(t, "This project may read 1 times a second. Send the same request again in 1 seconds.", refused.at("detail"))
	require.Equal(t, "1", refused.Header.Get("Retry-After"))
	require.Equal(t, http.StatusTooManyRequests, read("ours viewer").Code, "the limit is the project's, not the key's")
	require.Equal(t, http.StatusOK, read("theirs owner").Code)
	require.Equal(t, http.StatusOK, s.do("POST", "/simple/queries/", `{"query":{"slug":"a"}}`).Code, "a change is no read")

	send := func(who string) reply {
		id := newTraceID()
		spans := make([]string, 29)
		for i := range spans {
			spans[i] = fmt.Sprintf(`"s%d":{"span_id":"%016x","start_time":"2026-11-01T10:00:00Z"}`, i, i+2)
		}
		return s.as(who, "POST", "/traces/", `{"trace":{"trace_id":"`+id+`","spans":{"root":{"span_id":"0000000000000001","start_time":"2026-11-01T10:00:00Z","spans":{`+strings.Join(spans, ",")+`}}}}}`)
	}
	sent := send("ours owner")
	require.Equal(t, http.StatusAccepted, sent.Code, "a batch is not cut: %s", sent.Text)
	refused = send("ours owner")
	require.Equal(t, http.StatusTooManyRequests, refused.Code, refused.Text)
	require.Contains(t, refused.Text, "send 10 spans a second")
	require.NotEmpty(t, refused.Header.Get("Retry-After"))
	require.Equal(t, http.StatusAccepted, send("theirs owner").Code)
}

// Two processes divide a limit through Postgres, and go on with their shares without it.
func TestLimitsAreShared(t *testing.T) {
	t.Parallel()
	s := newIdleService(t)
	now := time.Now()
	clock := func() time.Time { return now }
	project := s.accounts["ours"].Project.ID
	deleted := domain.ProjectID(uuid.New())
	var projects []*limit.Projects
	var leasers []*lease.Leaser
	for range 2 {
		p := limit.New(limit.Config{ReadsPerSecond: 100}, clock)
		projects, leasers = append(projects, p), append(leasers, lease.New(lease.Deps{Pool: s.Stores.Postgres, Limits: p, Log: slog.New(slog.DiscardHandler)}))
	}
	second := func() (taken int) {
		now = now.Add(time.Second)
		for i, p := range projects {
			for range 300 / (i + 1) {
				if p.Take(project, limit.Reads, 1) == nil {
					taken++
				}
			}
			_ = p.Take(deleted, limit.Reads, 1)
		}
		for _, l := range leasers {
			require.NoError(t, l.Lease(t.Context(), time.Second))
		}
		return taken
	}
	for range 6 {
		second()
	}
	require.InDelta(t, 100, second(), 3, "both together use the limit once")
	require.InDelta(t, 100, second(), 3)
	s.Stores.Postgres.Close()
	now = now.Add(time.Second)
	require.Error(t, leasers[0].Lease(t.Context(), time.Second))
	taken := 0
	for _, p := range projects {
		for range 300 {
			if p.Take(project, limit.Reads, 1) == nil {
				taken++
			}
		}
	}
	require.InDelta(t, 100, taken, 3, "the last shares hold")
}
