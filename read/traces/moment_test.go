//go:build embedded

package traces_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/read/traces"
)

// reach tells readers that the sink had written what is inserted so far at a moment.
func (s *store) reach(at time.Time) {
	s.t.Helper()
	s.send("INSERT INTO sink_history (topic, stream_partition, at, next_offset)", [][]any{{traces.DefaultConfig().Topic, uint32(0), at, s.version>>schema.VersionShift + 1}})
}

// another is a reader that remembers nothing.
func (s *store) another() *traces.Reader {
	s.t.Helper()
	r, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now }, prometheus.NewRegistry())
	require.NoError(s.t, err)
	return r
}

// timesSeen walks a list to its end and counts how often each trace came; between is done
// before each page but the first.
func (s *store) timesSeen(where filter.Expr, w domain.Window, between func()) map[trace.TraceID]int {
	s.t.Helper()
	times := map[trace.TraceID]int{}
	for page := 0; ; page++ {
		require.Less(s.t, page, 1000)
		if page > 0 {
			between()
		}
		found, err := s.another().Traces(s.t.Context(), s.project, where, w) // any reader will do
		require.NoError(s.t, err)
		for _, spans := range found.Items {
			times[spans[0].TraceID]++
		}
		if found.Next == uuid.Nil {
			return times
		}
		require.NotEmpty(s.t, found.Items)
		w.Next = found.Next
	}
}

// A trace that had a span on its way when the first page was read, received before but
// written after, comes once: the span does not count as seen.
func TestASpanOnItsWay(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	at := func(n uint64) time.Time { return now.Add(-time.Duration(n) * time.Minute) }
	for n := range uint64(9) {
		s.insert(span(n, 1, at(n)))
	}
	s.reach(time.Now().Add(-time.Hour))
	late := span(6, 2, now)
	late.CreatedAt = now.Add(-time.Hour)
	times := s.timesSeen(nil, domain.Window{Limit: 3}, func() {
		if late.Version == 0 {
			s.insert(late)
			s.reach(time.Now())
			late.Version = 1
		}
	})
	require.Len(t, times, 9)
	for id, n := range times {
		require.Equal(t, 1, n, id)
	}
}

// A span that is sent anew, and matches then, does not hide its trace from later pages.
func TestASpanSentAnew(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for n := range uint64(9) {
		deep, high := span(n, 1, now.Add(-time.Duration(n)*time.Minute)), span(n, 2, now.Add(-time.Duration(n)*time.Second))
		deep.Name = "match"
		s.insert(deep, high)
	}
	s.reach(time.Now().Add(-time.Hour))
	done := false
	times := s.timesSeen(where(t, `{"field":"span_name","value":"match"}`), domain.Window{Limit: 3}, func() {
		if !done {
			done = true
			again := span(7, 2, now.Add(-7*time.Second))
			again.Name = "match"
			s.insert(again)
			s.reach(time.Now())
		}
	})
	require.Len(t, times, 9)
	for id, n := range times {
		require.Equal(t, 1, n, id)
	}
}

// Whatever is written while a list of traces is walked, and however far behind the history
// of the sink is, each trace that was there when the first page was read comes once.
func TestWalksAreOfOneMoment(t *testing.T) {
	t.Parallel()
	for i, f := range []string{"", `{"field":"span_name","value":"match"}`, `{"field":"content","operator":"contains","value":"needle"}`} {
		for _, order := range []domain.Order{domain.Descending, domain.Ascending} {
			t.Run(fmt.Sprint(i, order), func(t *testing.T) {
				t.Parallel()
				seeds := uint64(2)
				if testing.Short() || i == 2 {
					seeds = 1
				}
				for seed := range seeds {
					walkWhileWriting(t, f, order, rand.New(rand.NewPCG(seed, 7)))
				}
			})
		}
	}
}

func walkWhileWriting(t *testing.T, condition string, order domain.Order, random *rand.Rand) {
	t.Helper()
	s := newStore(t)
	var e filter.Expr
	if condition != "" {
		e = where(t, condition)
	}
	there := map[trace.TraceID]bool{}
	spans := uint64(0)
	begun := now.Add(-time.Hour)
	// write sends spans of some traces, each in a record of its own, and a record of several.
	write := func(most int, traceOf func() uint64) {
		of := func(n uint64) trace.Span {
			spans++
			sp := span(n, spans, begun.Add(time.Duration(random.IntN(40))*time.Second))
			if sp.Name = "match"; random.IntN(3) == 0 {
				sp.Name = "other"
			}
			if random.IntN(2) == 0 {
				sp.Attributes["text"] = "a needle"
			}
			return sp
		}
		var single, together []trace.Span
		for range random.IntN(most) + 1 {
			single = append(single, of(traceOf()))
		}
		one := traceOf()
		for range random.IntN(3) + 1 {
			together = append(together, of(one))
		}
		s.insert(single...)
		s.batched = true
		s.insert(together...)
		s.batched = false
		for _, sent := range [][]trace.Span{single, together} {
			for i := range sent {
				if e == nil || filter.Match(e, &sent[i]) {
					there[sent[i].TraceID] = true
				}
			}
		}
	}
	some := func() uint64 { return random.Uint64N(40) }
	write(60, some)
	s.reach(time.Now().Add(-time.Hour))
	write(16, some) // visible, but not yet for the history
	was := map[trace.TraceID]bool{}
	for id := range there {
		was[id] = true
	}
	times := s.timesSeen(e, domain.Window{Limit: 6, Order: order}, func() {
		write(20, func() uint64 { return random.Uint64N(46) })
		s.reach(time.Now())
	})
	for id := range was {
		require.Equal(t, 1, times[id], "%s of %d", id, len(was))
	}
	for id, n := range times {
		require.Equal(t, 1, n, id)
	}
}
