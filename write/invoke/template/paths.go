package template

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/ohler55/ojg/jp"

	"colonnade/domain"
	"colonnade/domain/pattern"
)

// The bounds of what the JSONPaths of one template or one judgment may look at
// together. Nobody can stop one that runs.
const (
	// maxVisits is in values of the document: about a second.
	maxVisits = 16 << 20
	// maxVisitsOfOne bounds one path, whose results are a list in memory.
	maxVisitsOfOne = 4 << 20
	// maxMatching is in steps of the regular expressions of filters.
	maxMatching = 400_000_000
)

// Paths finds what expressions name in one document: see Resolve. What they
// search it through for is bounded for all together; what is beyond is TooLarge.
// It is for one goroutine.
type Paths struct {
	data any
	// visits and matching are what is left of the bounds.
	visits, matching int
	// size is the document's, once it was measured.
	size  size
	known map[string]found
}

type found struct {
	value any
	err   error
}

// NewPaths looks into a document, which does not change meanwhile.
func NewPaths(data any) *Paths {
	return &Paths{data: data, visits: maxVisits, matching: maxMatching, known: map[string]found{}}
}

// Resolve finds what an expression names. Asked again it knows.
func (p *Paths) Resolve(expr string) (any, error) {
	if f, ok := p.known[expr]; ok {
		return f.value, f.err
	}
	var f found
	f.value, f.err = p.resolve(expr)
	p.known[expr] = f
	return f.value, f.err
}

func (p *Paths) resolve(expr string) (any, error) {
	if len(expr) > maxPathBytes {
		return nil, fmt.Errorf("template: a path is longer than %d bytes", maxPathBytes)
	}
	switch {
	case strings.HasPrefix(expr, "$"):
		return p.path(expr)
	case strings.HasPrefix(expr, "/"):
		return resolvePointer(expr, p.data)
	default:
		return resolveDotted(expr, p.data)
	}
}

func (p *Paths) path(expr string) (value any, err error) {
	if expr != "$" && !strings.HasPrefix(expr, "$.") && !strings.HasPrefix(expr, "$[") {
		return nil, fmt.Errorf("template: %q is no JSONPath: it starts with $. or $[", expr)
	}
	// The library's parser and walker are foreign code fed with foreign text.
	defer func() {
		if r := recover(); r != nil {
			value, err = nil, fmt.Errorf("template: %q is no JSONPath", expr)
		}
	}()
	path, err := jp.ParseString(expr)
	if err != nil {
		return nil, fmt.Errorf("template: reading the JSONPath %q: %w", expr, err)
	}
	if err := p.afford(path); err != nil {
		return nil, err
	}
	switch results := path.Get(p.data); len(results) {
	case 0:
		return nil, errAbsent
	case 1:
		return results[0], nil
	default:
		return results, nil
	}
}

// size is how many values a document has, how deep they lie, and how long its texts are.
type size struct{ values, depth, bytes int }

func (s *size) measure(v any, depth int) {
	s.values++
	s.depth = max(s.depth, depth)
	switch v := v.(type) {
	case string:
		s.bytes += len(v)
	case map[string]any:
		for _, member := range v {
			s.measure(member, depth+1)
		}
	case []any:
		for _, element := range v {
			s.measure(element, depth+1)
		}
	default:
	}
}

// text is what a regular expression may have to read: the library compiles one
// again for each value.
func (s *size) text() int { return s.bytes + 16*s.values }

// cost is what a path may look at: passes over the document, as often as its
// unions may repeat a member, each value once for all above it where two steps
// search; and the steps that its regular expressions take for one character.
type cost struct {
	searches, repeated, passes, pattern int
}

