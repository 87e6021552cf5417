package order_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/read/order"
)

func FuzzCursor(f *testing.F) {
	f.Add(int64(1_700_000_000_123_456), uint64(0xfedcba9876543210), int64(1_700_000_001_234), true, false)
	f.Add(int64(-2208988800000000), uint64(0), int64(0), false, true)
	f.Add(int64(10413791999999999), ^uint64(0), int64(1<<38-1), true, true)
	f.Fuzz(func(t *testing.T, start int64, tie uint64, walk int64, traces, ascending bool) {
		if start < -2208988800000000 || start > 10413791999999999 || walk < 0 || walk > 1<<42 {
			return // what the store and the clock can hold
		}
		in := order.Cursor{Focus: order.Spans, Order: domain.Descending, Start: start, SortHash: tie}
		if traces {
			in.Focus, in.Snapshot = order.Traces, walk
			in.SortHash = in.Focus.RoundSortHash(tie)
		}
		if ascending {
			in.Order = domain.Ascending
		}
		id := in.UUID()
		require.Equal(t, uuid.Version(8), id.Version())
		require.Equal(t, uuid.RFC4122, id.Variant())
		out, ok := order.ParseCursor(id, time.UnixMilli(walk+int64(tie%(1<<30))))
		require.True(t, ok)
		require.Equal(t, in, out)
	})
}

func FuzzActivityCursor(f *testing.F) {
	f.Add(int64(1_700_000_000_123_456), uint64(0xfedcba9876543210), true, false, true)
	f.Add(int64(-2208988800000000), ^uint64(0), false, true, false)
	f.Fuzz(func(t *testing.T, active int64, tie uint64, users, last, ascending bool) {
		if active < -2208988800000000 || active > 10413791999999999 {
			return // what the store can hold
		}
		in := order.ActivityCursor{Actor: order.Session, Last: last, Order: domain.Descending, Active: active, SortHash: tie}
		if users {
			in.Actor = order.User
		}
		if ascending {
			in.Order = domain.Ascending
		}
		id := in.UUID()
		require.Equal(t, uuid.Version(8), id.Version())
		require.Equal(t, uuid.RFC4122, id.Variant())
		out, ok := order.ParseActivityCursor(id)
		require.True(t, ok)
		require.Equal(t, in, out)
		_, ok = order.ParseCursor(id, time.UnixMilli(1_800_000_000_000))
		require.False(t, ok, "it is no cursor of spans")
		_, ok = order.ParseActivityCursor(order.Cursor{Focus: order.Spans, Start: active, SortHash: tie, Order: in.Order}.UUID())
		require.False(t, ok)
	})
}

func FuzzParseCursor(f *testing.F) {
	f.Add([]byte("0123456789abcdef"))
	now := time.UnixMilli(1_800_000_000_000)
	f.Fuzz(func(t *testing.T, b []byte) {
		id, err := uuid.FromBytes(b)
		if err != nil {
			return
		}
		c, ok := order.ParseCursor(id, now)
		if !ok {
			return
		}
		require.Equal(t, id, c.UUID(), "a cursor has one form")
	})
}

func TestParseCursorRefusesOthers(t *testing.T) {
	t.Parallel()
	span := uuid.MustParse("31d6cfe0-4b90-11ec-31d6-cfe04b9011ec")
	for _, id := range []uuid.UUID{{}, uuid.Max, uuid.New(), uuid.Must(uuid.NewV7()), span} {
		_, ok := order.ParseCursor(id, time.UnixMilli(1_800_000_000_000))
		require.False(t, ok, id)
	}
}

// Lists are in the order of the cursor, so the bits that a cursor drops must not matter.
func TestRoundSortHash(t *testing.T) {
	t.Parallel()
	require.Equal(t, uint64(1), order.Spans.RoundSortHash(1))
	require.Equal(t, uint64(0), order.Traces.RoundSortHash(1<<38-1))
	require.Equal(t, uint64(1<<38), order.Traces.RoundSortHash(1<<39-1))
}
