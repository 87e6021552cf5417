package otlpjson

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxJSONDepth bounds how deep what is converted nests: deeper than any value
// that is kept. A value of an attribute needs three levels for each of its own.
const maxJSONDepth = 1000

// syntaxError is JSON that is none: the whole body is unusable.
type syntaxError struct {
	at   int
	what string
}

// Error names the place.
func (e *syntaxError) Error() string { return fmt.Sprintf("JSON, byte %d: %s", e.at, e.what) }

// reader walks JSON text without building a tree: memory stays that of the
// text, however it is nested. Its methods consume what they read, white space
// before it included.
type reader struct {
	s  string
	at int
	// depth is how many objects and arrays are open.
	depth int
}

func (r *reader) fail(what string) error { return &syntaxError{at: r.at, what: what} }

// open consumes the beginning of an object or array.
func (r *reader) open(c byte) error {
	if r.depth++; r.depth > maxJSONDepth {
		return r.fail("nested too deep")
	}
	return r.expect(c)
}

// close consumes the end of an object or array, if it is next.
func (r *reader) close(c byte) bool {
	if r.peek() != c {
		return false
	}
	r.at++
	r.depth--
	return true
}

// peek gives the next character that is not white space; 0 at the end.
func (r *reader) peek() byte {
	for r.at < len(r.s) {
		switch c := r.s[r.at]; c {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return c
		}
	}
	return 0
}

// expect consumes one character.
func (r *reader) expect(c byte) error {
	if r.peek() != c {
		return r.fail(fmt.Sprintf("expected %q", c))
	}
	r.at++
	return nil
}

// null consumes null if it is next.
func (r *reader) null() bool {
	r.peek()
	if strings.HasPrefix(r.s[r.at:], "null") {
		r.at += len("null")
		return true
	}
	return false
}

// object calls member for each key; member must consume the value. null is an empty object.
func (r *reader) object(member func(key string) error) error {
	if r.null() {
		return nil
	}
	if err := r.open('{'); err != nil {
		return err
	}
	if r.close('}') {
		return nil
	}
	for {
		key, err := r.text()
		if err != nil {
			return err
		}
		if err := r.expect(':'); err != nil {
			return err
		}
		if err := member(key); err != nil {
			return err
		}
		if r.close('}') {
			return nil
		}
		if err := r.expect(','); err != nil {
			return err
		}
	}
}

// array calls element for each; element must consume it. null is an empty array.
func (r *reader) array(element func() error) error {
	if r.null() {
		return nil
	}
	if err := r.open('['); err != nil {
		return err
	}
	if r.close(']') {
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		if r.close(']') {
			return nil
		}
		if err := r.expect(','); err != nil {
			return err
		}
	}
}

// quoted consumes a string and gives it with its quotes and escapes.
func (r *reader) quoted() (string, error) {
	if err := r.expect('"'); err != nil {
		return "", err
	}
	start := r.at - 1
	for r.at < len(r.s) {
		switch c := r.s[r.at]; {
		case c == '"':
			r.at++
			return r.s[start:r.at], nil
		case c == '\\':
			r.at += 2
		case c < ' ':
			return "", r.fail("a control character in a string")
		default:
			r.at++
		}
	}
	return "", r.fail("a string does not end")
}

// text consumes a string and gives its value. Bytes that are not UTF-8 stay, to
// be refused with the span they are in.
func (r *reader) text() (string, error) {
	start := r.at
	q, err := r.quoted()
	if err != nil {
		return "", err
	}
	inner := q[1 : len(q)-1]
	if strings.IndexByte(inner, '\\') < 0 {
		return inner, nil
	}
	if !utf8.ValidString(inner) || loneSurrogate(inner) {
		return "\xff", nil // encoding/json would mend it silently
	}
	var s string
	if err := json.Unmarshal([]byte(q), &s); err != nil {
		r.at = start
		return "", r.fail("a string holds a wrong escape")
	}
	return s, nil
}

// loneSurrogate tells whether an escape stands for half a character, which no UTF-8 can say.
func loneSurrogate(s string) bool {
	for {
		at := strings.IndexByte(s, '\\')
		if at < 0 || at+1 == len(s) {
			return false
		}
		first, ok := unit(s[at:])
		if !ok {
			s = s[at+2:]
			continue
		}
		s = s[at+6:]
		if !utf16.IsSurrogate(first) {
			continue
		}
		second, _ := unit(s)
		if utf16.DecodeRune(first, second) == utf8.RuneError {
			return true
		}
		s = s[6:]
	}
}

// unit reads an escape of one UTF-16 unit.
func unit(s string) (rune, bool) {
	if len(s) < 6 || s[:2] != `\u` {
		return 0, false
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(n), err == nil
}

// scalar consumes a number, true or false and gives its text.
func (r *reader) scalar() (string, error) {
	r.peek()
	start := r.at
	for r.at < len(r.s) && !ends(r.s[r.at]) {
		r.at++
	}
	word := r.s[start:r.at]
	if !json.Valid([]byte(word)) {
		r.at = start
		return "", r.fail("expected a value")
	}
	return word, nil
}

// ends tells whether a character cannot be part of a number or word.
func ends(c byte) bool {
	switch c {
	case ' ', '\t', '\n', '\r', ',', ':', ']', '}', '[', '{', '"':
		return true
	default:
		return false
	}
}

// skip consumes one value of any kind and gives its text.
func (r *reader) skip() (string, error) {
	r.peek()
	start := r.at
	if err := r.value(); err != nil {
		return "", err
	}
	return r.s[start:r.at], nil
}

// value consumes one value, however deep it nests: it keeps a byte for each
// object and array that is open, so that what surrounds a bad span is found.
func (r *reader) value() error {
	var few [64]byte
	open := few[:0] // what will end them, the innermost last
	for {
		switch c := r.peek(); c {
		case '{', '[':
			r.at++
			open = append(open, c+2)
			if r.peek() == c+2 {
				break // it is empty
			}
			if err := r.key(c + 2); err != nil {
				return err
			}
			continue
		case '"':
			if _, err := r.text(); err != nil {
				return err
			}
		default:
			if _, err := r.scalar(); err != nil {
				return err
			}
		}
		for len(open) > 0 && r.peek() == open[len(open)-1] {
			r.at++
			open = open[:len(open)-1]
		}
		if len(open) == 0 {
			return nil
		}
		if err := r.expect(','); err != nil {
			return err
		}
		if err := r.key(open[len(open)-1]); err != nil {
			return err
		}
	}
}

// key consumes the key of a member, where it is an object that ends with end.
func (r *reader) key(end byte) error {
	if end != '}' {
		return nil
	}
	if _, err := r.text(); err != nil {
		return err
	}
	return r.expect(':')
}
