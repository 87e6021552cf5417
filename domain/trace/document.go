package trace

// Document is the canonical JSON of a value that nobody has looked into yet: a
// member of an attribute tree that was read from a store, or is on its way there.
// AppendJSON writes it as it stands, Lookup and Open read it.
type Document string

// Value reads the document; nil where it is no JSON.
func (d Document) Value() any {
	v, err := ParseText(string(d))
	if err != nil {
		return nil
	}
	return v
}

// ParseAttributes reads an attribute tree that AppendJSON wrote as far as every
// reader looks into it: ag.type, ag.references and what is summed of ag.metrics, which
// stay Metrics. Other objects and arrays right below the root, ag and ag.data stay
// documents, which share the memory of text and are not checked, nor is what is not
// summed: most of what a page shows is written again as it was. An empty text is an
// empty tree; what is no object is Rejected.
func ParseAttributes(text string) (map[string]any, error) {
	if text == "" {
		return map[string]any{}, nil
	}
	return parseTree(text, inRoot)
}

// ParseResource reads resource attributes that AppendJSON wrote; objects and arrays
// among them stay documents. An empty text is nil, for none; what is no object is
// Rejected.
func ParseResource(text string) (map[string]any, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // a stored document that is absent
	}
	return parseTree(text, inMembers)
}

func parseTree(text string, e extent) (map[string]any, error) {
	p := parser{data: text}
	if p.peek() != '{' {
		return nil, p.bad("an object expected")
	}
	object, err := p.object(0, e)
	if err == nil {
		err = p.end()
	}
	return object, err
}

// Open reads all documents of an attribute tree, where they stand.
func Open(attributes map[string]any) {
	for key, v := range attributes {
		switch v := v.(type) {
		case Document:
			attributes[key] = v.Value()
		case *Metrics:
			attributes[key] = v.Value()
		case map[string]any:
			Open(v)
		}
	}
}

// extent is how much of a value is read.
type extent uint8

const (
	// whole reads all of it, unread nothing of an object or array.
	whole extent = iota
	unread
	// The others read an object's members each by its own extent.
	inRoot
	inAg
	inData
	inMembers
	// summed reads Metrics, or all of what they cannot be.
	summed
)

// of is the extent of an object's member.
func (e extent) of(key string) extent {
	switch {
	case e == whole:
		return whole
	case e == inRoot && key == "ag":
		return inAg
	case e == inAg && key == "data":
		return inData
	case e == inAg && key == "metrics":
		return summed
	case e == inAg && (key == "type" || key == "references"):
		return whole
	default:
		return unread
	}
}

// member reads the value of an object's member.
func (p *parser) member(depth int, e extent) (any, error) {
	c := p.peek()
	switch {
	case e == whole:
	case c == '{' && e == summed:
		start := p.at
		if m, ok := p.metrics(); ok {
			return m, nil
		}
		p.at = start
	case e == summed:
	case c == '{' && e != unread:
		return p.object(depth, e)
	case c == '{' || c == '[':
		start := p.at
		if err := p.skip(); err != nil {
			return nil, err
		}
		return Document(p.data[start:p.at]), nil
	}
	return p.value(depth)
}

// skip goes behind an object or array.
func (p *parser) skip() error {
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

// skipString goes behind a string whose first quote is behind already.
func (p *parser) skipString() {
	for p.at < len(p.data) {
		switch p.data[p.at] {
		case '"':
			p.at++
			return
		case '\\':
			p.at += 2
		default:
			p.at++
			p.at += plain(p.data[p.at:])
		}
	}
}
