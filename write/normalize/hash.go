package normalize

import (
	"encoding/hex"
	"hash"
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
type hashPart struct {
	key       string
	reference *trace.Reference
	link      *trace.Link
}

// hasher hashes the references of one span after another.
type hasher struct {
	parts  []hashPart
	text   []byte
	digest hash.Hash
	// The references of the span before and their hash: neighbours mostly share theirs.
	references []trace.Reference
	hashed     []trace.Hash
}

// forget lets go of the last span's memory.
func (h *hasher) forget() { h.references, h.hashed = nil, nil }

// hashes gives the hash of a span's references and keyed links, or none where
// it has none: BLAKE2b-16 over their canonical JSON as Python writes it (ASCII,
// keys sorted) without any space. The answer is shared between spans and not to
// be changed. Source: contract §1.8.
func (h *hasher) hashes(references []trace.Reference, links []trace.Link) []trace.Hash {
	if len(references) == 0 && len(links) == 0 {
		return nil
	}
	if len(links) > 0 {
		return h.compute(references, links)
	}
	if !slices.Equal(references, h.references) {
		h.references, h.hashed = references, h.compute(references, nil)
	}
	return h.hashed
}

func (h *hasher) compute(references []trace.Reference, links []trace.Link) []trace.Hash {
	h.parts = h.parts[:0]
	for i := range references {
		if semconv.Hashed(references[i].Key) {
			h.parts = append(h.parts, hashPart{key: references[i].Key, reference: &references[i]})
		}
	}
	for i := range links {
		if key := links[i].Key(); key != "" {
			h.parts = append(h.parts, hashPart{key: key, link: &links[i]})
		}
	}
	if len(h.parts) == 0 {
		return nil
	}
	slices.SortStableFunc(h.parts, func(a, b hashPart) int { return strings.Compare(a.key, b.key) })
	text := append(h.text[:0], '{')
	for i, p := range h.parts {
		if i+1 < len(h.parts) && h.parts[i+1].key == p.key {
			continue // of two with one name the last counts, as in the object that is hashed
		}
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(appendPython(text, p.key), ':')
		if p.link != nil {
			text = appendLinkJSON(text, p.link)
		} else {
			text = appendReferenceJSON(text, p.reference)
		}
	}
	h.text = slices.DeleteFunc(append(text, '}'), func(c byte) bool { return c == ' ' })
	clear(h.parts)
	return []trace.Hash{{ID: h.sum(), Attributes: map[string]any{"key": "indirect"}}}
}

func (h *hasher) sum() (id uuid.UUID) {
	if h.digest == nil {
		digest, err := blake2b.New(len(id), nil)
		if err != nil {
			panic("fit: " + err.Error()) // 16 is a valid size and there is no key
		}
		h.digest = digest
	}
	h.digest.Reset()
	_, _ = h.digest.Write(h.text) // a hash never fails to write
	h.digest.Sum(id[:0])
	return id
}

func appendLinkJSON(text []byte, l *trace.Link) []byte {
	text = hex.AppendEncode(append(text, `{"span_id":"`...), l.SpanID[:])
	text = hex.AppendEncode(append(text, `","trace_id":"`...), l.TraceID[:])
	return append(text, `"}`...)
}

func appendReferenceJSON(text []byte, r *trace.Reference) []byte {
	text = append(text, '{')
	start := len(text)
	member := func(name, value string) {
		if len(text) > start {
			text = append(text, ',')
		}
		text = append(appendPython(text, name), ':')
		text = appendPython(text, value)
	}
	if r.ID != uuid.Nil {
		member(semconv.ID, r.ID.String())
	}
	if r.Slug != "" {
		member(semconv.Slug, r.Slug)
	}
	if r.Version != "" {
		member(semconv.Version, r.Version)
	}
	return append(text, '}')
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
	return hex.AppendEncode(append(text, '\\', 'u'), []byte{byte(r >> 8), byte(r)}) //nolint:gosec // two bytes are all that a UTF-16 unit has
}
