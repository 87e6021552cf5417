package measure

import "colonnade/domain/trace"

// Prices is the price table of models.
type Prices struct{}

// LoadPrices reads the table that the release ships.
func LoadPrices() (*Prices, error) { return &Prices{}, nil }

func (p *Prices) charge(s *trace.Span, ag, metrics map[string]any) {}
