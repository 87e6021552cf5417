package analytics

import (
	"context"
	"math"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/domain"
	"colonnade/read/compile"
)

// Active is a page of ids in the order of their activity.
type Active struct {
	IDs []string
	// Until is the activity of the page's last id where another page exists:
	// the bound of that page on the side where this one ends. Zero means there is none.
	Until time.Time
}

// Activity gives sessions or users in the order of their first span's start,
// or, with last, of their last one's: an order in which an id moves up while
// it is active. The window bounds that time by the microsecond; the end it
// begins with is exclusive. A page never ends between ids of one moment, so it
// may be a little shorter or longer than the limit. Source: contract §3.7.
func (r *Reader) Activity(ctx context.Context, project domain.ProjectID, actor compile.Actor, last bool, w domain.Window) (Active, error) {
	a := compile.Activity{Project: project, Actor: actor, Last: last, Low: math.MinInt64, High: math.MaxInt64, Order: w.Order}
	if !w.Oldest.IsZero() {
		if a.Low = w.Oldest.UnixMicro(); w.Order == domain.Ascending {
			a.Low++
		}
	}
	if !w.Newest.IsZero() {
		if a.High = w.Newest.UnixMicro(); w.Order != domain.Ascending {
			a.High--
		}
	}
	if a.Low > a.High {
		return Active{}, nil
	}
	for limit := w.Limit; ; limit *= 2 {
		a.Limit = limit + 1
		ids, times, err := r.activity(ctx, project, a)
		if err != nil {
			return Active{}, err
		}
		if len(ids) <= w.Limit {
			return Active{IDs: ids}, nil
		}
		if n := cut(times, w.Limit); n > 0 {
			return Active{IDs: ids[:n], Until: time.UnixMicro(times[n-1]).UTC()}, nil
		}
		if len(ids) <= limit { // all of the rest at one moment
			return Active{IDs: ids}, nil
		}
	}
}

// cut is after how many of the times, n or as few less as possible, the moment
// changes; more where fewer do not. It is 0 where it never does.
func cut(times []int64, n int) int {
	for m := n; m > 0; m-- {
		if times[m] != times[m-1] {
			return m
		}
	}
	for m := n + 1; m < len(times); m++ {
		if times[m] != times[m-1] {
			return m
		}
	}
	return 0
}

func (r *Reader) activity(ctx context.Context, project domain.ProjectID, a compile.Activity) (ids []string, times []int64, err error) {
	ids = []string{}
	err = r.traces.Run(ctx, project, "activity", a.Page(), func(rows driver.Rows) error {
		var id string
		var at int64
		err := rows.Scan(&id, &at)
		ids, times = append(ids, id), append(times, at)
		return err
	})
	return ids, times, err
}
