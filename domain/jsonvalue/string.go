package jsonvalue

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// str parses a string, whose first byte is the quote.
func (p *Parser) str() (string, error) {
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
			p.at += plainPrefix(p.data[p.at:])
		}
	}
	return "", p.bad("the string does not end")
}

// valid returns s as UTF-8; an exact parser rejects text that is not.
func (p *Parser) valid(s string) (string, error) {
	if p.exact && !utf8.ValidString(s) {
		return "", p.bad("text is not UTF-8")
	}
	return strings.ToValidUTF8(s, "\uFFFD"), nil
}

// escaped parses the rest of a string from its first backslash.
func (p *Parser) escaped(start int) (string, error) {
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
func (p *Parser) pair(first rune) rune {
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

func (p *Parser) hex4() (rune, bool) {
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
