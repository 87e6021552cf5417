package normalize

import (
	"colonnade/domain/jsonvalue"
)

// boundPaths refuses a span whose leaves, each with its whole path as readers
// know it (trace.Flatten), would be many times what was sent: ten thousand
// members of an object under a key of a megabyte are ten gigabytes. size is that
// of the span's message; small spans cannot come to much.
func boundPaths(attributes map[string]any, size int) error {
	const small, often, least = 2 << 10, 32, 64 << 10
	if size <= small {
		return nil
	}
	p := pathCounter{left: often*size + least}
	if p.object(0, attributes); p.left < 0 {
		return rejected("The names of the attributes, each with those it stands below, come to more than %d times the span.", often)
	}
	return nil
}

// pathCounter adds paths up, until none are left.
type pathCounter struct{ left int }

func (p *pathCounter) object(above int, object map[string]any) {
	for key, v := range object {
		if p.left < 0 {
			return
		}
		p.value(above+len(key)+1, v)
	}
}

func (p *pathCounter) value(path int, value any) {
	switch v := value.(type) {
	case map[string]any:
		if len(v) > 0 {
			p.object(path, v)
			return
		}
	case []any: // its elements may be leaves, where they are few
		if len(v) <= jsonvalue.MaxIndexedElements {
			p.left -= len(v) * (path + 3)
			return
		}
	case jsonvalue.Raw:
		s := jsonvalue.Scan(v)
		p.scan(path, &s)
		return
	}
	p.left -= path
}

func (p *pathCounter) scan(path int, s *jsonvalue.Scanner) {
	if s.Kind() == '{' {
		for more := s.Enter(); more && p.left >= 0; more = s.Next() {
			p.scan(path+len(s.Key())+1, s)
		}
		return
	}
	p.left -= path
	s.Skip()
}
