package spans

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/request"
	"colonnade/write/api"
	"colonnade/write/otlp/wire"
)

// maxSpanDepth is how many spans may stand within each other in a body; a
// trace that nests deeper comes as a flat list.
const maxSpanDepth = 4096

// traceBody is what the JSON doors take: one trace, traces as a list or as a
// map by their ids, spans as a list or nested by their names. Replies of the
// query endpoints are such bodies. Source: contract §1.11, §3.1.
type traceBody struct {
	// has tells which members were there and not null.
	has    map[string]bool
	traces []traceNode
	spans  []spanNode
}

// traceNode is {trace_id, spans}.
type traceNode struct {
	// id is the trace's own word for its id; nil where it has none.
	id    any
	idLoc *api.Location
	spans []spanNode
}

// spanNode is a span as it stands in a body.
type spanNode struct {
	// name is the key under which it stands; empty in a list.
	name     string
	loc      *api.Location
	members  map[string]any
	children []spanNode
	// fields are the members that are no values.
	fields []domain.Field
}

// readTraceBody reads a body whose members are among known. What is not JSON,
// or of another shape, is Invalid with its location; what is wrong within a
// span stays with the span.
func readTraceBody(data []byte, known ...string) (traceBody, error) {
	b := traceBody{has: map[string]bool{}}
	if len(bytes.TrimSpace(data)) == 0 {
		return b, request.Invalid("missing", "Field required", nil, "body")
	}
	r := treeReader{Reader: request.NewReader(data, "body")}
	err := r.object(api.Body(), func(key string, loc *api.Location) error {
		if !slices.Contains(known, key) {
			return request.Invalid("extra_forbidden", "Extra inputs are not permitted", nil, loc.Path()...)
		}
		return r.member(&b, key, loc)
	})
	if err != nil {
		return b, err
	}
	return b, r.End()
}

func (r *treeReader) member(b *traceBody, key string, loc *api.Location) (err error) {
	switch key {
	case "trace":
		var t traceNode
		if t, b.has[key], err = r.trace(nil, loc); b.has[key] {
			b.traces = append(b.traces, t)
		}
		return err
	case "traces":
		b.traces, b.has[key], err = r.traces(loc)
		return err
	case "spans":
		b.spans, b.has[key], err = r.spans(loc, 1)
		return err
	default: // count and windowing, which a reply has beside the spans
		_, err = r.Value()
		return err
	}
}

// treeReader reads a body in one pass, at any depth of its spans.
type treeReader struct {
	*request.Reader
	// nodes is the number of spans read; each takes more memory than its bytes.
	nodes int
}

// container returns the kind of an object or array that comes next; it skips a null and returns 0.
func (r *treeReader) container(loc *api.Location, kind, want string) (byte, error) {
	k := r.Kind()
	if k == '{' || k == '[' {
		return k, nil
	}
	raw, err := r.Value()
	if err != nil || k == 'n' {
		return 0, err
	}
	value, _ := jsonvalue.Parse(raw)
	return 0, request.Invalid(kind, want, value, loc.Path()...)
}

// object reads an object; each must read the value of the key it receives.
func (r *treeReader) object(loc *api.Location, each func(key string, loc *api.Location) error) error {
	k, err := r.container(loc, "dict_type", api.WantObject)
	if err != nil {
		return err
	}
	if k != '{' {
		return request.Invalid("dict_type", api.WantObject, nil, loc.Path()...)
	}
	seen := map[string]bool{}
	return r.members(loc, func(key string, loc *api.Location) error {
		if seen[key] {
			return request.Invalid("json_invalid", "The member "+key+" is there twice", nil, loc.Path()...)
		}
		seen[key] = true
		return each(key, loc)
	})
}

// members reads the members of an object. A name is stored, so one that is not valid text is rejected.
func (r *treeReader) members(loc *api.Location, each func(key string, loc *api.Location) error) error {
	return r.Members(func(key string) error {
		if strings.ContainsRune(key, utf8.RuneError) && !r.NameIsExact() {
			return request.Invalid("string_unicode", "A name is no valid text", nil, loc.At(key).Path()...)
		}
		return each(key, loc.At(key))
	})
}

// elements reads the elements of an array.
func (r *treeReader) elements(loc *api.Location, each func(loc *api.Location) error) error {
	return r.Elements(func(i int) error { return each(loc.At(i)) })
}

