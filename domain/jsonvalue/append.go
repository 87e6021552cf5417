package jsonvalue

import (
	"math"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Append appends the canonical JSON of a value: equal values have equal bytes.
// Keys are sorted; whole numbers are exact; a float64 is the shortest text that
// parses to an equal float64, and never looks like a whole number ("1.0", "1e+21");
// <, > and & are not escaped; bytes that are not UTF-8 become U+FFFD. NaN and
// infinity, which are not JSON, become null.
func Append(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case int:
		return strconv.AppendInt(dst, int64(v), 10)
	case float64:
		return appendFloat(dst, v)
	case string:
		return AppendString(dst, v)
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = Append(dst, e)
		}
		return append(dst, ']')
	case map[string]any:
		return AppendObject(dst, v)
	case Raw:
		return append(dst, v...)
	case Lazy:
		return v.AppendJSON(dst)
	default:
		// A value of another type is a fault of the caller: it must be visible, not lost.
		return append(dst, `"!unsupported"`...)
	}
}

// AppendObject appends the canonical JSON of an object; a nil map is {}.
func AppendObject(dst []byte, object map[string]any) []byte {
	var buffer [32]string // most objects are small: their keys are sorted on the stack
	keys := buffer[:0]
	for k := range object {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	dst = append(dst, '{')
	for i, k := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendString(dst, k)
		dst = append(dst, ':')
		dst = Append(dst, object[k])
	}
	return append(dst, '}')
}

// appendFloat appends a float64, with a fraction or an exponent: "1" would parse as an int64.
func appendFloat(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "null"...)
	}
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	if slices.Contains(dst[start:], '.') {
		return dst
	}
	return append(dst, ".0"...)
}

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. Only the quote, the backslash and
// control characters below 0x20 are escaped, so that a text search over stored
// JSON finds everything else as it was written.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	return append(AppendEscaped(dst, s), '"')
}

// AppendEscaped appends the text that AppendString writes between the quotes.
func AppendEscaped(dst []byte, s string) []byte {
	done := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(dst, s[done:i]...)
				dst = append(dst, "\uFFFD"...)
				done = i + 1
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i += plainPrefix(s[i:])
			continue
		}
		dst = append(dst, s[done:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		done = i
	}
	return append(dst, s[done:]...)
}

// plainPrefix returns the number of bytes at the start of s that a JSON string holds
// unescaped and that are ASCII: no quote, no backslash, no byte below 0x20. It tests
// eight bytes at a time, because most stored bytes are text.
func plainPrefix(s string) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; len(s)-i >= 8; i += 8 {
		b := s[i : i+8]
		w := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 | uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		quote, slash := w^ones*'"', w^ones*'\\'
		// The high bit of each byte that ends the prefix. Only the lowest one is exact: the
		// subtractions borrow from the bytes above it.
		if ends := (w | (w-ones*' ')&^w | (quote-ones)&^quote | (slash-ones)&^slash) & highs; ends != 0 {
			return i + bits.TrailingZeros64(ends)/8
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			break
		}
	}
	return i
}
