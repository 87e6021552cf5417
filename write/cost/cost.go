package cost

import (
	"maps"
	"math"
	"slices"

	"colonnade/domain/price"
	"colonnade/domain/semconv"
	"colonnade/domain/trace"
)

// Sender is what a sender is known for or reports beside the attributes of the
// schema. The zero value is that of a client that writes ag attributes itself.
type Sender struct {
	// Reported are the kinds of the cost it reports, in US dollars; nil means none.
	Reported map[string]float64
	// DisjointUsage reports that its prompts are counted without cached tokens.
	DisjointUsage bool
	// Failure is what it says of a failure that the status of the span does not show; empty means nothing.
	Failure string
}

// charge writes what the span cost: what the sender reports, else what its
// tokens cost by the table, or the reverse where the table is preferred. Where neither
// is known, what the client wrote itself stands. Source: contract §1.6, §0 rows 18, 35
// and 36.
func (p *Prices) charge(s *trace.Span, ag, metrics map[string]any, sender Sender) {
	if wasReported(ag, metrics) {
		return
	}
	u := usageOf(member(member(metrics, semconv.Tokens), semconv.Incremental))
	own, isReported := costs{}, false
	if len(sender.Reported) > 0 {
		own, isReported = reported(sender.Reported, u)
	}
	if isReported && p.cfg.Prefer == PreferReported {
		write(metrics, own)
		note(ag, map[string]any{"source": PreferReported})
		return
	}
	byTable, noted, ok := p.byTable(s, ag, u)
	if isReported && !ok {
		write(metrics, own)
		note(ag, map[string]any{"source": PreferReported})
		return
	}
	if len(sender.Reported) > 0 {
		kept := make(map[string]any, len(sender.Reported))
		for k, v := range sender.Reported {
			kept[k] = v
		}
		note(ag, map[string]any{"reported": kept})
	}
	if ok {
		write(metrics, byTable)
		note(ag, noted)
	}
}

// wasReported reports whether a span has a reported cost from an earlier normalization:
// an edited span comes without the attributes that its sender reported it by.
func wasReported(ag, metrics map[string]any) bool {
	source, _ := member(member(ag, semconv.Meta), "cost")["source"].(string)
	return source == PreferReported && member(member(metrics, semconv.Costs), semconv.Incremental)[semconv.Total] != nil
}

// byTable returns what the tokens of a model call cost by the table, and what is noted
// about it. It counts the calls whose model the table does not have.
func (p *Prices) byTable(s *trace.Span, ag map[string]any, u usage) (c costs, noted map[string]any, ok bool) {
	if !charged(s.SpanType) || !u.known {
		return costs{}, nil, false
	}
	provider, model := modelOf(ag)
	if model == "" {
		return costs{}, nil, false
	}
	found, entry, ok := p.Of(provider, model)
	if !ok {
		p.missing.Add(1)
		return costs{}, nil, false
	}
	c, fallback := costOf(found, u)
	noted = map[string]any{"source": PreferTable, "version": p.date, "entry": entry}
	if fallback != nil {
		noted["fallback"] = fallback
	}
	return c, noted, true
}

// costs are the two sides of a cost and their total.
type costs struct{ prompt, completion, total float64 }

// reported reads the cost that a sender reports. One that is zero although
// tokens were used, negative or not a number does not count. What belongs to
// neither side is added to the prompt's.
func reported(kinds map[string]float64, u usage) (c costs, ok bool) {
	other, hasTotal := 0., false
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		v := kinds[k]
		if v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
			return costs{}, false
		}
		switch k {
		case semconv.Prompt:
			c.prompt = v
		case semconv.Completion:
			c.completion = v
		case semconv.Total:
			c.total, hasTotal = v, true
		default:
			other += v
		}
	}
	if !hasTotal {
		c.total = c.prompt + c.completion + other
	}
	if c.total == 0 && u.prompt+u.completion > 0 {
		return costs{}, false
	}
	if rest := c.total - c.completion; rest >= 0 {
		c.prompt = rest
	} else { // the sides say more than the total
		c.prompt, c.completion = c.total, 0
	}
	if kinds[semconv.Prompt] > 0 && math.Abs(c.prompt-kinds[semconv.Prompt]) <= 1e-12 {
		c.prompt = kinds[semconv.Prompt] // as it was reported, to the last digit
	}
	return c, true
}

func write(metrics map[string]any, c costs) {
	object, ok := metrics[semconv.Costs].(map[string]any)
	if !ok {
		return
	}
	own, ok := object[semconv.Incremental].(map[string]any)
	if !ok {
		own = make(map[string]any, 3)
		object[semconv.Incremental] = own
	}
	own[semconv.Prompt], own[semconv.Completion], own[semconv.Total] = c.prompt, c.completion, c.total
}

// note writes where a cost comes from to ag.meta.cost.
func note(ag, noted map[string]any) {
	meta, ok := ag[semconv.Meta].(map[string]any)
	if !ok {
		if ag[semconv.Meta] != nil {
			return
		}
		meta = make(map[string]any, 1)
		ag[semconv.Meta] = meta
	}
	object, ok := meta["cost"].(map[string]any)
	if !ok {
		if meta["cost"] == nil {
			meta["cost"] = noted
		}
		return
	}
	maps.Copy(object, noted)
}

// charged reports whether a span has a cost of its own: the calls to a model.
// Source: contract §0 row 35.
func charged(t trace.SpanType) bool {
	switch t {
	case trace.Embedding, trace.QueryType, trace.Completion, trace.Chat, trace.Rerank, trace.LLM:
		return true
	default:
		return false
	}
}

// modelOf returns the model that answered, else the one configured, else the one
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

// costOf prices each token once, at the rate of its kind; fallback names the kinds
// without a rate of their own. Source: contract §0 rows 18 and 38.
func costOf(p price.Price, u usage) (c costs, fallback []any) {
	rates := p.In(u.prompt)
	prompt, completion := rate(rates.Prompt, 0), rate(rates.Completion, 0)
	at := func(kind string, tokens float64, own *float64, whole float64) float64 {
		if tokens > 0 && own == nil {
			fallback = append(fallback, kind)
		}
		return tokens * rate(own, whole)
	}
	long := min(u.created1h, u.created)
	written := rates.CacheCreation
	oneHour := rates.CacheCreation1h
	if oneHour == nil && written != nil {
		oneHour = written
	}
	plain := max(u.prompt-u.read-u.created-u.audioIn, 0)
	c.prompt = plain*prompt +
		at(semconv.CacheRead, u.read, rates.CacheRead, prompt) +
		at(semconv.CacheCreation, u.created-long, written, prompt) +
		at("cache_creation_1h", long, oneHour, prompt) +
		at("audio_input", u.audioIn, rates.AudioInput, prompt)
	spoken := min(u.audioOut, u.completion)
	thought := min(u.reasoning, u.completion-spoken)
	c.completion = (u.completion-spoken-thought)*completion + at("audio_output", spoken, rates.AudioOutput, completion)
	if rates.Reasoning != nil {
		c.completion += thought * *rates.Reasoning
	} else {
		c.completion = (u.completion-spoken)*completion + spoken*rate(rates.AudioOutput, completion)
		if thought > 0 {
			fallback = append(fallback, "reasoning")
		}
	}
	c.total = c.prompt + c.completion
	return c, fallback
}

func rate(own *float64, whole float64) float64 {
	if own == nil {
		return whole
	}
	return *own
}

func member(object map[string]any, key string) map[string]any {
	below, _ := object[key].(map[string]any)
	return below
}
