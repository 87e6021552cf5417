package jsonvalue

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Canonicalizer writes JSON text in canonical form without building its value. The
// result is what Append writes of the value that ParseExact returns, for a fraction of
// the work. One Canonicalizer serves many texts, one at a time.
type Canonicalizer struct {
	p       Parser
	depth   int
	dst     []byte
	members []member
	scratch []byte
}

// member is the position of a written member of the current object.
type member struct {
	start, end int
	// key is the unescaped key: members are sorted by it.
	key string
}

// maxKeptBytes is the size of the largest buffer that is kept for the next text: one
// large text must not hold its memory for good.
const maxKeptBytes = 1 << 20

// Canonicalize returns the canonical form of text, which is text itself if it is
// canonical. ok is false for text that ParseExact rejects or that is nested deeper
// than depth (at most MaxDepth).
func (t *Canonicalizer) Canonicalize(text string, depth int) (raw Raw, ok bool) {
	t.p = Parser{data: text, exact: true}
	t.depth = min(depth, MaxDepth)
	if ok = t.value(0) && t.p.end() == nil; ok {
		if raw = Raw(text); string(t.dst) != text {
			raw = Raw(t.dst)
		}
	}
	t.p = Parser{}
	if cap(t.dst) > maxKeptBytes {
		*t = Canonicalizer{}
	}
	clear(t.members) // of objects that did not end
	t.dst, t.members = t.dst[:0], t.members[:0]
	return raw, ok
}

func (t *Canonicalizer) value(depth int) bool {
	if depth > t.depth {
		return false
	}
	switch c := t.p.peek(); {
	case c == '{':
		return t.object(depth)
	case c == '[':
		return t.array(depth)
	case c == '"':
		return t.str()
	case c == '-' || '0' <= c && c <= '9':
		return t.number()
	case c == 't':
		return t.literal("true")
	case c == 'f':
		return t.literal("false")
	default:
		return t.literal("null")
	}
}

func (t *Canonicalizer) literal(w string) bool {
	if t.p.literal(w) != nil {
		return false
	}
	t.dst = append(t.dst, w...)
	return true
}

func (t *Canonicalizer) array(depth int) bool {
	t.p.at++
	t.dst = append(t.dst, '[')
	if t.p.peek() == ']' {
		t.p.at++
		t.dst = append(t.dst, ']')
		return true
	}
	for {
		if !t.value(depth + 1) {
			return false
		}
		c := t.p.peek()
		t.p.at++
		switch c {
		case ',', ']':
			if t.dst = append(t.dst, c); c == ']' {
				return true
			}
		default:
			return false
		}
	}
}

// object writes the members in the order of the text and sorts them afterwards if they are not in order.
func (t *Canonicalizer) object(depth int) bool {
	t.p.at++
	t.dst = append(t.dst, '{')
	if t.p.peek() == '}' {
		t.p.at++
		t.dst = append(t.dst, '}')
		return true
	}
	first, sorted := len(t.members), true
	for {
		m := member{start: len(t.dst)}
		if t.p.peek() != '"' {
			return false
		}
		var ok bool
		if m.key, ok = t.key(); !ok || t.p.peek() != ':' {
			return false
		}
		t.p.at++
		t.dst = append(t.dst, ':')
		t.members = append(t.members, m)
		at := len(t.members) - 1
		sorted = sorted && (at == first || t.members[at-1].key < m.key)
		if !t.value(depth + 1) {
			return false
		}
		t.members[at].end = len(t.dst)
		c := t.p.peek()
		t.p.at++
		switch c {
		case ',':
			t.dst = append(t.dst, ',')
		case '}':
			if !sorted {
				t.sort(t.members[first:])
			}
			clear(t.members[first:])
			t.members = t.members[:first]
			t.dst = append(t.dst, '}')
			return true
		default:
			return false
		}
	}
}

// sort writes the members of an object again, in the order of their keys; of equal keys the last one.
func (t *Canonicalizer) sort(members []member) {
	open := members[0].start
	t.scratch = append(t.scratch[:0], t.dst[open:]...)
	slices.SortStableFunc(members, func(a, b member) int { return strings.Compare(a.key, b.key) })
	t.dst = t.dst[:open]
	for i, m := range members {
		if i+1 < len(members) && members[i+1].key == m.key {
			continue
		}
		if len(t.dst) > open {
			t.dst = append(t.dst, ',')
		}
		t.dst = append(t.dst, t.scratch[m.start-open:m.end-open]...)
	}
}

// number writes a number; a whole number that surely fits is copied.
func (t *Canonicalizer) number() bool {
	const maxDigits = 18 // an int64 holds every number of 18 digits
	start, first := t.p.at, t.p.at
	if t.p.data[first] == '-' {
		first++
		t.p.at++
	}
	digits := t.p.digits()
	if digits == 1 && start == first || digits > 0 && digits <= maxDigits && t.p.data[first] != '0' {
		if t.p.at == len(t.p.data) || !strings.ContainsRune(".eE", rune(t.p.data[t.p.at])) {
			t.dst = append(t.dst, t.p.data[start:t.p.at]...)
			return true
		}
	}
	t.p.at = start
	v, err := t.p.number()
	if err != nil {
		return false
	}
	t.dst = Append(t.dst, v)
	return true
}

// str copies a string, or writes it again if it is not in canonical form.
func (t *Canonicalizer) str() bool {
	start := t.p.at + 1
	for at := start; at < len(t.p.data); {
		switch c := t.p.data[at]; {
		case c == '"':
			t.dst = append(t.dst, t.p.data[start-1:at+1]...)
			t.p.at = at + 1
			return true
		case c == '\\':
			if at+1 == len(t.p.data) || !strings.ContainsRune(`"\bfnrt`, rune(t.p.data[at+1])) {
				return t.rewrite()
			}
			at += 2
		case c < ' ':
			return false
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(t.p.data[at:])
			if r == utf8.RuneError && size == 1 {
				return t.rewrite()
			}
			at += size
		default:
			at += plainPrefix(t.p.data[at:])
		}
	}
	return false
}

func (t *Canonicalizer) rewrite() bool {
	s, err := t.p.str()
	t.dst = AppendString(t.dst, s)
	return err == nil
}

// key writes a key and returns it unescaped.
func (t *Canonicalizer) key() (key string, ok bool) {
	start := t.p.at
	if !t.str() {
		return "", false
	}
	key = t.p.data[start+1 : t.p.at-1]
	if strings.IndexByte(key, '\\') < 0 && utf8.ValidString(key) {
		return key, true
	}
	t.p.at = start
	key, err := t.p.str()
	return key, err == nil
}
