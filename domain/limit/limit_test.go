package limit_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/limit"
)

// clock is a time that a test moves.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newProjects(cfg limit.Config) (*limit.Projects, *clock) {
	c := &clock{at: time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)}
	return limit.New(cfg, c.now), c
}

func takes(p *limit.Projects, id domain.ProjectID, r limit.Resource, n, times int) (taken int) {
	for range times {
		if p.Take(id, r, n) == nil {
			taken++
		}
	}
	return taken
}

func TestReads(t *testing.T) {
	t.Parallel()
	p, c := newProjects(limit.DefaultConfig())
	hostile, light := domain.ProjectID(uuid.New()), domain.ProjectID(uuid.New())
	require.Equal(t, 200, takes(p, hostile, limit.Reads, 1, 1000), "four seconds' worth at once")
	err := p.Take(hostile, limit.Reads, 1)
	refusal, ok := errors.AsType[*domain.Error](err)
	require.True(t, ok)
	require.Equal(t, domain.TooMany, refusal.Kind)
	require.Equal(t, time.Second, refusal.RetryAfter)
	require.Equal(t, "This project may read 50 times a second. Send the same request again in 1 seconds.", refusal.Message)
	require.Equal(t, 10, takes(p, light, limit.Reads, 1, 10), "another project has limits of its own")
	c.at = c.at.Add(time.Second)
	require.Equal(t, 50, takes(p, hostile, limit.Reads, 1, 1000))
	require.Equal(t, uint64(800+1+950), p.Refused(limit.Reads))
	c.at = c.at.Add(time.Hour)
	require.Equal(t, 200, takes(p, hostile, limit.Reads, 1, 1000), "unused tokens are not kept for longer")
}

// A batch of more spans than there are tokens passes; those after it wait for it.
func TestSpans(t *testing.T) {
	t.Parallel()
	p, c := newProjects(limit.Config{SpansPerSecond: 1000})
	id := domain.ProjectID(uuid.New())
	require.NoError(t, p.Take(id, limit.Spans, 5000))
	err := p.Take(id, limit.Spans, 1)
	refusal, ok := errors.AsType[*domain.Error](err)
	require.True(t, ok)
	require.Equal(t, 3*time.Second, refusal.RetryAfter, "2000 of 5000 were left")
	require.Contains(t, refusal.Message, "send 1000 spans a second")
	c.at = c.at.Add(3*time.Second + time.Millisecond)
	require.NoError(t, p.Take(id, limit.Spans, 1))

	unlimited, _ := newProjects(limit.Config{})
	require.Equal(t, 10_000, takes(unlimited, id, limit.Spans, 1000, 10_000))
	require.Equal(t, 10_000, takes(unlimited, id, limit.Reads, 1, 10_000))
}

// Two processes that both are asked for more than the limit use it once, not twice, and what
// one leaves the other may use.
func TestShares(t *testing.T) {
	t.Parallel()
	a, ca := newProjects(limit.Config{ReadsPerSecond: 100, Invocations: 16})
	b, cb := newProjects(limit.Config{ReadsPerSecond: 100, Invocations: 16})
	id := domain.ProjectID(uuid.New())
	running := map[*limit.Projects]int{}
	for _, p := range []*limit.Projects{a, b} {
		p.Count(limit.Invocations, func() map[domain.ProjectID]int { return map[domain.ProjectID]int{id: running[p]} })
	}
	second := func(askA, askB int) (sum int) {
		ca.at, cb.at = ca.at.Add(time.Second), cb.at.Add(time.Second)
		sum = takes(a, id, limit.Reads, 1, askA) + takes(b, id, limit.Reads, 1, askB)
		da, db := a.Demands(time.Second)[id], b.Demands(time.Second)[id]
		a.Share(id, db, 2)
		b.Share(id, da, 2)
		return sum
	}
	running[a], running[b] = 20, 12
	for range 5 { // the bursts are used up, the shares agreed
		second(300, 100)
	}
	for range 10 {
		require.InDelta(t, 100, second(300, 100), 2, "both together")
	}
	require.Equal(t, 10, a.Allowed(id, limit.Invocations))
	require.Equal(t, 6, b.Allowed(id, limit.Invocations))

	running[a], running[b] = 1, 0
	for range 20 {
		second(300, 0)
	}
	require.InDelta(t, 100, second(300, 0), 2, "what the other does not use")
	require.Equal(t, 8, a.Allowed(id, limit.Invocations))

	running[a], running[b] = 1000, 1
	second(0, 0)
	require.Equal(t, 15, a.Allowed(id, limit.Invocations))
	require.Equal(t, 1, b.Allowed(id, limit.Invocations), "at least one, where there are some to run")
}

// A project that nobody uses is forgotten, and begins anew with the whole of its limits.
func TestIdleProjectsAreForgotten(t *testing.T) {
	t.Parallel()
	p, c := newProjects(limit.DefaultConfig())
	id := domain.ProjectID(uuid.New())
	require.NoError(t, p.Take(id, limit.Reads, 1))
	require.Len(t, p.Demands(time.Second), 1)
	p.Share(id, limit.Amounts{limit.Reads: 1e6}, 2)
	c.at = c.at.Add(time.Minute)
	require.Empty(t, p.Demands(time.Second))
	require.Equal(t, 200, takes(p, id, limit.Reads, 1, 1000))
}

func TestConfig(t *testing.T) {
	t.Parallel()
	require.NoError(t, limit.DefaultConfig().Validate())
	require.NoError(t, limit.Config{}.Validate())
	require.Error(t, limit.Config{SQLStatements: -1}.Validate())
}
