package ingest

import (
	"context"
	"encoding/binary"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/trace"
)

func stored(t *testing.T) *Stored {
	t.Helper()
	s, err := NewStored(DefaultStoredConfig(), nil)
	require.NoError(t, err)
	return s
}

func traceN(n uint64) (id trace.TraceID) {
	binary.BigEndian.PutUint64(id[8:], n)
	return id
}

func (s *Stored) take(t *testing.T, n uint64) *Turn {
	t.Helper()
	turn, err := s.Turn(t.Context(), domain.ProjectID{1}, traceN(n))
	require.NoError(t, err)
	return turn
}

func TestOneAtATime(t *testing.T) {
	t.Parallel()
	s := stored(t)
	held, all := 0, sync.WaitGroup{}
	for range 50 {
		all.Go(func() {
			turn, err := s.Turn(t.Context(), domain.ProjectID{1}, traceN(1))
			if err == nil {
				held++ // the race detector and the sum tell of two at a time
				turn.End()
			}
		})
	}
	all.Wait()
	require.Equal(t, 50, held)
	require.Empty(t, s.turns.lines)
}

func TestTurnsThatDoNotCome(t *testing.T) {
	t.Parallel()
	s := stored(t)
	turn := s.take(t, 1)
	s.cfg.WaitTimeout = 1
	_, err := s.Turn(t.Context(), domain.ProjectID{1}, traceN(1))
	require.Equal(t, domain.Unavailable, domain.KindOf(err))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.cfg.WaitTimeout = DefaultStoredConfig().WaitTimeout
	_, err = s.Turn(ctx, domain.ProjectID{1}, traceN(1))
	require.ErrorIs(t, err, context.Canceled)
	other, err := s.Turn(t.Context(), domain.ProjectID{2}, traceN(1))
	require.NoError(t, err, "a trace of the same id in another project")
	other.End()
	turn.End()
	require.Empty(t, s.turns.lines)
}

// What a turn wrote the next one waits for, also when so many came in between
// that the traces are no longer remembered one by one.
func TestWhatWasWrittenIsRemembered(t *testing.T) {
	t.Parallel()
	s := stored(t)
	for n := range uint64(maxIdleTurns) {
		turn := s.take(t, n)
		turn.note(domain.Token{{Partition: int32(n % 2), Offset: int64(n)}})
		turn.End()
	}
	turn := s.take(t, 8)
	require.Equal(t, domain.Token{{Partition: 0, Offset: 8}}, turn.line.wrote)
	turn.note(domain.Token{{Partition: 0, Offset: 20_000}})
	last := s.take(t, maxIdleTurns)
	last.note(domain.Token{{Partition: 1, Offset: 30_000}})
	last.End() // one idle line too few to forget them
	require.Len(t, s.turns.lines, maxIdleTurns+1)
	more := s.take(t, maxIdleTurns+1)
	more.note(domain.Token{{Partition: 1, Offset: 5}})
	more.End()
	require.Len(t, s.turns.lines, 1, "the one that is held")
	again := s.take(t, 9)
	require.Equal(t, domain.Token{{Partition: 0, Offset: maxIdleTurns - 2}, {Partition: 1, Offset: 30_000}}, again.line.wrote)
	again.note(domain.Token{{Partition: 1, Offset: 40_000}})
	require.Equal(t, int64(30_000), s.turns.past[1].Offset, "not shared")
	again.End()
	require.Equal(t, domain.Token{{Partition: 0, Offset: 20_000}}, turn.line.wrote)
	turn.End()
}
