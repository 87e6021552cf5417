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

// Window bounds a list in time and size. Source: interface.md §2.11, contract §3.3-3.4.
type Window struct {
	// Newest and Oldest bound the list's time; zero means no bound. Which end
	// is inclusive depends on the order: the end a walk starts from is
	// exclusive, the end it runs to is inclusive (contract §3.3).
	Newest time.Time `json:"newest,omitzero"`
	Oldest time.Time `json:"oldest,omitzero"`
	// Next is the cursor of the previous page; the zero UUID means the first page.
	Next uuid.UUID `json:"next,omitzero"`
	// Limit is the page size; zero means the endpoint's default, negative is refused.
	Limit int `json:"limit,omitzero"`
	// Order is ascending or descending; empty means descending.
	Order Order `json:"order,omitempty"`
	// Interval is a bucket width in minutes, for analytics; zero means none.
	Interval int `json:"interval,omitzero"`
	// Rate keeps this share of traces, chosen by a hash of the trace id: 0..1; nil means all.
	Rate *float64 `json:"rate,omitempty"`
}

// Page is one page of a list.
type Page[T any] struct {
	Items []T
	// Next is the cursor of the following page; the zero UUID means that there is none.
	Next uuid.UUID
	// Moved tells that the caller had made the page's cursor of the last item's start
	// and id (contract §0 row 22): the end that the list begins with was that start, and
	// is no bound of what follows.
	Moved bool
}

// Following is the window with which the next page of a list is asked for; its Next
// is zero behind the last.
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
