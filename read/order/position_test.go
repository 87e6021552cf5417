package order_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/read/order"
)

func TestWholeWeeks(t *testing.T) {
	t.Parallel()
	at := func(text string) int64 { return micros(t, text) }
	for _, tt := range []struct{ lo, hi, from, to string }{
		{"2026-11-18 15:00:00", "2026-11-18 15:00:01", "2026-11-16 00:00:00", "2026-11-23 00:00:00"},
		{"2026-11-16 00:00:00", "2026-11-22 23:59:59", "2026-11-16 00:00:00", "2026-11-23 00:00:00"},
		{"2026-11-15 23:59:59", "2026-11-23 00:00:00", "2026-11-09 00:00:00", "2026-11-30 00:00:00"},
	} {
		require.Equal(t, order.Starts(at(tt.from), at(tt.to)-1), order.Starts(at(tt.lo), at(tt.hi)).Weeks())
	}
}

func micros(t *testing.T, text string) int64 {
	t.Helper()
	moment, err := time.Parse(time.DateTime, text)
	require.NoError(t, err)
	return moment.UnixMicro()
}
