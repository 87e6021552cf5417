package semconv

import (
	"maps"
	"math"
	"slices"
	"strings"

	"colonnade/domain/trace"
	"colonnade/write/semconv/convert"
	"colonnade/write/semconv/message"
)

// facts are what must be seen together before it can be placed.
type facts struct {
	scope string
	// kind is what the span says it is, by the strongest of the conventions that say so.
	kind     trace.SpanType
	kindRank int
	// vague reports that the span named an operation which is none of the known ones.
	vague         bool
	input, output side
	// system is a system instruction that came apart from the messages.
	system any
	// history is the whole conversation of an agent.
	history []any
	tool    tool
	// argumentsKey is the name of the arguments among the inputs of a tool.
	argumentsKey   string
	model, request string
	hasUsage       bool
	tokens         map[string]any
	disjoint       bool
	reported       Reported
	tags           map[string]any
	failure        string
}

// tool is the call of a tool as its own span describes it.
type tool struct{ name, arguments, result any }

// side is what a span has as its inputs or as its outputs.
type side struct {
	// whole is a value that is the whole side; messages are in the canonical shape.
	whole    any
	messages []any
	// members are further values of the side by dotted name.
	members map[string]any
}

func (s *side) member(name string, value any) {
	if value == nil {
		return
	}
	if s.members == nil {
		s.members = make(map[string]any, 2)
	}
	s.members[name] = value
}

// converse sets the messages of the side. An empty answer never replaces one
// with content or calls.
func (s *side) converse(messages []any) {
	if len(messages) > 0 && (len(s.messages) == 0 || message.Answers(messages) || !message.Answers(s.messages)) {
		s.messages = messages
	}
}

// read sets the side by a value that is messages or any other value.
func (s *side) read(value any) {
	if value == nil {
		return
	}
	if messages, ok := message.Canonical(value); ok {
		s.converse(messages)
		return
	}
	s.whole = convert.Compound(value)
}

// Reported is the cost that a sender reports for a span, in US dollars.
type Reported struct {
	Kinds map[string]float64
	Found bool
}

// Reported returns the cost that the sender reports in an attribute of its own.
func (o *Overlay) Reported() Reported { return o.facts.reported }

// Failed returns what the span itself says of its failure where its status may not; empty means nothing.
func (o *Overlay) Failed() string { return o.facts.failure }

// DisjointUsage reports whether the prompt was counted without what was read
// from a cache and written to one, as this sender is known to do.
func (o *Overlay) DisjointUsage() bool { return o.facts.disjoint || disjointScope(o.facts.scope) }

// disjointScope reports whether an instrumentation counts the prompt without cached tokens.
func disjointScope(scope string) bool {
	switch scope {
	case "openlit.instrumentation.anthropic", "openlit.otel.tracing.anthropic":
		return true
	default:
		return false
	}
}

// The ranks of statements about the type: a specific word for the kind of a span
// wins over the name of an operation.
const (
	rankOperation = 1 + iota
	rankConvention
	rankKind
)

// kind notes what the span says it is. An equal rank of a stronger convention wins.
func (o *Overlay) kind(value any, rank int) {
	word, ok := value.(string)
	if !ok || word == "" {
		return
	}
	t := kindOf(word)
	if t == 0 {
		o.facts.vague = true
		return
	}
	if rank >= o.facts.kindRank {
		o.facts.kind, o.facts.kindRank = t, rank
	}
}

// kindOf returns the span type that a word of any convention stands for,
// without regard to case, singular and plural; 0 where it is not known.
// Source: contract §0 row 35.
func kindOf(word string) trace.SpanType {
	word = strings.TrimSuffix(strings.ReplaceAll(strings.ToLower(word), "-", "_"), "s")
	switch word {
	case "chat", "llm", "chat_model", "chat_completion", "generation", "response", "message", "acompletion", "aresponse", "chatcompletion", "chat_completion_stream", "inference", "model":
		return trace.Chat
	case "completion", "text_completion", "generate_content", "generatecontent", "atext_completion", "generate":
		return trace.Completion
	case "embedding", "embed", "aembedding", "embedder":
		return trace.Embedding
	case "agent", "invoke_agent", "create_agent":
		return trace.Agent
	case "workflow", "invoke_workflow", "crew":
		return trace.Workflow
	case "chain", "framework", "advisor", "chat_client", "parser", "prompt", "graph":
		return trace.Chain
	case "task", "span", "event", "evaluator", "guardrail", "function", "unknown", "decision", "memory", "plan":
		return trace.Task
	case "tool", "execute_tool", "tool_call", "toolcall":
		return trace.Tool
	case "retriever", "retrieval", "query", "vector_db_retrieve", "vector_store", "retrieve", "vectordb":
		return trace.QueryType
	case "rerank", "reranker", "arerank":
		return trace.Rerank
	default:
		return 0
	}
}

// tag notes labels: each of a list of words, or a single one.
func (o *Overlay) tag(value any) {
	labels, ok := convert.Compound(value).([]any)
	if !ok {
		labels = []any{value}
	}
	for _, l := range labels {
		word, ok := l.(string)
		if !ok || word == "" {
			continue
		}
		if o.facts.tags == nil {
			o.facts.tags = make(map[string]any, 2)
		}
		o.facts.tags[word] = true
	}
}

// identify puts the id of a session or user; a text that is empty is none.
func (o *Overlay) identify(key string, value any) {
	if id, ok := convert.Text(value).(string); ok && id == "" {
		return
	}
	o.put(key, value)
}

