package cost

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"colonnade/domain/price"
)

//go:embed prices.json
var list []byte

// The values of Config.Prefer.
const (
	PreferReported = "reported"
	PreferTable    = "table"
)

// Config sets by what a span is charged.
type Config struct {
	// Prefer is which cost counts where a sender reports one and the price table has the
	// model: reported (the sender's) or table.
	Prefer string
}

// DefaultConfig prefers what senders report: it is what their providers bill.
func DefaultConfig() Config { return Config{Prefer: PreferReported} }

// Validate returns an error for an unknown preference.
func (c Config) Validate() error {
	if c.Prefer != PreferReported && c.Prefer != PreferTable {
		return errors.New("prefer: must be reported or table")
	}
	return nil
}

// Prices is the price table of models. It never changes after LoadPrices, and
// is safe for concurrent use.
type Prices struct {
	cfg          Config
	source, date string
	models       map[string]price.Price
	// plain finds an entry by its plain name, see plainName; undated by its plain
	// name without a date.
	plain, undated map[string]string
	// found remembers the entries of names, empty for those without any.
	found sync.Map
	known counter
	// missing counts the calls of models that the table does not have.
	missing atomic.Int64
}

// LoadPrices reads the table that the release ships (prices.json, refreshed by
// `make prices`).
func LoadPrices(cfg Config) (*Prices, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("cost: %w", err)
	}
	var file struct {
		Source string                 `json:"source"`
		Date   string                 `json:"date"`
		Models map[string]price.Price `json:"models"`
	}
	if err := json.Unmarshal(list, &file); err != nil {
		return nil, fmt.Errorf("cost: read prices: %w", err)
	}
	p := &Prices{cfg: cfg, source: file.Source, date: file.Date, models: file.Models}
	p.index()
	return p, nil
}

// Source returns the name of the list that the prices come from.
func (p *Prices) Source() string { return p.source }

// Date returns the day the list was fetched, as 2006-01-02.
func (p *Prices) Date() string { return p.date }

// Models returns the table by the names of its entries. The caller must not change it.
func (p *Prices) Models() map[string]price.Price { return p.models }
