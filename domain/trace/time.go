package trace

import (
	"strconv"
	"strings"
	"time"
)

// ParseTime reads a moment as contract §1.11 accepts it: ISO-8601, in UTC where
// it names no zone, or a whole number (also as a string) whose 10, 13, 16 or 19
// digits say seconds, milli-, micro- or nanoseconds since 1970. It takes the years
// 1678 to 2261, all of which nanoseconds since 1970 can say.
func ParseTime(v any) (time.Time, bool) {
	t, ok := readMoment(v)
	if !ok || t.Year() < 1678 || t.Year() >= 2262 {
		return time.Time{}, false
	}
	return t, true
}

// ParseBound is ParseTime for a moment that times are compared with, which may be of
// any year from 1 to 9999: clients send the first and the last moment they know for
// "no bound". What is before or after every time of a span comes as a moment that is,
// too, and is never the zero time.
func ParseBound(v any) (time.Time, bool) {
	first, last := time.Date(1677, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2263, 1, 1, 0, 0, 0, 0, time.UTC)
	t, ok := readMoment(v)
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

// readMoment reads a moment of the years 1 to 9999, in UTC.
func readMoment(v any) (time.Time, bool) {
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
