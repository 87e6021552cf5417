// Package semconv translates foreign conventions of naming span attributes into
// flat ag attributes. Each convention is one file with one function over a span
// as sent, which only translates names; what the names mean together (which type
// a span has, which value becomes its input, the shape of messages) is decided
// once for all of them in rules.go. Spans of the service's own SDK need no
// translation. write/normalize, the only caller, joins the result with what the
// client sent under ag itself.
package semconv

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"colonnade/write/otlp/wire"
	"colonnade/write/semconv/convert"
)

// NodeType is the translated attribute that names the span type.
const NodeType = "ag.type.node"

// The conventions, weakest first: a later one overrides what an earlier one
// made of the same span. Source: contract §1.3, §0 row 41.
const (
	vendors = iota
	openLLMetry
	openInference
	genAI
	vercel
	langSmith
	mlflow
	langfuse
	conventions
)

// Overlay collects the translated attributes of one span. The zero value is
// ready; it is reused from span to span.
type Overlay struct {
	entries []wire.Attribute
	// starts[c] is where the entries of convention c begin; the last group is that of the rules.
	starts [conventions + 2]int
	// sorted are the attributes of the span by key: their order on the wire decides nothing.
	sorted []wire.Attribute
	facts  facts
}

// Reset forgets the span.
func (o *Overlay) Reset() {
	clear(o.entries)
	o.entries = o.entries[:0]
	clear(o.sorted)
	o.sorted = o.sorted[:0]
	o.starts = [conventions + 2]int{}
	o.facts = facts{}
}

// Translate replaces the overlay by what the conventions make of a span. Each
// is isolated: one that fails leaves no attributes behind, its name goes to
// failed, and the others go on. scope is the name of the instrumentation.
func (o *Overlay) Translate(span *wire.Span, scope string, failed func(convention string)) {
	o.Reset()
	var present [conventions]bool
	found := false
	for i := range span.Attributes {
		mark(span.Attributes[i].Key, &present)
	}
	for i := range span.Events {
		present[genAI] = present[genAI] || strings.HasPrefix(span.Events[i].Name, "gen_ai.")
	}
	for c := range conventions {
		found = found || present[c]
	}
	if !found {
		return
	}
	o.sorted = append(o.sorted, span.Attributes...)
	slices.SortStableFunc(o.sorted, func(a, b wire.Attribute) int { return cmp.Compare(a.Key, b.Key) })
	o.facts.scope = scope
	for c := range conventions {
		o.starts[c] = len(o.entries)
		if present[c] && !o.isolated(func() { translate(c, o, span.Events) }) {
			failed(name(c))
		}
	}
	o.starts[conventions] = len(o.entries)
	if !o.isolated(o.decide) {
		failed("rules")
	}
	o.starts[conventions+1] = len(o.entries)
}

// isolated runs one translation. Where it fails, what it put is forgotten: a
// defect in one convention must not cost the span, nor what the others found.
func (o *Overlay) isolated(run func()) (ok bool) {
	start := len(o.entries)
	defer func() {
		if p := recover(); p != nil {
			clear(o.entries[start:])
			o.entries, ok = o.entries[:start], false
		}
	}()
	run()
	return true
}

func translate(convention int, o *Overlay, events []wire.Event) {
	switch convention {
	case vendors:
		translateVendors(o)
	case openLLMetry:
		translateOpenLLMetry(o)
	case openInference:
		translateOpenInference(o)
	case genAI:
		translateGenAI(o, events)
	case vercel:
		translateVercel(o)
	case langSmith:
		translateLangSmith(o)
	case mlflow:
		translateMLflow(o)
	case langfuse:
		translateLangfuse(o)
	}
}

// Strongest goes through the groups of attributes that were found, the one that
// overrides the others first, each with a number of its own.
func (o *Overlay) Strongest() iter.Seq2[uint8, []wire.Attribute] {
	return func(yield func(uint8, []wire.Attribute) bool) {
		for c := conventions; c >= 0; c-- {
			entries := o.entries[o.starts[c]:o.starts[c+1]]
			if len(entries) > 0 && !yield(uint8(c+1), entries) {
				return
			}
		}
	}
}

// put puts a value under an ag attribute, with the type that the attribute has.
func (o *Overlay) put(key string, value any) {
	if value == nil {
		return
	}
	o.entries = append(o.entries, wire.Attribute{Key: key, Value: convert.For(key, value)})
}

// putMetadata puts a value whose key has a prefix below ag.meta.metadata, under the rest of
// the key; it reports whether the key has the prefix.
func (o *Overlay) putMetadata(key, prefix string, value any) bool {
	rest, ok := strings.CutPrefix(key, prefix)
	if ok && rest != "" {
		o.put("ag.meta.metadata."+rest, value)
	}
	return ok
}

func name(convention int) string {
	switch convention {
	case vendors:
		return "vendors"
	case openLLMetry:
		return "openllmetry"
	case openInference:
		return "openinference"
	case genAI:
		return "gen_ai"
	case vercel:
		return "vercel"
	case langSmith:
		return "langsmith"
	case mlflow:
		return "mlflow"
	default:
		return "langfuse"
	}
}

// mark finds by its key the conventions that an attribute may belong to, so that
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
		present[openLLMetry], present[openInference], present[vendors] = true, true, true
	case "traceloop", "pinecone":
		present[openLLMetry] = true
	case "db":
		present[openLLMetry], present[vendors] = true, true
	case "openinference", "input", "output", "embedding", "reranker", "retrieval", "message", "document", "exception",
		"image", "audio", "session", "user", "tag", "metadata", "tool", "tool_call":
		present[openInference] = true
	case "pydantic_ai", "tool_arguments", "tool_response", "agent_name", "model_name", "final_result", "events", "all_messages_events", "logfire":
		present[genAI] = true
	case "gcp", "haystack", "spring", "operation", "claude_code":
		present[vendors] = true
	case "langsmith":
		present[langSmith] = true
	case "mlflow":
		present[mlflow] = true
	case "langfuse":
		present[langfuse] = true
	}
}
