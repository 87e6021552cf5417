package api

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/request"
)

// Windowing is a window as requests carry it. Source: interface.md §2.11, contract §3.3.
type Windowing struct {
	Newest   *time.Time `json:"newest" request:"bound"`
	Oldest   *time.Time `json:"oldest" request:"bound"`
	Next     *uuid.UUID `json:"next"`
	Limit    *int       `json:"limit" minimum:"1"`
	Order    ListOrder  `json:"order"`
	Interval *int       `json:"interval" minimum:"1"`
	Rate     *float64   `json:"rate" minimum:"0" maximum:"1"`
}

// Page returns the window of a list of entities. Source: contract §3.4.
func (w *Windowing) Page() (domain.Window, error) {
	var out domain.Window
	if w == nil {
		return out, nil
	}
	if w.Newest != nil {
		out.Newest = *w.Newest
	}
	if w.Oldest != nil {
		out.Oldest = *w.Oldest
	}
	if w.Next != nil {
		out.Next = *w.Next
	}
	if w.Limit != nil {
		if *w.Limit < 1 {
			return out, request.Invalid("greater_than_equal", "Input should be greater than or equal to 1", *w.Limit, "body", "windowing", "limit")
		}
		out.Limit = *w.Limit
	}
	if w.Interval != nil && *w.Interval < 1 {
		return out, request.Invalid("greater_than_equal", "Input should be greater than or equal to 1", *w.Interval, "body", "windowing", "interval")
	}
	if w.Rate != nil && !(*w.Rate >= 0 && *w.Rate <= 1) { // not the other way round: NaN
		return out, request.Invalid("value_error", "Input should be between 0 and 1", *w.Rate, "body", "windowing", "rate")
	}
	out.Order = domain.Order(w.Order)
	return out, nil
}

// ListOrder is a domain.Order that UnmarshalText has checked.
type ListOrder domain.Order

// UnmarshalText parses the word on the wire.
func (o *ListOrder) UnmarshalText(b []byte) error {
	return OneOf(o, string(b), ListOrder(domain.Ascending), ListOrder(domain.Descending))
}

// OneOf sets an enumeration from its word on the wire, which must be among those known.
func OneOf[T ~string](to *T, word string, known ...T) error {
	if !slices.Contains(known, T(word)) {
		words := make([]string, len(known))
		for i, k := range known {
			words[i] = "'" + string(k) + "'"
		}
		return request.Invalid("enum", "Input should be "+strings.Join(words, " or "), word)
	}
	*to = T(word)
	return nil
}
