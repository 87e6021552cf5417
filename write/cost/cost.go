package cost

import (
	"math"

	"colonnade/domain/semconv"
	"colonnade/domain/trace"
)

// charge writes what the span's tokens cost. Where the model or its tokens are
// unknown, what the client sent stands. Source: contract §1.6, §0 row 18.
func (p *Prices) charge(s *trace.Span, ag, metrics map[string]any) {
	if !charged(s.SpanType) {
		return
	}
	tokens := member(member(metrics, semconv.Tokens), semconv.Incremental)
	if len(tokens) == 0 {
		return
	}
	provider, model := modelOf(ag)
	if model == "" {
		return
	}
	price, ok := p.Of(provider, model)
	if !ok {
		return
	}
	usage, ok := usageOf(tokens)
	if !ok {
		return
	}
	prompt, completion := price.cost(usage)
	costs, ok := metrics[semconv.Costs].(map[string]any)
	if !ok {
		return
	}
	own, ok := costs[semconv.Incremental].(map[string]any)
	if !ok {
		own = make(map[string]any, 3)
		costs[semconv.Incremental] = own
	}
	own[semconv.Prompt], own[semconv.Completion], own[semconv.Total] = prompt, completion, prompt+completion
}

// charged tells which spans have a cost of their own: calls to a model.
// Agents and generic llm spans hold such calls as children, and charging both
// would count twice.
func charged(t trace.SpanType) bool {
	switch t {
	case trace.Embedding, trace.QueryType, trace.Completion, trace.Chat, trace.Rerank:
		return true
	default:
		return false
	}
}

// modelOf gives the model that answered, else the one configured, else the one
// asked for; and the provider, as far as it is known.
func modelOf(ag map[string]any) (provider, model string) {
	meta := member(ag, semconv.Meta)
	for _, object := range []map[string]any{member(meta, "response"), member(member(ag, semconv.Data), semconv.Parameters), member(meta, "request")} {
		if model, _ = object["model"].(string); model != "" {
			break
		}
	}
	if provider, _ = member(meta, "provider")["name"].(string); provider == "" {
		if provider, _ = meta["provider"].(string); provider == "" {
			provider, _ = meta["system"].(string)
		}
	}
	return provider, model
}

// usage counts the tokens of one call. cached and created are part of prompt
// where the instrumentation follows OpenTelemetry.
type usage struct{ prompt, completion, cached, created float64 }

func usageOf(tokens map[string]any) (u usage, ok bool) {
	prompt, hasPrompt := count(tokens[semconv.Prompt])
	completion, hasCompletion := count(tokens[semconv.Completion])
	u = usage{prompt: prompt, completion: completion}
	var hasRead bool
	if u.cached, hasRead = count(tokens[semconv.CacheRead]); !hasRead {
		u.cached, _ = count(tokens[semconv.Cached])
	}
	u.created, _ = count(tokens[semconv.CacheCreation])
	return u, hasPrompt || hasCompletion
}

// count reads a number of tokens; what is none, or negative, counts as absent.
func count(v any) (float64, bool) {
	var f float64
	switch v := v.(type) {
	case int64:
		f = float64(v)
	case float64:
		f = v
	default:
		return 0, false
	}
	if f < 0 || math.IsNaN(f) {
		return 0, false
	}
	return f, true
}

// cost prices each token once: those read from a cache and those written to
// one at their own rates, the rest of the prompt at the prompt's.
// Instrumentations that count the prompt without them (it is then smaller than
// they are) get them on top.
func (p Price) cost(u usage) (prompt, completion float64) {
	plain := u.prompt - u.cached - u.created
	if plain < 0 {
		plain = u.prompt
	}
	return plain*p.Prompt + u.cached*p.CacheRead + u.created*p.CacheCreation, u.completion * p.Completion
}

func member(object map[string]any, key string) map[string]any {
	below, _ := object[key].(map[string]any)
	return below
}
