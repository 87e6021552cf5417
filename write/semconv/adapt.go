// Package semconv translates foreign conventions of naming span attributes into
// flat ag attributes: OpenLLMetry, OpenInference, the OpenTelemetry gen_ai
// conventions as Logfire and others write them, and the Vercel AI SDK. Each is
// one file with one pure function over a span as sent; none sees what another
// made of it. Spans of the service's own SDK need no translation. What becomes
// of the translated attributes beside those the client sent is write/normalize's, the
// only caller.
package semconv

import (
	"iter"
	"strings"

	"colonnade/write/otlp/wire"
)

// NodeType is the translated attribute that names the span type.
const NodeType = "ag.type.node"

// The conventions, weakest first: a later one overrides what an earlier one
// made of the same span. Source: contract §1.3.
const (
	openLLMetry = iota
	openInference
	genAI
	vercel
	conventions
)

// Overlay collects the translated attributes of one span. The zero value is
// ready; it is reused from span to span.
type Overlay struct {
	entries []wire.Attribute
	// starts[c] is where the entries of convention c begin.
	starts [conventions + 1]int
}

// Reset forgets the span.
func (o *Overlay) Reset() {
	clear(o.entries)
	o.entries = o.entries[:0]
	o.starts = [conventions + 1]int{}
}

// Translate replaces the overlay by what the conventions make of a span. Each
// is isolated: one that fails leaves nothing behind, its name goes to failed,
// and the others go on.
func (o *Overlay) Translate(span *wire.Span, failed func(convention string)) {
	o.Reset()
	var present [conventions]bool
	for i := range span.Attributes {
		mark(span.Attributes[i].Key, &present)
	}
	for i := range span.Events {
		present[genAI] = present[genAI] || strings.HasPrefix(span.Events[i].Name, "gen_ai.")
	}
	for c := range conventions {
		o.starts[c] = len(o.entries)
		if present[c] && !o.isolated(span, translation(c)) {
			failed(name(c))
		}
	}
	o.starts[conventions] = len(o.entries)
}

// isolated runs one translation. Where it fails, what it made is forgotten: a
// defect in one convention must not cost the span, nor what the others found.
func (o *Overlay) isolated(span *wire.Span, translate func(*wire.Span, *Overlay)) (ok bool) {
	start := len(o.entries)
	defer func() {
		if p := recover(); p != nil {
			clear(o.entries[start:])
			o.entries, ok = o.entries[:start], false
		}
	}()
	translate(span, o)
	return true
}

func translation(convention int) func(*wire.Span, *Overlay) {
	switch convention {
	case openLLMetry:
		return translateOpenLLMetry
	case openInference:
		return translateOpenInference
	case genAI:
		return translateGenAI
	default:
		return translateVercel
	}
}

// Strongest goes through the conventions that found something, the one that
// overrides the others first, each with a number of its own and its attributes
// in the order of the span's.
func (o *Overlay) Strongest() iter.Seq2[uint8, []wire.Attribute] {
	return func(yield func(uint8, []wire.Attribute) bool) {
		for c := conventions - 1; c >= 0; c-- {
			entries := o.entries[o.starts[c]:o.starts[c+1]]
			if len(entries) > 0 && !yield(uint8(c+1), entries) {
				return
			}
		}
	}
}

func (o *Overlay) put(key string, value any) {
	o.entries = append(o.entries, wire.Attribute{Key: key, Value: value})
}

func name(convention int) string {
	switch convention {
	case openLLMetry:
		return "openllmetry"
	case openInference:
		return "openinference"
	case genAI:
		return "gen_ai"
	default:
		return "vercel"
	}
}

// mark tells by its key which conventions an attribute may belong to, so that
// a span costs nothing for those it does not use.
func mark(key string, present *[conventions]bool) {
	if strings.HasPrefix(key, "ag.") {
		return
	}
	first, _, dotted := strings.Cut(key, ".")
	switch first {
	case "ai":
		present[vercel] = present[vercel] || dotted
	case "gen_ai":
		present[genAI] = true
		present[openLLMetry] = present[openLLMetry] || !strings.HasPrefix(key, "gen_ai.request.") && !strings.HasPrefix(key, "gen_ai.usage.")
	case "llm":
		present[openLLMetry], present[openInference] = true, true
	case "traceloop", "db", "pinecone":
		present[openLLMetry] = true
	case "openinference", "input", "output", "embedding", "reranker", "retrieval", "message", "document", "exception",
		"image", "audio", "session", "user", "tag", "metadata", "tool", "tool_call":
		present[openInference] = true
	case "pydantic_ai", "tool_arguments", "tool_response", "agent_name", "model_name", "final_result", "events", "all_messages_events":
		present[genAI] = true
	}
}