// answerModel and askedModel put the model that answered and the one that was asked for.
func (o *Overlay) answerModel(value any) {
	if s, ok := modelName(value); ok {
		o.facts.model = s
		o.put("ag.meta.response.model", s)
	}
}

func (o *Overlay) askedModel(value any) {
	if s, ok := modelName(value); ok {
		o.facts.request = s
		o.put("ag.meta.request.model", s)
	}
}

func modelName(value any) (string, bool) {
	s, ok := value.(string)
	return s, ok && s != "" && s != "none"
}

func numeric(value any) (float64, bool) {
	switch v := value.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, !math.IsNaN(v) && !math.IsInf(v, 0)
	default:
		return 0, false
	}
}

// decide places what the conventions noted.
func (o *Overlay) decide() {
	f := &o.facts
	kind := f.spanType()
	call := kind == trace.Chat || kind == trace.Completion || kind == trace.Embedding || kind == trace.LLM
	if kind != 0 {
		o.put(NodeType, kind.String())
	}
	for _, k := range slices.Sorted(maps.Keys(f.tokens)) {
		o.put("ag.metrics.unit.tokens."+k, f.tokens[k])
	}
	if f.tags != nil {
		o.put("ag.tags", f.tags)
	}
	if kind == trace.Tool || !call && f.tool.name != nil && (f.tool.arguments != nil || f.tool.result != nil) {
		f.placeTool()
	}
	f.divideHistory()
	if call {
		o.openBodies()
	}
	if f.system != nil && kind != trace.Tool && (call || len(f.input.messages) > 0) {
		f.input.messages = message.WithSystem(f.input.messages, f.system)
	}
	o.putInputs(call)
	o.putOutputs(call)
}

// spanType returns the type of the span: what it says itself, or a call where it
// has a model and usage of its own and says nothing else.
func (f *facts) spanType() trace.SpanType {
	switch {
	case f.kind != 0:
		return f.kind
	case f.hasUsage && (f.model != "" || f.request != ""):
		name := strings.ToLower(f.model + " " + f.request)
		if strings.Contains(name, "embed") {
			return trace.Embedding
		}
		return trace.Chat
	case f.vague:
		return trace.Task
	default:
		return 0
	}
}

// placeTool makes name and arguments the inputs of a tool, its result the
// outputs. They win over messages, and over other values where they are known.
func (f *facts) placeTool() {
	if f.tool.arguments != nil || f.tool.name != nil && f.input.whole == nil {
		f.input = side{}
		if f.tool.name != nil {
			f.input.member("name", f.tool.name)
		}
		key := f.argumentsKey
		if key == "" {
			key = "arguments"
		}
		f.input.member(key, convert.Parsed(f.tool.arguments))
	}
	if f.tool.result != nil {
		f.output = side{whole: convert.Parsed(f.tool.result)}
	}
}

// divideHistory divides the conversation of an agent at its last user message
// where it has no inputs or outputs of its own.
func (f *facts) divideHistory() {
	if f.history == nil || len(f.input.messages) > 0 {
		return
	}
	cut := 0
	for i, m := range f.history {
		if object, ok := m.(map[string]any); ok && object["role"] == "user" {
			cut = i + 1
		}
	}
	f.input.messages = f.history[:cut:cut]
	if len(f.output.messages) == 0 {
		f.output.messages = f.history[cut:]
	}
}

// putInputs puts the inputs: always an object. What is none stands in it as input.
func (o *Overlay) putInputs(call bool) {
	s := &o.facts.input
	if s.whole == nil && len(s.messages) == 0 && len(s.members) == 0 {
		return
	}
	object, ok := s.whole.(map[string]any)
	if !ok && s.whole != nil {
		object = map[string]any{"input": s.whole}
	}
	if call && len(s.messages) > 0 {
		object = nil // the messages are the same, and better
	}
	o.putSide("ag.data.inputs", "prompt", object, s)
}

// putOutputs puts the outputs: any value, an object where there are members beside it.
func (o *Overlay) putOutputs(call bool) {
	s := &o.facts.output
	if len(s.messages) == 0 && len(s.members) == 0 {
		if s.whole != nil {
			o.put("ag.data.outputs", s.whole)
		}
		return
	}
	object, ok := s.whole.(map[string]any)
	if !ok && s.whole != nil && !call {
		object = map[string]any{"output": s.whole}
	}
	if call && len(s.messages) > 0 {
		object = nil // the messages are the same, and better
	}
	o.putSide("ag.data.outputs", "completion", object, s)
}

// putSide puts messages and members first, and beside them what they leave of the rest.
func (o *Overlay) putSide(target, messages string, rest map[string]any, s *side) {
	if len(s.messages) > 0 {
		o.put(target+"."+messages, s.messages)
	}
	taken := map[string]bool{}
	for _, k := range slices.Sorted(maps.Keys(s.members)) {
		o.put(target+"."+k, s.members[k])
		top, _, _ := strings.Cut(k, ".")
		taken[top] = true
	}
	if len(s.messages) == 0 && len(taken) == 0 {
		o.put(target, rest)
		return
	}
	beside := make(map[string]any, len(rest))
	for k, v := range rest {
		if !taken[k] && (k != messages || len(s.messages) == 0) {
			beside[k] = v
		}
	}
	if len(beside) > 0 {
		o.put(target, beside)
	}
}
