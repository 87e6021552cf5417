package jsonvalue

import "colonnade/domain"

// MaxDepth is the greatest depth of objects and arrays that is parsed; deeper input is refused.
const MaxDepth = 256

// Parse parses one JSON value. A number without fraction or exponent that fits is
// an int64, any other a float64; the text that Append wrote parses to an equal
// value. Of equal keys the last one counts. Bytes that are not UTF-8 and lone surrogates become
// U+FFFD. Text that is not JSON, is deeper than MaxDepth, or has a number that
// exceeds float64 is Rejected.
func Parse(data []byte) (any, error) { return ParseString(string(data)) }

// ParseString is Parse for a string. Strings of the value that need no unescaping
// share the memory of text, so parsing copies no text, and one retained string
// retains all of it.
func ParseString(text string) (any, error) {
	p := Parser{data: text}
	return p.all()
}

// ParseExact is ParseString for text that a client sends and expects back
// unchanged. It rejects text that cannot be kept as it is: text that is not UTF-8,
// lone surrogates, and whole numbers that neither an int64 nor a float64 holds.
func ParseExact(text string) (any, error) {
	p := Parser{data: text, exact: true}
	return p.all()
}

// ParseObject is ParseString for an object; an empty text is nil.
func ParseObject(text string) (map[string]any, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // an absent object
	}
	v, err := ParseString(text)
	if err != nil {
		return nil, err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, domain.E(domain.Rejected, "The JSON is not an object.")
	}
	return object, nil
}

// ParseMembers parses an object; member parses the value of each member, or leaves
// it Raw.
func ParseMembers(text string, member func(p *Parser, key string) (any, error)) (map[string]any, error) {
	p := Parser{data: text}
	if p.peek() != '{' {
		return nil, p.bad("an object expected")
	}
	object, err := p.object(member)
	if err == nil {
		err = p.end()
	}
	return object, err
}

// Parser parses JSON text from its current position. Other packages meet one in a
// callback of ParseMembers, at the value of a member.
type Parser struct {
	data  string
	at    int
	depth int
	// exact rejects text that cannot be kept as it is.
	exact bool
}

// IsObject reports whether the value at the current position is an object.
func (p *Parser) IsObject() bool { return p.peek() == '{' }

// Value parses the value at the current position.
func (p *Parser) Value() (any, error) { return p.value() }

// Members parses the object at the current position as ParseMembers does.
func (p *Parser) Members(member func(p *Parser, key string) (any, error)) (map[string]any, error) {
	return p.object(member)
}

// Raw returns an object or array at the current position unparsed and unchecked, and
// parses any other value.
func (p *Parser) Raw() (any, error) {
	if c := p.peek(); c != '{' && c != '[' {
		return p.value()
	}
	return p.Text()
}

// Text returns the object or array at the current position, unparsed and unchecked. It
// shares the memory of the parsed text.
func (p *Parser) Text() (Raw, error) {
	start := p.at
	if err := p.skip(); err != nil {
		return "", err
	}
	return Raw(p.data[start:p.at]), nil
}

// all parses the whole text as one value.
func (p *Parser) all() (any, error) {
	v, err := p.value()
	if err == nil {
		err = p.end()
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

func (p *Parser) bad(what string) error {
	return domain.E(domain.Rejected, "Invalid JSON at byte %d: %s.", p.at, what)
}

// end rejects text after the value.
func (p *Parser) end() error {
	if p.space(); p.at < len(p.data) {
		return p.bad("text after the value")
	}
	return nil
}

func (p *Parser) space() {
	for p.at < len(p.data) {
		switch p.data[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

// peek skips white space and returns the next byte; 0 at the end.
func (p *Parser) peek() byte {
	if p.space(); p.at < len(p.data) {
		return p.data[p.at]
	}
	return 0
}

func (p *Parser) value() (any, error) {
	if p.depth > MaxDepth {
		return nil, p.bad("nested too deeply")
	}
	switch c := p.peek(); {
	case c == '{':
		return p.object((*Parser).member)
	case c == '[':
		return p.array()
	case c == '"':
		return p.str()
	case c == '-' || '0' <= c && c <= '9':
		return p.number()
	case c == 't':
		return true, p.literal("true")
	case c == 'f':
		return false, p.literal("false")
	case c == 'n':
		return nil, p.literal("null")
	default:
		return nil, p.bad("a value expected")
	}
}

func (p *Parser) literal(w string) error {
	if len(p.data)-p.at < len(w) || p.data[p.at:p.at+len(w)] != w {
		return p.bad("a value expected")
	}
	p.at += len(w)
	return nil
}

// member parses the whole value of a member.
func (p *Parser) member(string) (any, error) { return p.value() }

func (p *Parser) object(member func(p *Parser, key string) (any, error)) (map[string]any, error) {
	object := map[string]any{}
	p.at++
	if p.peek() == '}' {
		p.at++
		return object, nil
	}
	p.depth++
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
		if object[key], err = member(p, key); err != nil {
			return nil, err
		}
		switch p.peek() {
		case ',':
			p.at++
		case '}':
			p.at++
			p.depth--
			return object, nil
		default:
			return nil, p.bad("a comma or } expected")
		}
	}
}

func (p *Parser) array() (any, error) {
	array := []any{}
	p.at++
	if p.peek() == ']' {
		p.at++
		return array, nil
	}
	p.depth++
	for {
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		array = append(array, v)
		switch p.peek() {
		case ',':
			p.at++
		case ']':
			p.at++
			p.depth--
			return array, nil
		default:
			return nil, p.bad("a comma or ] expected")
		}
	}
}
