package trace

import (
	"encoding/hex"
	"strings"

	"colonnade/domain"
)

// TraceID groups the spans of one operation. The zero value is invalid. Source: interface.md §2.1.
type TraceID [16]byte

// SpanID names a span within its trace. The zero value means "none". Source: interface.md §2.1.
type SpanID [8]byte

// String is 32 lower-case hex digits.
func (id TraceID) String() string { return hex.EncodeToString(id[:]) }

// IsZero tells whether the id is unset.
func (id TraceID) IsZero() bool { return id == TraceID{} }

// MarshalText is String; it makes ids JSON strings and map keys.
func (id TraceID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what ParseTraceID reads.
func (id *TraceID) UnmarshalText(b []byte) (err error) {
	*id, err = ParseTraceID(string(b))
	return err
}

// String is 16 lower-case hex digits.
func (id SpanID) String() string { return hex.EncodeToString(id[:]) }

// IsZero tells whether the id is unset.
func (id SpanID) IsZero() bool { return id == SpanID{} }

// MarshalText is String; it makes ids JSON strings and map keys.
func (id SpanID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what ParseSpanID reads.
func (id *SpanID) UnmarshalText(b []byte) (err error) {
	*id, err = ParseSpanID(string(b))
	return err
}

// ParseTraceID reads 32 hex digits, a dashed UUID, or either after "0x"
// (contract §3.1). Anything else, and the zero id, is Rejected.
func ParseTraceID(s string) (TraceID, error) {
	var id TraceID
	if !decode(id[:], s) || id.IsZero() {
		return TraceID{}, domain.E(domain.Rejected, "Invalid trace_id.")
	}
	return id, nil
}

// ParseSpanID reads 16 hex digits, optionally after "0x", or the UUID form in
// which clients of the reference keep a span id: its 16 digits twice, or
// prefixed to or by zeros (contract §1.2, §3.1). Anything else, and the zero
// id, is Rejected.
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
