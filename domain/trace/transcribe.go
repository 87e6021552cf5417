package trace

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Transcriber writes JSON text in the canonical form, without making the value
// that it says: what AppendJSON writes of what ParseExact reads, for a fraction of
// the work. It is reused from text to text, and not for two at a time.
type Transcriber struct {
	p       parser
	depth   int
	dst     []byte
	members []member
	scratch []byte
}

// member is where one member of the object in hand is written.
type member struct {
	start, end int
	// key is what the text at start is sorted by.
	key string
}

// maxKeptBytes is how much memory one large text leaves to the next.
const maxKeptBytes = 1 << 20

// Transcribe gives the JSON text as a Document, which is the text itself where that
// is canonical. ok is false for what ParseExact refuses, and for what nests deeper
// than depth (at most MaxDepth).
func (t *Transcriber) Transcribe(text string, depth int) (d Document, ok bool) {
	t.p = parser{data: text, exact: true}
	t.depth = min(depth, MaxDepth)
	if ok = t.value(0) && t.p.end() == nil; ok {
		if d = Document(text); string(t.dst) != text {
			d = Document(t.dst)
		}
	}
	t.p = parser{}
	if cap(t.dst) > maxKeptBytes {
		*t = Transcriber{}
	}
	clear(t.members) // of objects that did not end
	t.dst, t.members = t.dst[:0], t.members[:0]
	return d, ok
}

func (t *Transcriber) value(depth int) bool {
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
		return t.word("true")
	case c == 'f':
		return t.word("false")
	default:
		return t.word("null")
	}
}

func (t *Transcriber) word(w string) bool {
	if t.p.word(w) != nil {
		return false
	}
	t.dst = append(t.dst, w...)
	return true
}

func (t *Transcriber) array(depth int) bool {
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

// object writes the members as they come and, where that is not in order, anew.
func (t *Transcriber) object(depth int) bool {
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

// sort writes an object's members again, in order; of equal keys the last.
func (t *Transcriber) sort(members []member) {
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

// number writes a number: one of few digits as it stands.
func (t *Transcriber) number() bool {
	const most = 18 // digits that an int64 surely holds
	start, first := t.p.at, t.p.at
	if t.p.data[first] == '-' {
		first++
		t.p.at++
	}
	digits := t.p.digits()
	if digits == 1 && start == first || digits > 0 && digits <= most && t.p.data[first] != '0' {
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
	t.dst = AppendJSON(t.dst, v)
	return true
}

// str writes a string as it stands, or anew where that is not how the canonical
// form has it.
func (t *Transcriber) str() bool {
	start := t.p.at + 1
	for at := start; at < len(t.p.data); {
		switch c := t.p.data[at]; {
		case c == '"':
			t.dst = append(t.dst, t.p.data[start-1:at+1]...)
			t.p.at = at + 1
			return true
		case c == '\\':
			if at+1 == len(t.p.data) || !strings.ContainsRune(`"\bfnrt`, rune(t.p.data[at+1])) {
				return t.anew()
			}
			at += 2
		case c < ' ':
			return false
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(t.p.data[at:])
			if r == utf8.RuneError && size == 1 {
				return t.anew()
			}
			at += size
		default:
			at += plain(t.p.data[at:])
		}
	}
	return false
}

func (t *Transcriber) anew() bool {
	s, err := t.p.str()
	t.dst = AppendString(t.dst, s)
	return err == nil
}

// key writes a key and gives what it says.
func (t *Transcriber) key() (key string, ok bool) {
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
