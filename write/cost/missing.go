package cost

import (
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// maxMissing bounds the names of models without a price that are kept.
const maxMissing = 1000

// missing are the names of models that were seen without a price.
type missing struct {
	mu    sync.Mutex
	names map[string]int64
	count int64
}

// miss notes a span whose model has no price.
func (p *Prices) miss(model string) {
	p.missing.mu.Lock()
	defer p.missing.mu.Unlock()
	p.missing.count++
	if _, seen := p.missing.names[model]; !seen && len(p.missing.names) >= maxMissing {
		return
	}
	if p.missing.names == nil {
		p.missing.names = make(map[string]int64)
	}
	if _, seen := p.missing.names[model]; !seen {
		model = strings.Clone(model) // not to keep a record's memory
	}
	p.missing.names[model]++
}

// Missing is a model that was seen without a price, and on how many spans.
type Missing struct {
	Model string `json:"model"`
	Spans int64  `json:"spans"`
}

// Missing returns the models that this process saw without a price, at most
// 1 000, the most frequent first.
func (p *Prices) Missing() []Missing {
	p.missing.mu.Lock()
	defer p.missing.mu.Unlock()
	out := make([]Missing, 0, len(p.missing.names))
	for model, spans := range p.missing.names {
		out = append(out, Missing{model, spans})
	}
	slices.SortFunc(out, func(a, b Missing) int {
		if a.Spans != b.Spans {
			return int(b.Spans - a.Spans)
		}
		return strings.Compare(a.Model, b.Model)
	})
	return out
}

// Collector returns the metric of the spans of such models.
func (p *Prices) Collector() prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "colonnade_normalize_spans_without_price_total", Help: "Calls of models that the price table does not have.",
	}, func() float64 {
		p.missing.mu.Lock()
		defer p.missing.mu.Unlock()
		return float64(p.missing.count)
	})
}
