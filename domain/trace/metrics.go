package trace

// Metrics is ag.metrics as a store had it, with what Cumulate wrote since: canonical
// JSON that nobody has looked into but for the numbers that are summed. AppendJSON
// writes it with the sums in their places, Lookup and Open read it. Only
// ParseAttributes makes one.
type Metrics struct {
	text string
	own  sum
	sums sum
}

// Value is what the metrics say; nil where the text is no JSON.
func (m *Metrics) Value() any {
	v, _ := ParseText(string(m.append(nil)))
	return v
}

// put keeps the sums that put would write into a tree: those that are not zero.
func (m *Metrics) put(s *sum) {
	to := m.sums.all()
	for k, n := range s.all() {
		if !n.isZero() {
			*to[k] = *n
		}
	}
}

// metrics reads the members of ag.metrics as far as they are summed, where the
// text is as AppendJSON writes it; ok is false elsewhere.
func (p *parser) metrics() (m *Metrics, ok bool) {
	start := p.at
	m = new(Metrics)
	ok = p.members(func(group string) bool {
		parts := &m.own.tokens
		switch {
		case p.next() != '{':
			return p.pass()
		case group == "errors":
			return p.members(func(key string) bool { return p.summed(key == "incremental", &m.own.errors) })
		case group == "costs":
			parts = &m.own.costs
		case group != "tokens":
			return p.pass()
		}
		return p.members(func(key string) bool {
			if p.next() != '{' {
				return p.pass()
			}
			return p.members(func(part string) bool {
				i := partOf(part)
				return p.summed(key == "incremental" && i < partCount, &parts[min(i, total)])
			})
		})
	})
	if ok {
		m.text = p.data[start:p.at]
	}
	return m, ok
}

// summed reads a value; into n where it is to be summed and a number.
func (p *parser) summed(is bool, n *number) bool {
	if c := p.next(); !is || c != '-' && (c < '0' || c > '9') {
		return p.pass()
	}
	var err error
	*n, err = p.numeral()
	return err == nil
}

// next is the next byte, 0 at the end.
func (p *parser) next() byte {
	if p.at < len(p.data) {
		return p.data[p.at]
	}
	return 0
}

// members reads an object's members as AppendJSON writes them, without space and in
// order; each has to read a member's value. It is false for an object that is
// not written so or has a key that plainKey does not read, and where each is.
func (p *parser) members(each func(key string) bool) bool {
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
		c := p.next()
		p.at++
		switch c {
		case ',':
		case '}':
			return true
		default:
			return false
		}
	}
}

// plainKey reads a key of ASCII that has nothing escaped, and its colon: what stands in the
// text is what it says, and sorts as it does.
func (p *parser) plainKey() (string, bool) {
	if p.next() != '"' {
		return "", false
	}
	start := p.at + 1
	p.at = start
	p.at += plain(p.data[start:])
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

// pass goes behind a value, of an object, array or number without looking into it.
func (p *parser) pass() bool {
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
		return p.word("true") == nil
	case c == 'f':
		return p.word("false") == nil
	default:
		return p.word("null") == nil
	}
}

// append writes the metrics with their sums.
func (m *Metrics) append(dst []byte) []byte {
	if m.sums == (sum{}) {
		return append(dst, m.text...)
	}
	var over overlay
	p := parser{data: m.text}
	return p.overlay(dst, over.of(&m.sums))
}

// written is a member that is written over those of an object: a number, or members
// of an object.
type written struct {
	key     string
	value   number
	members []written
}

// overlay is memory for what sums write.
type overlay struct {
	parts      [2 * partCount]written
	cumulative [3]written
	groups     [3]written
}

// of gives what sums write over ag.metrics, in the order of keys.
func (o *overlay) of(s *sum) []written {
	groups := o.groups[:0]
	group := func(key string, parts []written, sums *[partCount]number) {
		for _, i := range [...]int{completion, prompt, total} {
			if !sums[i].isZero() {
				parts = append(parts, written{key: partName(i), value: sums[i]})
			}
		}
		if len(parts) > 0 {
			at := len(groups)
			o.cumulative[at] = written{key: "cumulative", members: parts}
			groups = append(groups, written{key: key, members: o.cumulative[at : at+1]})
		}
	}
	group("costs", o.parts[:0:partCount], &s.costs)
	if !s.errors.isZero() {
		at := len(groups)
		o.cumulative[at] = written{key: "cumulative", value: s.errors}
		groups = append(groups, written{key: "errors", members: o.cumulative[at : at+1]})
	}
	group("tokens", o.parts[partCount:partCount], &s.tokens)
	return groups
}

// overlay writes an object that members has read with others over it, as put does:
// a number takes the place of what is there, an object is gone into or takes the place
// of null, and where something else is in its way, that stays.
func (p *parser) overlay(dst []byte, over []written) []byte {
	dst = append(dst, '{')
	p.at++
	for open := len(dst); ; {
		if p.next() == ',' {
			p.at++
		}
		start := p.at
		key, there := p.plainKey()
		for len(over) > 0 && (!there || over[0].key < key) {
			dst = over[0].append(separated(dst, open))
			over = over[1:]
		}
		if !there {
			p.at++
			return append(dst, '}')
		}
		dst = separated(dst, open)
		c := p.next()
		if len(over) == 0 || over[0].key != key || over[0].members != nil && c != '{' && c != 'n' {
			p.pass()
			dst = append(dst, p.data[start:p.at]...)
		} else if over[0].members != nil && c == '{' {
			dst = p.overlay(append(dst, p.data[start:p.at]...), over[0].members)
		} else {
			p.pass()
			dst = over[0].append(dst)
		}
		if len(over) > 0 && over[0].key == key {
			over = over[1:]
		}
	}
}

// separated writes the comma before a member that is not the first.
func separated(dst []byte, open int) []byte {
	if len(dst) > open {
		return append(dst, ',')
	}
	return dst
}

// append writes a member that is not there.
func (w *written) append(dst []byte) []byte {
	dst = append(AppendString(dst, w.key), ':')
	if w.members == nil {
		return w.value.append(dst)
	}
	dst = append(dst, '{')
	for i := range w.members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = w.members[i].append(dst)
	}
	return append(dst, '}')
}
