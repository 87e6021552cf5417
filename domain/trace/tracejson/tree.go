package tracejson

import (
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
)

// AppendTrace appends a trace as an object of its id and the tree of its spans: {"trace_id", "spans"}.
func AppendTrace(dst []byte, id trace.TraceID, roots []*trace.Node) []byte {
	return append(AppendTree(AppendOpenTrace(dst, id), roots), '}')
}

// AppendTree appends siblings as an object with their names as keys, in the order of
// their start times; several siblings of one name are a list.
func AppendTree(dst []byte, siblings []*trace.Node) []byte {
	byName := make(map[string][]*trace.Node, len(siblings))
	names := make([]string, 0, len(siblings))
	for _, n := range siblings {
		if _, found := byName[n.Span.Name]; !found {
			names = append(names, n.Span.Name)
		}
		byName[n.Span.Name] = append(byName[n.Span.Name], n)
	}
	dst = append(dst, '{')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsonvalue.AppendString(dst, name), ':')
		same := byName[name]
		if len(same) == 1 {
			dst = appendNode(dst, same[0])
			continue
		}
		dst = append(dst, '[')
		for j, n := range same {
			if j > 0 {
				dst = append(dst, ',')
			}
			dst = appendNode(dst, n)
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

func appendNode(dst []byte, n *trace.Node) []byte {
	dst = AppendOpenSpan(dst, n.Span)
	if len(n.Children) > 0 {
		dst = append(dst, `,"spans":`...)
		dst = AppendTree(dst, n.Children)
	}
	return append(dst, '}')
}
