// Package activity lists the sessions and users of a project, in the order of their activity
// or of what their traces add up to.
//
// SQL is in read/analyticssql and read/statements; statements run through read/traces, sums
// are computed by read/analytics. The endpoints are in read/api/spans.
package activity

import (
	"context"
	"math"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/read/analytics"
	"colonnade/read/analyticssql"
	"colonnade/read/order"
	"colonnade/read/traces"
)

// Page is a page of ids in the order of their activity.
type Page struct {
	IDs []string
	// Next is the cursor of the page behind this one; the zero UUID where there is none.
	Next uuid.UUID
	// Until leads there without Next: the bound of that page on the side where this
	// one ends, which is exclusive. Where this page ends between ids of one moment the
	// bound leaves all of them in, so that some come twice and none never.
	Until time.Time
}

// Reader lists sessions and users. It is safe for concurrent use.
type Reader struct {
	traces  *traces.Reader
	analyst *analytics.Reader
}

// New returns a reader that runs its statements through another, and sums by an analyst.
func New(reader *traces.Reader, analyst *analytics.Reader) *Reader { return &Reader{reader, analyst} }

// maxTied bounds a page of one moment, for callers without a cursor.
const maxTied = 100_000

// List returns sessions or users in the order of their first span's start,
// or, with last, of their last one's: an order in which an id moves up while
// it is active. The window bounds that time by the microsecond; the end it
// begins with is exclusive. Ids of one microsecond are in the order of their
// hash, and the window's Next, as a page before it gave it, parts them. A caller
// who takes Until along and not Next gets at most maxTied ids of one moment
// together, for a time does not part them; more are Rejected. Source: contract
// §3.7, §0 row 4.
func (r *Reader) List(ctx context.Context, project domain.ProjectID, actor order.Actor, last bool, w domain.Window) (Page, error) {
	a := analyticssql.Activity{Project: project, Actor: actor, Last: last, Low: math.MinInt64, High: math.MaxInt64, Order: w.Order}
	if a.Order != domain.Ascending {
		a.Order = domain.Descending
	}
	begin, bounded := bound(&a, w)
	if w.Next != uuid.Nil {
		c, err := behind(a, w.Next)
		if err != nil {
			return Page{}, err
		}
		a.Behind = &c
	}
	if a.Low > a.High {
		return Page{IDs: []string{}}, nil
	}
	most := max(w.Limit, maxTied)
	for limit := w.Limit; ; limit = min(limit*2, most) {
		a.Limit = limit + 1
		ids, places, err := r.page(ctx, project, a)
		if err != nil {
			return Page{}, err
		}
		// The bound of such a page is next to its first moment, as Until is behind a
		// page that parted it: whoever sends it without Next would not come past it.
		whole := a.Behind == nil && bounded && len(places) > 0 && places[0].active == begin
		switch n := cut(places, w.Limit, whole); {
		case n > 0:
			return pageOf(a, ids[:n], places[:n+1]), nil
		case len(ids) <= limit: // that is the rest
			return Page{IDs: ids}, nil
		case limit == most:
			return Page{}, domain.E(domain.Rejected, "More than %d ids were active at one microsecond: ask for the next page with windowing.next as the page before gave it.", most)
		}
	}
}

// bound takes over the window's ends, of which the one that the list begins
// with is exclusive; begin is the first moment behind that one, if there is one.
func bound(a *analyticssql.Activity, w domain.Window) (begin int64, bounded bool) {
	ascending := a.Order == domain.Ascending
	if !w.Oldest.IsZero() {
		if a.Low = w.Oldest.UnixMicro(); ascending {
			a.Low++
			begin, bounded = a.Low, true
		}
	}
	if !w.Newest.IsZero() {
		if a.High = w.Newest.UnixMicro(); !ascending {
			a.High--
			begin, bounded = a.High, true
		}
	}
	return begin, bounded
}

// behind reads the cursor of such a list.
func behind(a analyticssql.Activity, next uuid.UUID) (order.ActivityCursor, error) {
	c, ok := order.ParseActivityCursor(next)
	switch {
	case !ok:
		return c, domain.E(domain.Rejected, "windowing.next is not a cursor of this list. Send the windowing of the page before.")
	case c.Order != a.Order:
		return c, domain.E(domain.Rejected, "windowing.next is a cursor of a list in %s order, and this one is %s.", c.Order, a.Order)
	case c.Actor != a.Actor || c.Last != a.Last:
		return c, domain.E(domain.Rejected, "windowing.next is a cursor of another list: sessions and users, with realtime and without, have their own.")
	default:
		return c, nil
	}
}

// activePage is the ids of the places but the last, which is the first behind it.
func pageOf(a analyticssql.Activity, ids []string, places []place) Page {
	last := places[len(places)-2]
	until := last.active
	if places[len(places)-1].active == until { // a bound is exclusive, and there are more of this moment
		if until++; a.Order == domain.Ascending {
			until -= 2
		}
	}
	next := order.ActivityCursor{Actor: a.Actor, Last: a.Last, Order: a.Order, Active: last.active, SortHash: last.tie}
	return Page{IDs: ids, Next: next.UUID(), Until: time.UnixMicro(until).UTC()}
}

// place is where an id stands in the list, as a cursor tells it.
type place struct {
	active int64
	tie    uint64
}

// cut is after how many of the places, n or as few more as possible, a page
// can end; 0 where it cannot. Places that are equal stay together and, where
// whole is set, those of the first moment.
func cut(places []place, n int, whole bool) int {
	for m := n; m < len(places); m++ {
		if places[m] != places[m-1] && (!whole || places[m].active != places[0].active) {
			return m
		}
	}
	return 0
}

func (r *Reader) page(ctx context.Context, project domain.ProjectID, a analyticssql.Activity) (ids []string, places []place, err error) {
	ids = []string{}
	err = r.traces.Run(ctx, project, "activity", a.Page(), func(rows driver.Rows) error {
		var id string
		var at place
		err := rows.Scan(&id, &at.active, &at.tie)
		ids, places = append(ids, id), append(places, at)
		return err
	})
	return ids, places, err
}
