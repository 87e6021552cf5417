package trace

import (
	"strconv"
	"time"
)

// ParseTime reads a moment as contract §1.11 accepts it: ISO-8601, in UTC where
// it names no zone, or a whole number (also as a string) whose 10, 13, 16 or 19
// digits say seconds, milli-, micro- or nanoseconds since 1970.
func ParseTime(v any) (time.Time, bool) {
	switch v := v.(type) {
	case int64:
		return fromDigits(v)
	case string:
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			return fromDigits(n)
		}
		for _, layout := range []string{
			time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999",
			"2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02T15:04:05.999999999-0700", "2006-01-02",
		} {
			if t, err := time.Parse(layout, v); err == nil && 1678 <= t.Year() && t.Year() < 2262 {
				return t.UTC(), true
			}
		}
	}
	return time.Time{}, false
}

func fromDigits(n int64) (time.Time, bool) {
	switch len(strconv.FormatInt(n, 10)) {
	case 10:
		return time.Unix(n, 0).UTC(), n > 0
	case 13:
		return time.UnixMilli(n).UTC(), n > 0
	case 16:
		return time.UnixMicro(n).UTC(), n > 0
	case 19:
		return time.Unix(0, n).UTC(), n > 0
	default:
		return time.Time{}, false
	}
}
