package jsonvalue

// Canonical reads an object that Append wrote: no white space, ascending keys. Its
// methods report false for other text, which a caller then parses with ParseString.
type Canonical struct{ p Parser }

// ReadCanonical returns a reader at the start of r.
func ReadCanonical(r Raw) Canonical { return Canonical{Parser{data: string(r)}} }

// IsObject reports whether the current value is an object.
func (c *Canonical) IsObject() bool { return c.p.next() == '{' }

// AtEnd reports whether all of the text is read.
func (c *Canonical) AtEnd() bool { return c.p.at == len(c.p.data) }

// Members calls each with every member of the current object; each must step over the
// value and reports whether it did. Members reports false for an object that Append did not write,
// for one with a key that is not plain ASCII, and if each did.
func (c *Canonical) Members(each func(key string) bool) bool {
	p := &c.p
	p.at++
	if p.next() == '}' {
		p.at++
		return true
	}
	for last, first := "", true; ; first = false {
		key, ok := p.plainKey()
		if !ok || !first && key <= last || !each(key) {
			return false
		}
		last = key
		end := p.next()
		p.at++
		switch end {
		case ',':
		case '}':
			return true
		default:
			return false
		}
	}
}

// Number steps over the current value and stores it in n if it is a number.
func (c *Canonical) Number(n *Number) bool {
	if b := c.p.next(); b != '-' && (b < '0' || b > '9') {
		return c.Skip()
	}
	var err error
	*n, err = c.p.parseNumber()
	return err == nil
}

// Skip steps over the current value, without checking objects, arrays and numbers.
func (c *Canonical) Skip() bool { return c.p.pass() }

// next returns the next byte, 0 at the end.
func (p *Parser) next() byte {
	if p.at < len(p.data) {
		return p.data[p.at]
	}
	return 0
}

// plainKey reads an ASCII key without escapes, and its colon. Such keys sort in the text
// as they do unescaped.
func (p *Parser) plainKey() (string, bool) {
	if p.next() != '"' {
		return "", false
	}
	start := p.at + 1
	p.at = start
	p.at += plainPrefix(p.data[start:])
	end := p.at
	if p.next() != '"' {
		return "", false
	}
	if p.at++; p.next() != ':' {
		return "", false
	}
	p.at++
	return p.data[start:end], true
}

func (p *Parser) pass() bool {
	switch c := p.next(); {
	case c == '{' || c == '[':
		return p.skip() == nil
	case c == '-' || '0' <= c && c <= '9':
		for c = p.next(); c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E' || '0' <= c && c <= '9'; c = p.next() {
			p.at++
		}
		return true
	case c == '"':
		_, err := p.str()
		return err == nil
	case c == 't':
		return p.literal("true") == nil
	case c == 'f':
		return p.literal("false") == nil
	default:
		return p.literal("null") == nil
	}
}

// Override is a member that replaces one of an object: a number, or an object whose
// members replace members in turn.
type Override struct {
	Key    string
	Number Number
	// Members are the members of an object; nil for a number.
	Members []Override
}

// AppendOverridden appends an object with overrides, which are sorted by key. A number
// replaces any value; members are merged into an object, replace null, and are dropped if
// the object has another value there. Canonical.Members must have read the whole object.
func AppendOverridden(dst []byte, object Raw, overrides []Override) []byte {
	p := Parser{data: string(object)}
	return p.override(dst, overrides)
}

func (p *Parser) override(dst []byte, overrides []Override) []byte {
	dst = append(dst, '{')
	p.at++
	for open := len(dst); ; {
		if p.next() == ',' {
			p.at++
		}
		start := p.at
		key, found := p.plainKey()
		for len(overrides) > 0 && (!found || overrides[0].Key < key) {
			dst = overrides[0].append(separate(dst, open))
			overrides = overrides[1:]
		}
		if !found {
			p.at++
			return append(dst, '}')
		}
		dst = separate(dst, open)
		c := p.next()
		if len(overrides) == 0 || overrides[0].Key != key || overrides[0].Members != nil && c != '{' && c != 'n' {
			p.pass()
			dst = append(dst, p.data[start:p.at]...)
		} else if overrides[0].Members != nil && c == '{' {
			dst = p.override(append(dst, p.data[start:p.at]...), overrides[0].Members)
		} else {
			p.pass()
			dst = overrides[0].append(dst)
		}
		if len(overrides) > 0 && overrides[0].Key == key {
			overrides = overrides[1:]
		}
	}
}

// separate appends the comma before a member that is not the first one.
func separate(dst []byte, open int) []byte {
	if len(dst) > open {
		return append(dst, ',')
	}
	return dst
}

func (o *Override) append(dst []byte) []byte {
	dst = append(AppendString(dst, o.Key), ':')
	if o.Members == nil {
		return o.Number.AppendJSON(dst)
	}
	dst = append(dst, '{')
	for i := range o.Members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = o.Members[i].append(dst)
	}
	return append(dst, '}')
}
