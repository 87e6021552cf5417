package browse

import (
	"maps"
	"math"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
	"colonnade/domain/price"
	"colonnade/read/api"
	"colonnade/read/browse"
	"colonnade/read/order"
	"colonnade/read/statements"
)

// PriceTable is the table of prices of models; write/cost has the one that spans are
// charged by.
type PriceTable interface {
	// Source names the list that the prices come from, Date the day of it.
	Source() string
	Date() string
	Models() map[string]price.Price
	// Find returns the price of a model and the name of its entry.
	Find(provider, model string) (found price.Price, entry string, ok bool)
}

// modelPrice is one entry of the table.
type modelPrice struct {
	// Model is the name of the entry, in small letters.
	Model string `json:"model"`
	price.Price
}

type (
	pricesReply struct {
		// Version is the day of the list, as ag.meta.cost.version of a span has it.
		Version string `json:"version"`
		Source  string `json:"source"`
		Unit    string `json:"unit"`
		Count   int    `json:"count"`
		// Prices are the entries by name, or the one that the model of the request resolves to.
		Prices []modelPrice `json:"prices"`
	}
	unpricedReply struct {
		Count  int                    `json:"count"`
		Models []browse.UnpricedModel `json:"models"`
	}
)

func (d Deps) mountPrices(r api.Router) {
	r.Handle(domain.Operation{
		Method: http.MethodGet, Path: "/prices", Permission: domain.Authenticated, Tag: "prices", Response: pricesReply{},
		Summary: "The price table by which spans are charged, with its version; with model, the entry that a name resolves to, if any.",
		Query: []domain.Parameter{
			{Name: "model", Type: "string", Doc: "The name of a model, as a span has it."},
			{Name: "provider", Type: "string", Doc: "The provider of the model, as a span has it: some models are in the table only under its name."},
		},
	}, d.prices)
	r.Handle(domain.Operation{
		Method: http.MethodGet, Path: "/prices/missing", Permission: domain.ViewSpans, Tag: "prices", Response: unpricedReply{},
		Summary: "The models without a price among the calls of the last 24 hours or of a window, the most frequent first.",
		Query: []domain.Parameter{
			{Name: "oldest", Type: "string", Doc: "Lower bound on the start of the spans, inclusive."},
			{Name: "newest", Type: "string", Doc: "Upper bound on the start of the spans, exclusive."},
			{Name: "limit", Type: "integer", Doc: "The largest number of models, 50 by default."},
		},
	}, d.unpriced)
}

func (d Deps) prices(c *gin.Context) error {
	reply := pricesReply{Version: d.Prices.Date(), Source: d.Prices.Source(), Unit: "US dollars per token", Prices: []modelPrice{}}
	q := c.Request.URL.Query()
	if q.Has("model") || q.Has("provider") {
		if found, entry, ok := d.Prices.Find(q.Get("provider"), q.Get("model")); ok {
			reply.Prices = append(reply.Prices, modelPrice{entry, found})
		}
	} else {
		models := d.Prices.Models()
		for _, name := range slices.Sorted(maps.Keys(models)) {
			reply.Prices = append(reply.Prices, modelPrice{name, models[name]})
		}
	}
	reply.Count = len(reply.Prices)
	c.PureJSON(http.StatusOK, reply)
	return nil
}

func (d Deps) unpriced(c *gin.Context) error {
	q := c.Request.URL.Query()
	limit, err := integer(q, "limit", defaultLimit, 1, maxLimit)
	if err != nil {
		return err
	}
	low, high := d.Reader.Now().Add(-valuesFor).UnixMicro(), int64(math.MaxInt64)
	if q.Has("oldest") || q.Has("newest") {
		low = math.MinInt64
	}
	if err := timeBounds(q, &low, &high); err != nil {
		return err
	}
	ctx, project, err := d.Caller(c)
	if err != nil {
		return err
	}
	found, err := d.Reader.Unpriced(ctx, statements.Unpriced{Project: project, Range: order.Starts(low, high), Limit: limit})
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, unpricedReply{len(found), found})
	return nil
}
