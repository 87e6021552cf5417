package fit

import (
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/uuid"
	"golang.org/x/crypto/blake2b"

	"colonnade/domain/semconv"
	"colonnade/domain/trace"
)

// hashPart is one member of the object that is hashed.
type hashPart struct{ key, json string }

// hashes gives the hash of a span's references and keyed links, or none where
// it has none: BLAKE2b-16 over their canonical JSON as Python writes it (ASCII,
// keys sorted) without any space. Source: contract §1.8.
func hashes(references []trace.Reference, links []trace.Link) []trace.Hash {
	var few [8]hashPart
	parts := few[:0]
	for _, r := range references {
		if semconv.Hashed(r.Key) {
			parts = append(parts, hashPart{r.Key, referenceJSON(r)})
		}
	}
	for _, l := range links {
		key := l.Key()
		if key == "" {
			continue
		}
		part := hashPart{key, `{"span_id":"` + l.SpanID.String() + `","trace_id":"` + l.TraceID.String() + `"}`}
		if i := slices.IndexFunc(parts, func(p hashPart) bool { return p.key == key }); i >= 0 {
			parts[i] = part // of two links with one name the last counts, as in the object that is hashed
			continue
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return nil
	}
	slices.SortFunc(parts, func(a, b hashPart) int { return strings.Compare(a.key, b.key) })
	text := []byte{'{'}
	for i, p := range parts {
		if i > 0 {
			text = append(text, ',')
		}
		text = appendPython(text, p.key)
		text = append(text, ':')
		text = append(text, p.json...)
	}
	return []trace.Hash{{ID: digest(append(text, '}')), Attributes: map[string]any{"key": "indirect"}}}
}

func digest(text []byte) uuid.UUID {
	text = slices.DeleteFunc(text, func(c byte) bool { return c == ' ' })
	h, err := blake2b.New(16, nil)
	if err != nil {
		panic("fit: " + err.Error()) // 16 is a valid size and there is no key
	}
	_, _ = h.Write(text) //nolint:errcheck // a hash never fails to write
	return uuid.UUID(h.Sum(nil))
}

func referenceJSON(r trace.Reference) string {
	text := []byte{'{'}
	member := func(name, value string) {
		if value == "" {
			return
		}
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = appendPython(text, name)
		text = append(text, ':')
		text = appendPython(text, value)
	}
	if r.ID != uuid.Nil {
		member(semconv.ID, r.ID.String())
	}
	member(semconv.Slug, r.Slug)
	member(semconv.Version, r.Version)
	return string(append(text, '}'))
}

// appendPython appends a string as Python's json.dumps writes it: everything
// beyond printable ASCII escaped, supplementary characters as two surrogates.
func appendPython(text []byte, s string) []byte {
	text = append(text, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			text = append(text, '\\', byte(r))
		case r == '\n':
			text = append(text, `\n`...)
		case r == '\r':
			text = append(text, `\r`...)
		case r == '\t':
			text = append(text, `\t`...)
		case r == '\b':
			text = append(text, `\b`...)
		case r == '\f':
			text = append(text, `\f`...)
		case ' ' <= r && r <= '~':
			text = append(text, byte(r))
		case r > utf8.MaxRune || utf16.RuneLen(r) < 2:
			text = appendUnicode(text, r)
		default:
			high, low := utf16.EncodeRune(r)
			text = appendUnicode(appendUnicode(text, high), low)
		}
	}
	return append(text, '"')
}

func appendUnicode(text []byte, r rune) []byte {
	return hex.AppendEncode(append(text, '\\', 'u'), []byte{byte(r >> 8), byte(r)})
}
