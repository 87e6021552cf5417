package cost

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"
)

//go:embed prices.json
var list []byte

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

// Prices is the price table of models. It never changes after LoadPrices, and
// is safe for concurrent use.
type Prices struct {
	source, date string
	models       map[string]Price
	// plain finds an entry by its plain name, see plainName; undated by its plain
	// name without a date.
	plain, undated map[string]string
	// found remembers the entries of names, empty for those without any.
	found   sync.Map
	known   counter
	missing missing
}

// LoadPrices reads the table that the release ships (prices.json, refreshed by
// `make prices`).
func LoadPrices() (*Prices, error) {
	var file struct {
		Source string           `json:"source"`
		Date   string           `json:"date"`
		Models map[string]Price `json:"models"`
	}
	if err := json.Unmarshal(list, &file); err != nil {
		return nil, fmt.Errorf("cost: read prices: %w", err)
	}
	p := &Prices{source: file.Source, date: file.Date, models: file.Models}
	p.index()
	return p, nil
}

// Source returns the name of the list that the prices come from.
func (p *Prices) Source() string { return p.source }

// Date returns the day the list was fetched, as 2006-01-02.
func (p *Prices) Date() string { return p.date }

// Models returns the table by the names of its entries. It is not to be changed.
func (p *Prices) Models() map[string]Price { return p.models }

// in returns the rates that hold for a request with this many tokens in its prompt.
func (p Price) in(prompt float64) Rates {
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
