package trace_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/domain/trace"
)

func TestParseTime(t *testing.T) {
	t.Parallel()
	const first, last = "1677-01-01T00:00:00Z", "2263-01-01T00:00:00Z"
	tests := []struct {
		name        string
		in          any
		want, bound string // "" where it is refused
	}{
		{"a moment", "2026-01-02T03:04:05.123456789Z", "2026-01-02T03:04:05.123456789Z", "2026-01-02T03:04:05.123456789Z"},
		{"of another zone", "2026-01-02 03:04:05+02:00", "2026-01-02T01:04:05Z", "2026-01-02T01:04:05Z"},
		{"of no zone", "2026-01-02T03:04", "2026-01-02T03:04:00Z", "2026-01-02T03:04:00Z"},
		{"a day", "2026-01-02", "2026-01-02T00:00:00Z", "2026-01-02T00:00:00Z"},
		{"basic", "20260102T030405Z", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"},
		{"basic, more of it", "20260102T030405.25+0100", "2026-01-02T02:04:05.25Z", "2026-01-02T02:04:05.25Z"},
		{"basic, of no zone", "20260102T030405", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"},
		{"small letters", "2026-01-02t03:04:05z", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"},
		{"seconds", int64(1735732800), "2025-01-01T12:00:00Z", "2025-01-01T12:00:00Z"},
		{"nanoseconds, as text", "1735732800000000001", "2025-01-01T12:00:00.000000001Z", "2025-01-01T12:00:00.000000001Z"},
		{"the last", "2261-12-31T23:59:59.999999999Z", "2261-12-31T23:59:59.999999999Z", "2261-12-31T23:59:59.999999999Z"},
		{"the first", "1678-01-01T00:00:00Z", "1678-01-01T00:00:00Z", "1678-01-01T00:00:00Z"},
		{"after all", "9999-12-31T23:59:59.999999Z", "", last},
		{"a little after all", "2300-01-01", "", last},
		{"before all", "0001-01-01T00:00:00Z", "", first},
		{"seconds after all", int64(9999999999), "", last},
		{"no year", "0000-01-01T00:00:00Z", "", ""},
		{"a longer year", "10000-01-01T00:00:00Z", "", ""},
		{"no time", "yesterday", "", ""},
		{"few digits", int64(12345), "", ""},
		{"none", nil, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text := func(at time.Time, ok bool) string {
				if !ok {
					return ""
				}
				require.Equal(t, time.UTC, at.Location())
				return at.Format(time.RFC3339Nano)
			}
			require.Equal(t, tt.want, text(trace.ParseTime(tt.in)))
			require.Equal(t, tt.bound, text(trace.ParseBound(tt.in)))
		})
	}
}