// traces reads a list of traces, or a map of them by id. ok tells that it was not null.
func (r *treeReader) traces(loc *api.Location) (list []traceNode, ok bool, err error) {
	d, err := r.container(loc, "list_type", api.WantObjectOrList)
	if err != nil || d == 0 {
		return nil, false, err
	}
	add := func(id any, loc *api.Location) error {
		t, there, err := r.trace(id, loc)
		if there {
			list = append(list, t)
		}
		return err
	}
	if d == '[' {
		err = r.elements(loc, func(loc *api.Location) error { return add(nil, loc) })
	} else {
		err = r.members(loc, func(key string, loc *api.Location) error { return add(key, loc) })
	}
	return list, true, err
}

// trace reads {trace_id, spans}; id is the key it stands under.
func (r *treeReader) trace(id any, loc *api.Location) (t traceNode, ok bool, err error) {
	t = traceNode{id: id, idLoc: loc}
	d, err := r.container(loc, "dict_type", api.WantObject)
	if err != nil || d == 0 {
		return t, false, err
	}
	if d != '{' {
		return t, false, request.Invalid("dict_type", api.WantObject, nil, loc.Path()...)
	}
	err = r.members(loc, func(key string, loc *api.Location) (err error) {
		switch key {
		case "spans":
			t.spans, _, err = r.spans(loc, 1)
			return err
		case "trace_id":
			raw, err := r.Value()
			if err != nil {
				return err
			}
			if own, err := jsonvalue.Parse(raw); err == nil && own != nil {
				t.id, t.idLoc = own, loc
			}
			return nil
		default:
			return request.Invalid("extra_forbidden", "Extra inputs are not permitted", nil, loc.Path()...)
		}
	})
	return t, true, err
}

// spans reads siblings: an object of nodes by name, where a node may be a list
// of nodes, or a list.
func (r *treeReader) spans(loc *api.Location, depth int) (list []spanNode, ok bool, err error) {
	if depth > maxSpanDepth {
		return nil, false, request.Invalid("json_invalid", fmt.Sprintf("Spans nest deeper than %d levels: send them as a flat list", maxSpanDepth), nil, loc.Prefix(8)...)
	}
	d, err := r.container(loc, "dict_type", api.WantObjectOrList)
	if err != nil || d == 0 {
		return nil, false, err
	}
	var add func(name string, loc *api.Location, inList bool) error
	add = func(name string, loc *api.Location, inList bool) error {
		d, err := r.container(loc, "dict_type", api.WantObject)
		switch {
		case err != nil || d == 0:
			return err
		case d == '[' && !inList:
			return r.elements(loc, func(loc *api.Location) error { return add(name, loc, true) })
		case d == '[':
			return request.Invalid("dict_type", api.WantObject, nil, loc.Path()...)
		}
		n, err := r.span(name, loc, depth)
		list = append(list, n)
		return err
	}
	if d == '[' {
		err = r.elements(loc, func(loc *api.Location) error { return add("", loc, true) })
	} else {
		err = r.members(loc, func(key string, loc *api.Location) error { return add(key, loc, false) })
	}
	return list, true, err
}

// span reads a node.
func (r *treeReader) span(name string, loc *api.Location, depth int) (spanNode, error) {
	if r.nodes++; r.nodes > wire.MaxSpans {
		return spanNode{}, domain.E(domain.TooLarge, "A request may hold at most %d spans.", wire.MaxSpans)
	}
	n := spanNode{name: name, loc: loc, members: map[string]any{}}
	err := r.members(loc, func(key string, loc *api.Location) error {
		if key == "spans" {
			children, _, err := r.spans(loc, depth+1)
			n.children = append(n.children, children...)
			return err
		}
		raw, err := r.Value()
		if err != nil {
			return err
		}
		value, err := jsonvalue.ParseExact(string(raw))
		if e, ok := errors.AsType[*domain.Error](err); ok {
			n.fields = append(n.fields, domain.Field{Type: "value_error", Loc: loc.Path(), Msg: e.Message})
			return nil
		}
		if _, twice := n.members[key]; twice {
			n.fields = append(n.fields, domain.Field{Type: "json_invalid", Loc: loc.Path(), Msg: "The member is there twice"})
		}
		n.members[key] = value
		return nil
	})
	return n, err
}