// afford takes what a path may cost off the bounds.
func (p *Paths) afford(path jp.Expr) error {
	c := cost{repeated: 1}
	if err := c.path(path); err != nil {
		return err
	}
	if c.passes == 0 {
		return nil
	}
	if p.size.values == 0 {
		p.size.measure(p.data, 1)
	}
	visits := p.size.values * c.passes
	if c.searches > 1 {
		visits *= p.size.depth
	}
	if visits > maxVisitsOfOne/c.repeated || visits*c.repeated > p.visits || c.pattern > 0 && p.size.text() > p.matching/c.pattern {
		return domain.E(domain.TooLarge, "The JSONPath %.100q has too much to look through.", path.String())
	}
	p.visits -= visits * c.repeated
	p.matching -= p.size.text() * c.pattern
	return nil
}

// path adds up the steps. It refuses what costs more than the size of the data
// times the length of the path: each further "..", union or filter multiplies.
func (c *cost) path(path jp.Expr) error {
	for _, step := range path {
		switch s := step.(type) {
		case jp.Root, jp.At, jp.Child, jp.Nth, jp.Bracket:
		case jp.Descent:
			c.searches++
			c.passes = max(c.passes, 1)
		case jp.Union:
			c.searches++
			c.passes = max(c.passes, 1)
			c.repeated *= len(s) // it may name one member over and over
		case *jp.Filter:
			c.searches++
			c.passes = max(c.passes, 1) + 1
			form, err := compared(s)
			if err != nil {
				return err
			}
			if err := c.filter(form, new(int)); err != nil {
				return err
			}
		case *jp.Proc:
			return errors.New("template: a JSONPath with a script is not served")
		default: // wildcards and slices
			c.passes = max(c.passes, 1)
		}
	}
	if c.searches > 2 {
		return errors.New("template: a JSONPath may have two of .., unions and filters")
	}
	return nil
}

// compared is what a filter says. Of one that is a path alone, which has to lead
// somewhere, the library shows nothing but the text.
func compared(f *jp.Filter) (form *jp.Form, err error) {
	defer func() {
		if recover() == nil {
			return
		}
		text := strings.TrimSuffix(strings.TrimPrefix(f.String(), "[?"), "]")
		if strings.HasPrefix(text, "(") && strings.HasSuffix(text, ")") {
			text = text[1 : len(text)-1]
		}
		var path jp.Expr
		path, err = jp.ParseString(text)
		form = &jp.Form{Left: path}
	}()
	return f.Inspect(), nil
}

// filter looks at what a filter compares: single values, but for one side. The
// library tries every combination of the values that both sides have.
func (c *cost) filter(f *jp.Form, several *int) error {
	for _, side := range [...]any{f.Left, f.Right} {
		switch v := side.(type) {
		case *jp.Form:
			if err := c.filter(v, several); err != nil {
				return err
			}
		case jp.Expr:
			if single(v) {
				continue
			}
			if *several++; *several > 1 || v[0] == jp.Frag(jp.Root('$')) {
				return errors.New("template: a filter of a JSONPath compares single values, and one path below the current one that may have several")
			}
			if err := c.path(v); err != nil {
				return err
			}
		default:
		}
	}
	switch f.Op {
	case "=~", "~=", "match", "search":
		return c.regex(f.Right)
	default:
		return nil
	}
}

// single tells whether a path leads to one value at most. The library marks one
// that it has found to be so with a step in front.
func single(path jp.Expr) bool {
	if len(path) > 1 {
		switch path[1].(type) {
		case jp.Root, jp.At:
			path = path[1:]
		default:
		}
	}
	return path.Normal()
}

// regex adds a regular expression, which stands in the path itself.
func (c *cost) regex(right any) error {
	var source string
	switch v := right.(type) {
	case string:
		source = v
	case *regexp.Regexp:
		source = v.String()
	default:
		return errors.New("template: a regular expression of a JSONPath stands in it, as a text")
	}
	p, err := pattern.Compile(source)
	if err != nil {
		return fmt.Errorf("template: a regular expression of a JSONPath: %w", err)
	}
	c.pattern += p.Size()
	return nil
}
