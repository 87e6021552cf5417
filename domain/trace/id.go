package trace

import (
	"encoding/hex"
	"strings"

	"colonnade/domain"
)

// TraceID identifies the trace of a span. The zero value is invalid.
type TraceID [16]byte

// SpanID identifies a span within its trace. The zero value means "none".
type SpanID [8]byte

// String returns 32 lower-case hex digits.
func (id TraceID) String() string { return hex.EncodeToString(id[:]) }

// IsZero reports whether the id is unset.
func (id TraceID) IsZero() bool { return id == TraceID{} }

// MarshalText returns String, so that ids are JSON strings and map keys.
func (id TraceID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText parses an id as ParseTraceID does.
func (id *TraceID) UnmarshalText(b []byte) (err error) {
	*id, err = ParseTraceID(string(b))
	return err
}

// String returns 16 lower-case hex digits.
func (id SpanID) String() string { return hex.EncodeToString(id[:]) }

// IsZero reports whether the id is unset.
func (id SpanID) IsZero() bool { return id == SpanID{} }

// MarshalText returns String, so that ids are JSON strings and map keys.
func (id SpanID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText parses an id as ParseSpanID does.
func (id *SpanID) UnmarshalText(b []byte) (err error) {
	*id, err = ParseSpanID(string(b))
	return err
}

// ParseTraceID parses 32 hex digits, a dashed UUID, or either after "0x". Any other text and the
// zero id are Rejected.
func ParseTraceID(s string) (TraceID, error) {
	var id TraceID
	if !decode(id[:], s) || id.IsZero() {
		return TraceID{}, domain.E(domain.Rejected, "Invalid trace_id.")
	}
	return id, nil
}

// ParseSpanID parses 16 hex digits, optionally after "0x", or the UUID form in which some clients
// keep a span id: its 16 digits twice, or before or after 16 zeros. Any other text and the zero id
// are Rejected.
func ParseSpanID(s string) (SpanID, error) {
	var id SpanID
	if decode(id[:], s) && !id.IsZero() {
		return id, nil
	}
	var wide [16]byte
	if decode(wide[:], s) {
		lo, hi := SpanID(wide[:8]), SpanID(wide[8:])
		switch {
		case lo == hi && !lo.IsZero(), hi.IsZero() && !lo.IsZero():
			return lo, nil
		case lo.IsZero() && !hi.IsZero():
			return hi, nil
		}
	}
	return SpanID{}, domain.E(domain.Rejected, "Invalid span_id.")
}

func decode(dst []byte, s string) bool {
	s = strings.TrimPrefix(s, "0x")
	if len(s) == 36 && len(dst) == 16 {
		if s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
			return false
		}
		s = s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
	}
	if len(s) != 2*len(dst) {
		return false
	}
	_, err := hex.Decode(dst, []byte(s))
	return err == nil
}
