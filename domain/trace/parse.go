package trace

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"colonnade/domain"
)

// MaxDepth is how many objects and arrays ParseJSON enters; deeper input is refused.
const MaxDepth = 256

// ParseJSON reads one JSON value as an attribute value (see Span): a number
// written without fraction or exponent that fits is an int64, any other a
// float64. It reads what AppendJSON wrote to an equal value. Of equal keys the
// last stands. Bytes that are not UTF-8 and lone surrogates become U+FFFD.
// Anything that is not JSON, is deeper than MaxDepth, or holds a number
// beyond float64 is Rejected.
func ParseJSON(data []byte) (any, error) { return ParseText(string(data)) }

// ParseText is ParseJSON for text that is a string already: strings of the
// value that need no unescaping share its memory, so that reading a document
// copies nothing of it, and that keeping one of them keeps all of it.
func ParseText(text string) (any, error) {
	p := parser{data: text}
	v, err := p.value(0)
	if err == nil {
		err = p.end()
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// ParseExact is ParseText for what a client sends and wants back: what could not
// be kept as it is, is Rejected. That is text that is not UTF-8 or has half a
// character, and a whole number that neither an int64 nor a float64 holds.
func ParseExact(text string) (any, error) {
	p := parser{data: text, exact: true}
	v, err := p.value(0)
	if err == nil {
		err = p.end()
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

type parser struct {
	data string
	at   int
	// exact refuses what is not kept as it is.
	exact bool
}

func (p *parser) bad(what string) error {
	return domain.E(domain.Rejected, "Invalid JSON at byte %d: %s.", p.at, what)
}

// end refuses what stands behind the value.
func (p *parser) end() error {
	if p.space(); p.at < len(p.data) {
		return p.bad("text after the value")
	}
	return nil
}

func (p *parser) space() {
	for p.at < len(p.data) {
		switch p.data[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

// peek skips space and gives the next byte; 0 at the end.
func (p *parser) peek() byte {
	if p.space(); p.at < len(p.data) {
		return p.data[p.at]
	}
	return 0
}

func (p *parser) value(depth int) (any, error) {
	if depth > MaxDepth {
		return nil, p.bad("nested too deeply")
	}
	switch c := p.peek(); {
	case c == '{':
		return p.object(depth, whole)
	case c == '[':
		return p.array(depth)
	case c == '"':
		return p.str()
	case c == '-' || '0' <= c && c <= '9':
		return p.number()
	case c == 't':
		return true, p.word("true")
	case c == 'f':
		return false, p.word("false")
	case c == 'n':
		return nil, p.word("null")
	default:
		return nil, p.bad("a value expected")
	}
}

func (p *parser) word(w string) error {
	if len(p.data)-p.at < len(w) || p.data[p.at:p.at+len(w)] != w {
		return p.bad("a value expected")
	}
	p.at += len(w)
	return nil
}

func (p *parser) object(depth int, e extent) (map[string]any, error) {
	object := map[string]any{}
	p.at++
	if p.peek() == '}' {
		p.at++
		return object, nil
	}
	for {
		if p.peek() != '"' {
			return nil, p.bad("a key expected")
		}
		key, err := p.str()
		if err != nil {
			return nil, err
		}
		if p.peek() != ':' {
			return nil, p.bad("a colon expected")
		}
		p.at++
		if object[key], err = p.member(depth+1, e.of(key)); err != nil {
			return nil, err
		}
		switch p.peek() {
		case ',':
			p.at++
		case '}':
			p.at++
			return object, nil
		default:
			return nil, p.bad("a comma or } expected")
		}
	}
}

func (p *parser) array(depth int) (any, error) {
	array := []any{}
	p.at++
	if p.peek() == ']' {
		p.at++
		return array, nil
	}
	for {
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		array = append(array, v)
		switch p.peek() {
		case ',':
			p.at++
		case ']':
			p.at++
			return array, nil
		default:
			return nil, p.bad("a comma or ] expected")
		}
	}
}

func (p *parser) number() (any, error) {
	n, err := p.numeral()
	if err != nil {
		return nil, err
	}
	return n.value(), nil
}

// numeral reads a number; its first byte is a digit or minus.
func (p *parser) numeral() (number, error) {
	start, whole := p.at, true
	if p.data[p.at] == '-' {
		p.at++
	}
	first := p.at
	digits := p.digits()
	if digits == 0 || digits > 1 && p.data[first] == '0' {
		return number{}, p.bad("a number expected")
	}
	if p.at < len(p.data) && p.data[p.at] == '.' {
		p.at++
		if whole = false; p.digits() == 0 {
			return number{}, p.bad("a digit expected")
		}
	}
	if p.at < len(p.data) && (p.data[p.at] == 'e' || p.data[p.at] == 'E') {
		p.at++
		if p.at < len(p.data) && (p.data[p.at] == '+' || p.data[p.at] == '-') {
			p.at++
		}
		if whole = false; p.digits() == 0 {
			return number{}, p.bad("a digit expected")
		}
	}
	text := p.data[start:p.at]
	if whole {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return number{whole: n}, nil
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if errors.Is(err, strconv.ErrRange) && math.IsInf(f, 0) {
		return number{}, p.bad("the number is too large")
	}
	if whole && p.exact && !holds(f, text) {
		return number{}, p.bad("the whole number has more digits than are kept: send it as text")
	}
	return number{float: f, isFloat: true}, nil
}

// holds tells whether a float64 is the whole number of the text, or is written so.
func holds(f float64, text string) bool {
	if strconv.FormatFloat(f, 'f', -1, 64) == text {
		return true
	}
	exact, ok := new(big.Int).SetString(text, 10)
	kept, _ := big.NewFloat(f).Int(nil)
	return ok && kept.Cmp(exact) == 0
}

func (p *parser) digits() int {
	start := p.at
	for p.at < len(p.data) && '0' <= p.data[p.at] && p.data[p.at] <= '9' {
		p.at++
	}
	return p.at - start
}

// str reads a string; its first byte is the quote.
func (p *parser) str() (string, error) {
	p.at++
	start, ascii := p.at, true
	for p.at < len(p.data) {
		switch c := p.data[p.at]; {
		case c == '"':
			s := p.data[start:p.at]
			if p.at++; !ascii {
				return p.valid(s)
			}
			return s, nil
		case c == '\\':
			return p.escaped(start)
		case c < ' ':
			return "", p.bad("a control character in a string")
		case c >= utf8.RuneSelf:
			ascii = false
			p.at++
		default:
			p.at += plain(p.data[p.at:])
		}
	}
	return "", p.bad("the string does not end")
}

// valid gives text as UTF-8, or refuses what is none.
func (p *parser) valid(s string) (string, error) {
	if p.exact && !utf8.ValidString(s) {
		return "", p.bad("text is not UTF-8")
	}
	return strings.ToValidUTF8(s, "\uFFFD"), nil
}

// escaped reads the rest of a string from its first backslash.
func (p *parser) escaped(start int) (string, error) {
	b := append(make([]byte, 0, 2*(p.at-start)+32), p.data[start:p.at]...)
	for p.at < len(p.data) {
		c := p.data[p.at]
		p.at++
		switch {
		case c == '"':
			return p.valid(string(b))
		case c < ' ':
			return "", p.bad("a control character in a string")
		case c != '\\':
			b = append(b, c)
			continue
		}
		if p.at == len(p.data) {
			break
		}
		c = p.data[p.at]
		p.at++
		switch c {
		case '"', '\\', '/':
			b = append(b, c)
		case 'b':
			b = append(b, '\b')
		case 'f':
			b = append(b, '\f')
		case 'n':
			b = append(b, '\n')
		case 'r':
			b = append(b, '\r')
		case 't':
			b = append(b, '\t')
		case 'u':
			r, ok := p.hex4()
			if !ok {
				return "", p.bad("four hex digits expected")
			}
			if utf16.IsSurrogate(r) {
				if r = p.pair(r); r == utf8.RuneError && p.exact {
					return "", p.bad("half a character")
				}
			}
			b = utf8.AppendRune(b, r)
		default:
			return "", p.bad("an unknown escape")
		}
	}
	return "", p.bad("the string does not end")
}

// pair joins a surrogate with the one that follows; a lone one is U+FFFD.
func (p *parser) pair(first rune) rune {
	at := p.at
	if at+1 < len(p.data) && p.data[at] == '\\' && p.data[at+1] == 'u' {
		p.at += 2
		if second, ok := p.hex4(); ok {
			if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
				return r
			}
		}
		p.at = at
	}
	return utf8.RuneError
}

func (p *parser) hex4() (rune, bool) {
	if len(p.data)-p.at < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(p.data[p.at:p.at+4], 16, 16)
	if err != nil {
		return 0, false
	}
	p.at += 4
	return rune(n), true
}
