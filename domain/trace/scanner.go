package trace

// Scanner goes through a document value by value, without making them. Of what is
// not the canonical JSON that it takes every document to be, it reads something or
// nothing, and ends.
type Scanner struct{ p parser }

// Scan begins at the document's value.
func Scan(d Document) Scanner { return Scanner{parser{data: string(d)}} }

// Kind is the first byte of the value in hand, which tells what it is: one of
// {["tfn, or that of a number; 0 at the end.
func (s *Scanner) Kind() byte { return s.p.peek() }

// Enter goes into the object or array in hand, to its first member; more is false
// for an empty one, which is behind then.
func (s *Scanner) Enter() (more bool) {
	s.p.at++
	if c := s.p.peek(); c == '}' || c == ']' {
		s.p.at++
		return false
	}
	return true
}

// Next goes from behind a member to the one after it; more is false where there is
// none, and the object or array is behind then.
func (s *Scanner) Next() (more bool) {
	c := s.p.peek()
	s.p.at++
	return c == ','
}

// Key reads the name of the member in hand, to its value. It shares the document's
// memory where nothing in it is escaped, as Text does.
func (s *Scanner) Key() string {
	key := s.Text()
	if s.p.peek() == ':' {
		s.p.at++
	}
	return key
}

// Text reads the string in hand.
func (s *Scanner) Text() string {
	text, err := s.p.str()
	if err != nil {
		s.p.at = len(s.p.data)
	}
	return text
}

// Number reads the number in hand: an int64 or a float64; nil where there is none.
func (s *Scanner) Number() any {
	if s.p.peek() != 0 {
		if n, err := s.p.number(); err == nil {
			return n
		}
	}
	s.p.at = len(s.p.data)
	return nil
}

// Skip goes behind the value in hand.
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
