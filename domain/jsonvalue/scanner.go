package jsonvalue

// Scanner steps through the values of a Raw without building them. It expects
// canonical JSON: of any other text it returns some values or none, and ends.
type Scanner struct{ p Parser }

// Scan returns a Scanner at the value of r.
func Scan(r Raw) Scanner { return Scanner{Parser{data: string(r)}} }

// Kind returns the first byte of the current value, which shows its type: one of
// {["tfn, or the first byte of a number; 0 at the end.
func (s *Scanner) Kind() byte { return s.p.peek() }

// Enter steps into the current object or array, to its first member; more is false for
// an empty one, which it steps over.
func (s *Scanner) Enter() (more bool) {
	s.p.at++
	if c := s.p.peek(); c == '}' || c == ']' {
		s.p.at++
		return false
	}
	return true
}

// Next steps from the end of a member to the next one; more is false after the last
// member, and the scanner is then behind the object or array.
func (s *Scanner) Next() (more bool) {
	c := s.p.peek()
	s.p.at++
	return c == ','
}

// Key returns the name of the current member and steps to its value. Like Text it shares
// the memory of the Raw unless the string has escapes.
func (s *Scanner) Key() string {
	key := s.Text()
	if s.p.peek() == ':' {
		s.p.at++
	}
	return key
}

// Text returns the current string.
func (s *Scanner) Text() string {
	text, err := s.p.str()
	if err != nil {
		s.p.at = len(s.p.data)
	}
	return text
}

// Number returns the current number, an int64 or a float64; nil if the value is not a number.
func (s *Scanner) Number() any {
	if s.p.peek() != 0 {
		if n, err := s.p.number(); err == nil {
			return n
		}
	}
	s.p.at = len(s.p.data)
	return nil
}

// Skip steps over the current value.
func (s *Scanner) Skip() {
	switch c := s.p.peek(); c {
	case '{', '[':
		if s.p.skip() != nil {
			s.p.at = len(s.p.data)
		}
	case '"':
		s.p.at++
		s.p.skipString()
	case 't', 'n':
		s.p.at += len("true")
	case 'f':
		s.p.at += len("false")
	default:
		s.Number()
	}
	s.p.at = min(s.p.at, len(s.p.data))
}

// skip steps over an object or array.
func (p *Parser) skip() error {
	for open := 0; p.at < len(p.data); {
		c := p.data[p.at]
		p.at++
		switch c {
		case '{', '[':
			open++
		case '}', ']':
			if open--; open == 0 {
				return nil
			}
		case '"':
			p.skipString()
		}
	}
	return p.bad("the value does not end")
}

// skipString steps over a string after its first quote.
func (p *Parser) skipString() {
	for p.at < len(p.data) {
		switch p.data[p.at] {
		case '"':
			p.at++
			return
		case '\\':
			p.at += 2
		default:
			p.at++
			p.at += plainPrefix(p.data[p.at:])
		}
	}
}
