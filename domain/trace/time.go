package trace

import (
	"strconv"
	"strings"
	"time"
)

// ParseTime parses a time: ISO 8601, in UTC if it has no zone, or a whole number (also as a
// string) of 10, 13, 16 or 19 digits, which are seconds, milliseconds, microseconds or nanoseconds
// since 1970. It accepts the years 1678 to 2261, which nanoseconds since 1970 can represent.
func ParseTime(v any) (time.Time, bool) {
	t, ok := parseAnyTime(v)
	if !ok || t.Year() < 1678 || t.Year() >= 2262 {
		return time.Time{}, false
	}
	return t, true
}

// ParseBound is ParseTime for a bound that times are compared with, of any year from 1 to 9999:
// clients send the first and the last time they can represent for "no bound". A bound before or
// after every possible time of a span becomes another one that also is, and is never the zero
// time.
func ParseBound(v any) (time.Time, bool) {
	first, last := time.Date(1677, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2263, 1, 1, 0, 0, 0, 0, time.UTC)
	t, ok := parseAnyTime(v)
	switch {
	case !ok:
		return time.Time{}, false
	case t.Before(first):
		return first, true
	case t.After(last):
		return last, true
	default:
		return t, true
	}
}

// parseAnyTime parses a time of the years 1 to 9999, in UTC.
func parseAnyTime(v any) (time.Time, bool) {
	switch v := v.(type) {
	case int64:
		return fromDigits(v)
	case string:
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			return fromDigits(n)
		}
		v = strings.ToUpper(v) // RFC 3339 allows for t and z
		for _, layout := range []string{
			time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999",
			"2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02T15:04:05.999999999-0700", "2006-01-02",
			"20060102T150405.999999999Z0700", "20060102T150405.999999999",
		} {
			if t, err := time.Parse(layout, v); err == nil && t.Year() > 0 {
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
