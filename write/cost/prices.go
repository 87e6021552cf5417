package cost

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
)

//go:embed prices.json
var list []byte

// Price is what one token of a model costs, in US dollars.
type Price struct{ Prompt, Completion, CacheRead, CacheCreation float64 }

// Prices is the price table of models. It never changes after LoadPrices.
type Prices struct {
	source, date string
	models       map[string][4]float64
}

// LoadPrices reads the table that the release ships (prices.json, refreshed by
// `make prices`).
func LoadPrices() (*Prices, error) {
	var file struct {
		Source string                `json:"source"`
		Date   string                `json:"date"`
		Unit   string                `json:"unit"`
		Models map[string][4]float64 `json:"models"`
	}
	if err := json.Unmarshal(list, &file); err != nil {
		return nil, fmt.Errorf("measure: read prices: %w", err)
	}
	return &Prices{source: file.Source, date: file.Date, models: file.Models}, nil
}

// Source names the list the prices come from, and Date the day it was fetched.
func (p *Prices) Source() string { return p.source }

// Date is the day the list was fetched, as 2006-01-02.
func (p *Prices) Date() string { return p.date }

// Of gives a model's price. provider, which may be empty, is what telemetry
// calls the provider or system: the table has some models only under its
// name. A model under a prefix that the table lacks is looked up without it:
// "openrouter/openai/gpt-4o" costs what "gpt-4o" does.
func (p *Prices) Of(provider, model string) (Price, bool) {
	model = strings.ToLower(model) // a name in lower case is not copied
	for name := model; ; {
		if c, ok := p.models[name]; ok {
			return Price{c[0], c[1], c[2], c[3]}, true
		}
		_, rest, found := strings.Cut(name, "/")
		if !found {
			break
		}
		name = rest
	}
	if prefix := tablePrefix(provider); prefix != "" {
		if c, ok := p.models[prefix+"/"+model]; ok {
			return Price{c[0], c[1], c[2], c[3]}, true
		}
	}
	return Price{}, false
}

// tablePrefix is the table's word for a provider. Source: the well-known
// values of gen_ai.provider.name and gen_ai.system.
func tablePrefix(provider string) string {
	switch provider = strings.ToLower(provider); provider {
	case "mistral_ai", "mistralai", "mistral.chat":
		return "mistral"
	case "x_ai":
		return "xai"
	case "gcp.gemini", "gcp.gen_ai", "google", "google.generative-ai":
		return "gemini"
	case "gcp.vertex_ai", "google.vertex.chat":
		return "vertex_ai"
	case "aws.bedrock", "amazon-bedrock":
		return "bedrock"
	case "azure.ai.openai", "az.ai.openai":
		return "azure"
	case "azure.ai.inference", "az.ai.inference":
		return "azure_ai"
	case "ibm.watsonx.ai":
		return "watsonx"
	case "voyageai":
		return "voyage"
	case "together":
		return "together_ai"
	case "fireworks":
		return "fireworks_ai"
	default:
		return provider
	}
}
