// Package price holds what a model costs: the rates of one token of each kind and the
// tiers of long requests. The write side charges spans by it, the read side shows it.
// The table of models with its lookup by name is in write/cost.
package price

// Rates are what one token of each kind costs, in US dollars. A kind without a
// rate of its own is absent (nil) and costs what the kind it is part of costs.
type Rates struct {
	Prompt          *float64 `json:"prompt,omitempty"`
	Completion      *float64 `json:"completion,omitempty"`
	CacheRead       *float64 `json:"cache_read,omitempty"`
	CacheCreation   *float64 `json:"cache_creation,omitempty"`
	CacheCreation1h *float64 `json:"cache_creation_1h,omitempty"`
	Reasoning       *float64 `json:"reasoning,omitempty"`
	AudioInput      *float64 `json:"audio_input,omitempty"`
	AudioOutput     *float64 `json:"audio_output,omitempty"`
}

// Tier has the rates of a whole request whose prompt has more tokens than Above.
type Tier struct {
	Above float64 `json:"above"`
	Rates
}

// Price is what a model costs. Tiers ascend; Batch has the rates of its batch API.
type Price struct {
	Rates
	Tiers []Tier `json:"tiers,omitempty"`
	Batch *Rates `json:"batch,omitempty"`
}

// In returns the rates that hold for a request with this many tokens in its prompt.
func (p Price) In(prompt float64) Rates {
	rates := p.Rates
	for _, t := range p.Tiers {
		if prompt <= t.Above {
			break
		}
		rates = t.over(rates)
	}
	return rates
}

// over returns the rates of a tier with those below it for the kinds it leaves out.
func (t Tier) over(below Rates) Rates {
	pick := func(a, b *float64) *float64 {
		if a != nil {
			return a
		}
		return b
	}
	return Rates{
		Prompt: pick(t.Prompt, below.Prompt), Completion: pick(t.Completion, below.Completion),
		CacheRead: pick(t.CacheRead, below.CacheRead), CacheCreation: pick(t.CacheCreation, below.CacheCreation), CacheCreation1h: pick(t.CacheCreation1h, below.CacheCreation1h),
		Reasoning: pick(t.Reasoning, below.Reasoning), AudioInput: pick(t.AudioInput, below.AudioInput), AudioOutput: pick(t.AudioOutput, below.AudioOutput),
	}
}
