package semconv

import (
	"maps"
	"math"
	"slices"
	"strings"

	"colonnade/domain/trace"
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
	if len(messages) > 0 && (len(s.messages) == 0 || answers(messages) || !answers(s.messages)) {
		s.messages = messages
	}
}

// read sets the side by a value that is messages or any other value.
func (s *side) read(value any) {
	if value == nil {
		return
	}
	if messages, ok := canonicalMessages(value); ok {
		s.converse(messages)
		return
	}
	s.whole = compoundJSON(value)
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

// count notes a number of tokens. Of two spellings of one convention the larger
// stands; a stronger convention wins.
func (o *Overlay) count(kind string, value any) {
	if value == nil {
		return
	}
	value = number(value)
	f := &o.facts
	if f.tokens == nil {
		f.tokens = make(map[string]any, 4)
	}
	if n, ok := numeric(value); ok {
		f.hasUsage = f.hasUsage || n > 0
		if old, is := numeric(f.tokens[kind]); is && old > n {
			return
		}
	} else if f.tokens[kind] != nil {
		return
	}
	f.tokens[kind] = value
}

// usage notes the counts of an object of usage, whatever API it comes from.
// plain is the kind of tokens for a name that the API uses; see tokenKind.
func (o *Overlay) usage(value any) {
	object, _ := parsed(value).(map[string]any)
	for _, k := range slices.Sorted(maps.Keys(object)) {
		if below, ok := object[k].(map[string]any); ok {
			for _, inner := range slices.Sorted(maps.Keys(below)) {
				if kind := tokenKind(k + "." + inner); kind != "" {
					o.count(kind, below[inner])
				}
			}
			continue
		}
		if kind := tokenKind(k); kind != "" {
			o.count(kind, object[k])
		}
	}
}

// tokenKind returns the kind of tokens that a name stands for; empty where it is none.
func tokenKind(name string) string {
	switch strings.ReplaceAll(name, ".", "_") {
	case "input", "input_tokens", "prompt", "prompt_tokens", "promptTokens", "inputTokens", "promptTokenCount", "prompt_token_count", "input_token_count":
		return "prompt"
	case "output", "output_tokens", "completion", "completion_tokens", "completionTokens", "outputTokens", "candidatesTokenCount", "candidates_token_count", "output_token_count":
		return "completion"
	case "total", "total_tokens", "totalTokens", "totalTokenCount", "total_token_count":
		return "total"
	case "cache_read_input_tokens", "cache_read_tokens", "cached_tokens", "cached_input_tokens", "cachedInputTokens", "input_cached_tokens", "cache_read", "cacheReadInputTokens",
		"prompt_tokens_details_cached_tokens", "input_tokens_details_cached_tokens", "input_token_details_cache_read", "input_tokens_cached", "cachedContentTokenCount",
		"cached_content_token_count", "details_cache_read_tokens", "details_cached_tokens", "details_cache_read_input_tokens", "prompt_details_cache_read", "prompt_details_cache_input", "inputTokenDetails_cacheReadTokens",
		"input_cache_read", "input_cached", "prompt_cache_hit_tokens", "input_tokens_cache_read", "cache_read_input_token_count", "input_token_details_cached", "cached_input", "cache_tokens", "prompt_tokens_cached":
		return "cache_read"
	case "cache_creation_input_tokens", "cache_write_input_tokens", "cache_creation_tokens", "cache_write_tokens", "cache_write", "cache_creation", "cacheWriteInputTokens", "cacheCreationInputTokens",
		"input_token_details_cache_creation", "details_cache_write_tokens", "details_cache_creation_input_tokens", "prompt_details_cache_write", "inputTokenDetails_cacheWriteTokens", "input_cache_creation",
		"prompt_tokens_details_cache_creation_tokens", "prompt_tokens_details_cache_write_tokens", "input_tokens_details_cache_write_tokens", "input_tokens_cache_write", "input_cache_write", "input_tokens_details_cache_creation":
		return "cache_creation"
	case "cache_creation_ephemeral_1h_input_tokens", "cache_creation_1h_input_tokens", "input_token_details_ephemeral_1h_input_tokens", "details_cache_write_1h_tokens":
		return "cache_creation_1h"
	case "reasoning", "reasoning_tokens", "reasoning_output_tokens", "reasoningTokens", "completion_tokens_details_reasoning_tokens", "output_tokens_details_reasoning_tokens", "output_token_details_reasoning",
		"details_reasoning_tokens", "completion_details_reasoning", "outputTokenDetails_reasoningTokens", "thoughtsTokenCount", "thoughts_token_count", "output_reasoning_tokens", "output_reasoning", "thinking_tokens",
		"completion_tokens_reasoning", "output_tokens_reasoning", "experimental_reasoning_tokens", "thoughts_tokens", "details_thoughts_tokens":
		return "reasoning"
	case "audio_input_tokens", "input_audio_tokens", "prompt_tokens_details_audio_tokens", "input_tokens_details_audio_tokens", "input_token_details_audio", "prompt_details_audio", "details_input_audio_tokens", "input_audio", "audio_input":
		return "audio_input"
	case "audio_output_tokens", "output_audio_tokens", "completion_tokens_details_audio_tokens", "output_tokens_details_audio_tokens", "output_token_details_audio", "completion_details_audio", "details_output_audio_tokens", "output_audio", "audio_output":
		return "audio_output"
	case "image_input_tokens", "text_input_tokens", "text_output_tokens", "video_input_tokens":
		return strings.TrimSuffix(strings.ReplaceAll(name, ".", "_"), "_tokens")
	default:
		return ""
	}
}

// costs notes a part of the cost that the sender reports.
func (o *Overlay) costs(kind string, value any) {
	n, ok := numeric(number(value))
	if !ok {
		return
	}
	r := &o.facts.reported
	if r.Kinds == nil {
		r.Kinds = make(map[string]float64, 3)
	}
	r.Kinds[kind], r.Found = n, true
}

// costKind returns the side of a cost that a name stands for, and the name where it is neither.
func costKind(name string) string {
	switch name {
	case "input", "prompt", "input_cost", "prompt_cost":
		return "prompt"
	case "output", "completion", "output_cost", "completion_cost":
		return "completion"
	case "total", "total_cost", "cost":
		return "total"
	default:
		return name
	}
}

// tag notes labels: each of a list of words, or a single one.
func (o *Overlay) tag(value any) {
	labels, ok := compoundJSON(value).([]any)
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
	if id, ok := text(value).(string); ok && id == "" {
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
		f.input.messages = withSystem(f.input.messages, f.system)
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
		f.input.member(key, parsed(f.tool.arguments))
	}
	if f.tool.result != nil {
		f.output = side{whole: parsed(f.tool.result)}
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

// openBodies finds the messages of a model call in the whole bodies of its
// request and its response.
func (o *Overlay) openBodies() {
	f := &o.facts
	if object, ok := f.input.whole.(map[string]any); ok {
		for _, k := range []string{"messages", "contents", "input", "prompt"} {
			messages, ok := canonicalMessages(object[k])
			if !ok {
				continue
			}
			f.input.whole = nil
			f.input.converse(messages)
			for _, other := range slices.Sorted(maps.Keys(object)) {
				o.openRequest(other, k, object[other])
			}
			break
		}
	}
	if messages := responseMessages(f.output.whole); messages != nil {
		f.output.whole = nil
		f.output.converse(messages)
	}
}

// openRequest places one member of the body of a request beside its messages.
func (o *Overlay) openRequest(name, messagesKey string, value any) {
	f := &o.facts
	switch name {
	case messagesKey:
	case "tools", "functions":
		f.input.member("tools", value)
	case "system", "instructions", "system_instruction":
		f.system = value
	case "config":
		if config, ok := value.(map[string]any); ok {
			if f.system == nil {
				f.system = config["system_instruction"]
			}
			if config["tools"] != nil {
				f.input.member("tools", config["tools"])
			}
		}
	case "model":
		if f.request == "" {
			o.askedModel(value)
		}
	default:
		switch value.(type) {
		case string, bool, int64, float64:
			o.put("ag.meta.request."+name, value)
		}
	}
}

// responseMessages returns the messages of the body of a response; nil where it has none.
func responseMessages(body any) []any {
	object, _ := body.(map[string]any)
	for _, k := range []string{"choices", "messages", "output", "message", "replies", "generations", "candidates", "content"} {
		value := object[k]
		switch k {
		case "generations":
			value = generations(value)
		case "content":
			if _, ok := value.(map[string]any); !ok {
				continue
			}
		case "candidates":
			value = contents(value)
		}
		if messages, ok := canonicalMessages(value); ok {
			return messages
		}
	}
	return nil
}

// generations returns the messages of LangChain's generations, which are lists of lists.
func generations(value any) any {
	list, _ := value.([]any)
	for len(list) > 0 {
		inner, nested := list[0].([]any)
		if !nested {
			break
		}
		list = inner
	}
	var out []any
	for _, e := range list {
		g, _ := e.(map[string]any)
		if message, ok := g["message"].(map[string]any); ok {
			out = append(out, message)
		} else if s, ok := g["text"].(string); ok {
			out = append(out, map[string]any{"role": "assistant", "content": s})
		}
	}
	return out
}

// contents returns the contents of Gemini's candidates.
func contents(value any) any {
	list, _ := value.([]any)
	var out []any
	for _, e := range list {
		candidate, _ := e.(map[string]any)
		out = append(out, candidate["content"])
	}
	return out
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
