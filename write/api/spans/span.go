package spans

import (
	"fmt"
	"strings"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/semconv"
	"colonnade/domain/trace"
	"colonnade/write/otlp/wire"
)

// spanReader makes canonical spans of the nodes of a body. A node with a
// mistake becomes none; the others stay.
type spanReader struct {
	spans []trace.Span
	// refused are the first bad nodes; more is how many there are besides.
	refused []badSpan
	more    int
	// identities are what the spans of the body say of session, user and agent.
	identities []spanIdentity
	declared   map[spanIdentity]bool
	// linkable are spans with an empty list of links.
	linkable []int
}

// badSpan is a node that is no span, and why.
type badSpan struct {
	wire.Refusal
	fields []domain.Field
}

// spanIdentity is a span's session, user or agent.
type spanIdentity struct {
	trace trace.TraceID
	span  int // in spans; -1 for any
	name  string
	id    string
}

// body reads all nodes of a body.
func (r *spanReader) body(b *traceBody) {
	r.declared = map[spanIdentity]bool{}
	for i := range b.traces {
		t := &b.traces[i]
		id, fault := traceIDOf(t)
		r.nodes(t.spans, parent{trace: id, fault: fault})
	}
	r.nodes(b.spans, parent{})
	r.promote()
	r.annotate()
}

// annotate declares the traces annotations of which a span has an empty list
// of links, and no span says of which type they are: whoever sends the list
// means one, filled or not. Source: contract §1.7.
func (r *spanReader) annotate() {
	if len(r.linkable) == 0 {
		return
	}
	declared := map[trace.TraceID]bool{}
	for i := range r.spans {
		t, ok := trace.ParseType(textAt(r.spans[i].Attributes, semconv.Root, semconv.Type, semconv.TypeTrace))
		if ok && t != trace.Unknown {
			declared[r.spans[i].TraceID] = true
		}
	}
	for _, i := range r.linkable {
		if !declared[r.spans[i].TraceID] {
			declare(r.spans[i].Attributes, trace.Annotation.String(), semconv.Root, semconv.Type, semconv.TypeTrace)
		}
	}
}

// traceIDOf reads the id that a trace gives its spans; zero where it gives none.
func traceIDOf(t *traceNode) (trace.TraceID, *domain.Field) {
	if t.id == nil {
		return trace.TraceID{}, nil
	}
	text, _ := t.id.(string)
	id, err := trace.ParseTraceID(text)
	if err != nil {
		return id, &domain.Field{Type: "value_error", Loc: t.idLoc.Path(), Msg: "Invalid trace_id.", Input: t.id}
	}
	return id, nil
}

// parent is what a node has from where it stands.
type parent struct {
	trace trace.TraceID
	span  trace.SpanID
	// fault is a mistake above, which every node below shares.
	fault *domain.Field
}

func (r *spanReader) nodes(nodes []spanNode, above parent) {
	for i := range nodes {
		n := &nodes[i]
		m := memberReader{node: n, fields: n.fields}
		if above.fault != nil {
			m.fields = append(m.fields, *above.fault)
		}
		s := m.span(above)
		if len(m.fields) > 0 && len(r.refused) >= wire.MaxRefused {
			r.more++
		} else if len(m.fields) > 0 {
			r.refused = append(r.refused, badSpan{wire.Refusal{
				Trace: s.TraceID, Span: s.SpanID, Name: s.Name, Reason: reasonOf(m.fields), Raw: rawOf(n),
			}, m.fields})
		} else {
			r.identify(&m, &s)
			if links, ok := n.members["links"].([]any); ok && len(links) == 0 {
				r.linkable = append(r.linkable, len(r.spans))
			}
			r.spans = append(r.spans, s)
		}
		below := above
		below.span = s.SpanID
		if below.trace.IsZero() {
			below.trace = s.TraceID
		}
		r.nodes(n.children, below)
	}
}

// reasonOf says in words what is wrong with a span.
func reasonOf(fields []domain.Field) string {
	const most = 4
	parts := make([]string, 0, most)
	for _, f := range fields[:min(len(fields), most)] {
		member := ""
		if len(f.Loc) > 0 {
			member = fmt.Sprint(f.Loc[len(f.Loc)-1]) + ": "
		}
		parts = append(parts, member+f.Msg)
	}
	return strings.Join(parts, "; ")
}

// rawOf is the node's own part of the body, for whoever looks into what was refused.
func rawOf(n *spanNode) string { return string(jsonvalue.Append(nil, n.members)) }

// identify notes what a span says of its session, user and agent, in its
// attributes or beside them.
func (r *spanReader) identify(m *memberReader, s *trace.Span) {
	for _, name := range identities() {
		attribute := textAt(s.Attributes, semconv.Root, name, semconv.ID)
		if attribute == "" && name == semconv.Agent {
			attribute = textAt(s.Attributes, semconv.Root, semconv.Unsupported, name, semconv.ID)
		}
		if attribute != "" {
			r.declared[spanIdentity{s.TraceID, -1, name, attribute}] = true
			continue
		}
		if id := m.identity[name]; id != "" {
			r.identities = append(r.identities, spanIdentity{s.TraceID, len(r.spans), name, id})
		}
	}
}

func identities() []string { return []string{semconv.Session, semconv.User, semconv.Agent} }

// promote writes an identity that a span has beside its attributes into them,
// unless another span of the trace says it: then it was promoted from there,
// and is again.
func (r *spanReader) promote() {
	for _, i := range r.identities {
		if !r.declared[spanIdentity{i.trace, -1, i.name, i.id}] {
			declare(r.spans[i.span].Attributes, i.id, semconv.Root, i.name, semconv.ID)
		}
	}
}
