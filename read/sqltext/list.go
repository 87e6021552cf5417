package sqltext

import (
	"fmt"
	"strconv"
	"strings"
)

// Names returns the text of each value, for an argument that ClickHouse compares with an Enum.
func Names[T fmt.Stringer](in []T) []string {
	out := make([]string, len(in))
	for i, v := range in {
		out[i] = v.String()
	}
	return out
}

// questions returns n question marks, joined by commas.
func questions(n int) string {
	return strings.TrimSuffix(strings.Repeat("?, ", n), ", ")
}

// Among returns "expression is one of these": equality for one value.
func Among[T any](expression string, values []T) Node {
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = v
	}
	switch len(values) {
	case 0:
		return Constant(false)
	case 1:
		return Expr(expression+" = ?", args...)
	default:
		return Expr(expression+" IN ("+questions(len(values))+")", args...)
	}
}

// IDs returns "column is one of these ids" with ids as string literals. They are
// escaped here instead of sent as arguments, because ClickHouse resolves a list of
// thousands of unhex(?) function by function. Only hex digits get into the text.
func IDs[T interface{ ~[8]byte | ~[16]byte }](column string, in []T) Node {
	var b strings.Builder
	b.WriteString(column)
	if len(in) == 1 {
		b.WriteString(" = ")
	} else {
		b.WriteString(" IN (")
	}
	for i, id := range in {
		if i > 0 {
			b.WriteString(", ")
		}
		AppendID(&b, id)
	}
	if len(in) != 1 {
		b.WriteString(")")
	}
	if len(in) == 0 {
		return Constant(false)
	}
	return Expr(b.String())
}

// AppendID writes an id as a string literal of escaped bytes.
func AppendID[T interface{ ~[8]byte | ~[16]byte }](b *strings.Builder, id T) {
	const digits = "0123456789abcdef"
	b.WriteByte('\'')
	for i := range len(id) {
		c := id[i]
		b.WriteString(`\x`)
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&15])
	}
	b.WriteByte('\'')
}

// FixedID returns an id as a literal of its column's type. Compared with an element
// of an array, a plain string would not equal an id that ends in zero bytes.
func FixedID[T interface{ ~[8]byte | ~[16]byte }](id T) string {
	var b strings.Builder
	b.WriteString("toFixedString(")
	AppendID(&b, id)
	b.WriteString(", " + strconv.Itoa(len(id)) + ")")
	return b.String()
}
