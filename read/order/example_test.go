package order_test

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/read/order"
)

// The last row of a page becomes the cursor from which the next page continues. The
// client sends the UUID back as it is.
func ExampleParseCursor() {
	last := order.Cursor{
		Focus: order.Spans, Order: domain.Descending,
		Start: time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC).UnixMicro(), SortHash: 42,
	}
	sent := last.UUID().String()

	next, ok := order.ParseCursor(uuid.MustParse(sent), time.Now())
	fmt.Println(ok, time.UnixMicro(next.Start).UTC().Format(time.DateTime), next.SortHash)

	_, ok = order.ParseCursor(uuid.MustParse("7f1b3c5a-6f5e-4f0e-9b1c-2d3e4f5a6b7c"), time.Now())
	fmt.Println(ok)
	// Output:
	// true 2026-11-01 10:00:00 42
	// false
}
