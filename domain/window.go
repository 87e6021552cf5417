package domain

import (
	"time"

	"github.com/google/uuid"
)

// Order is the direction of a list. The zero value means the endpoint's default, descending.
type Order string

// The two orders. Source: interface.md §2.11.
const (
	Ascending  Order = "ascending"
	Descending Order = "descending"
)

// Window bounds a list in time and size. Source: deploy/docs/api.md, Windows.
type Window struct {
	// Newest and Oldest bound the list in time; zero means no bound. The bound at which the list
	// begins in its order is exclusive, the other one inclusive.
	Newest time.Time `json:"newest,omitzero"`
	Oldest time.Time `json:"oldest,omitzero"`
	// Next is the cursor of the previous page; the zero UUID means the first page.
	Next uuid.UUID `json:"next,omitzero"`
	// Limit is the page size; zero means the default of the endpoint, a negative limit is refused.
	Limit int `json:"limit,omitzero"`
	// Order is ascending or descending; empty means descending.
	Order Order `json:"order,omitempty"`
	// Interval is a bucket width in minutes, for analytics; zero means none.
	Interval int `json:"interval,omitzero"`
	// Rate is the share of traces in the list, from 0 to 1, chosen by a hash of the trace id; nil
	// means all.
	Rate *float64 `json:"rate,omitempty"`
}

// Page is one page of a list.
type Page[T any] struct {
	Items []T
	// Next is the cursor of the following page; the zero UUID means that there is none.
	Next uuid.UUID
	// Moved means that the caller built the cursor of this page from the start and id of the last
	// item: the bound at which the list begins was that start, and does not bound the following
	// page.
	Moved bool
}

// Following returns the window of the next page; its Next is zero after the last page.
func (p Page[T]) Following(w Window) Window {
	w.Next = p.Next
	switch {
	case !p.Moved:
	case w.Order == Ascending:
		w.Oldest = time.Time{}
	default:
		w.Newest = time.Time{}
	}
	return w
}
