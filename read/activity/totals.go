package activity

import (
	"cmp"
	"context"
	"encoding/binary"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/read/analytics"
	"colonnade/read/analyticssql"
	"colonnade/read/order"
)

// Totals is what the traces of a session or a user add up to within a range of time.
type Totals struct {
	ID string `json:"id"`
	// First and Last are the starts of its first and last span.
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	// Traces is the number of its roots; Errors, Tokens and Cost are the sums of their
	// cumulative metrics, P95 is of their durations in milliseconds. nil where no root has any.
	Traces uint64   `json:"traces"`
	Errors float64  `json:"errors"`
	Tokens *float64 `json:"tokens"`
	Cost   *float64 `json:"cost"`
	P95    *float64 `json:"p95"`
	// Models are those that answered in its traces, in the order of their names.
	Models []string `json:"models"`
}

// OrderBy is the number by which a list is ordered instead of the time of activity.
type OrderBy string

// The numbers.
const (
	ByTraces OrderBy = "traces"
	ByErrors OrderBy = "errors"
	ByTokens OrderBy = "tokens"
	ByCost   OrderBy = "cost"
	ByP95    OrderBy = "p95"
)

// Orders returns all of them.
func Orders() []OrderBy { return []OrderBy{ByTraces, ByErrors, ByTokens, ByCost, ByP95} }

// maxRanked bounds the sessions or users among which a list by a number chooses.
const maxRanked = 10_000

// field returns the field of spans that holds the ids of an actor, and its column.
func field(actor order.Actor) (filter.Field, string) {
	if actor == order.User {
		return filter.UserID, "user_id"
	}
	return filter.SessionID, "session_id"
}

// Totals returns what the ids of a page add up to within a window, in their order. Its
// oldest end is inclusive, its newest exclusive.
func (r *Reader) Totals(ctx context.Context, project domain.ProjectID, actor order.Actor, ids []string, w domain.Window) ([]Totals, error) {
	if len(ids) == 0 {
		return []Totals{}, nil
	}
	name, _ := field(actor)
	found, err := r.sums(ctx, project, actor, filter.Text{Field: name, Test: filter.OneOf{In: ids}}, w)
	if err != nil {
		return nil, err
	}
	byID := map[string]Totals{}
	for _, t := range found {
		byID[t.ID] = t
	}
	out := make([]Totals, len(ids))
	for i, id := range ids {
		out[i] = byID[id]
		out[i].ID = id
	}
	return out, r.complete(ctx, project, actor, out, w)
}

// Ranked returns a page of sessions or users in the order of a number within a window. Those
// without the number come last, equal ones in the order of their ids. More than maxRanked of
// them are Rejected.
func (r *Reader) Ranked(ctx context.Context, project domain.ProjectID, actor order.Actor, by OrderBy, w domain.Window) ([]Totals, uuid.UUID, error) {
	name, _ := field(actor)
	all, err := r.sums(ctx, project, actor, filter.Text{Field: name, Test: filter.Exists{}}, w)
	if err != nil {
		return nil, uuid.Nil, err
	}
	if len(all) > maxRanked {
		return nil, uuid.Nil, domain.E(domain.Rejected, "More than %d ids would have to be ordered. Narrow windowing.oldest and newest, or leave order_by out.", maxRanked)
	}
	slices.SortFunc(all, func(a, b Totals) int {
		x, y := a.number(by), b.number(by)
		if math.IsNaN(x) != math.IsNaN(y) {
			return cmp.Compare(nan(x), nan(y))
		}
		if w.Order != domain.Ascending {
			x, y = y, x
		}
		return cmp.Or(cmp.Compare(x, y), strings.Compare(a.ID, b.ID))
	})
	from := 0
	if w.Next != uuid.Nil {
		// The position stands in for an id that has gone since the page before.
		if from = slices.IndexFunc(all, func(t Totals) bool { return hash(t.ID) == binary.BigEndian.Uint64(w.Next[:8]) }) + 1; from == 0 {
			from = int(min(binary.BigEndian.Uint64(w.Next[8:]), uint64(len(all)))) //nolint:gosec // at most the length
		}
	}
	to := min(from+w.Limit, len(all))
	var next uuid.UUID
	if to < len(all) {
		binary.BigEndian.PutUint64(next[:8], hash(all[to-1].ID))
		binary.BigEndian.PutUint64(next[8:], uint64(to)) //nolint:gosec // a position is not negative
	}
	page := slices.Clone(all[from:to])
	return page, next, r.complete(ctx, project, actor, page, w)
}

func hash(id string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // a hash never fails
	return h.Sum64()
}

func nan(v float64) int {
	if math.IsNaN(v) {
		return 1
	}
	return 0
}

// number returns the number by which a list is ordered, NaN without one.
func (t *Totals) number(by OrderBy) float64 {
	of := map[OrderBy]*float64{ByTokens: t.Tokens, ByCost: t.Cost, ByP95: t.P95}[by]
	switch {
	case by == ByTraces:
		return float64(t.Traces)
	case by == ByErrors:
		return t.Errors
	case of == nil:
		return math.NaN()
	default:
		return *of
	}
}

// The window of a list without one.
const (
	oldestYear = 1970
	newestYear = 2200
)

func bounds(w domain.Window) (oldest, newest time.Time) {
	if oldest, newest = w.Oldest, w.Newest; oldest.IsZero() {
		oldest = time.Date(oldestYear, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if newest.IsZero() {
		newest = time.Date(newestYear, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return oldest, newest
}

// sums returns the sums of the roots for which a filter holds, by their ids.
func (r *Reader) sums(ctx context.Context, project domain.ProjectID, actor order.Actor, where filter.Expr, w domain.Window) ([]Totals, error) {
	oldest, newest := bounds(w)
	if !oldest.Before(newest) {
		return nil, nil
	}
	_, column := field(actor)
	const duration, errors, cost, tokens = 0, 1, 2, 3 // as DefaultSpecs orders them
	specs := analytics.DefaultSpecs()[:tokens+1]
	answer, err := r.analyst.Query(ctx, project, analytics.Question{
		Where: where, Roots: true, Oldest: oldest, Newest: newest, Specs: specs,
		Grouping: analytics.Grouping{GroupBy: []analyticssql.Group{{Column: column}}, Top: maxRanked + 1},
	})
	if err != nil {
		return nil, err
	}
	var out []Totals
	for _, b := range answer.Buckets {
		for _, g := range b.Groups {
			if len(g.Key) == 0 || g.Key[0] == nil {
				continue
			}
			t := Totals{ID: *g.Key[0], Traces: g.Spans, Tokens: g.Metrics[specs[tokens].Path].Sum, Cost: g.Metrics[specs[cost].Path].Sum}
			if sum := g.Metrics[specs[errors].Path].Sum; sum != nil {
				t.Errors = *sum
			}
			if p95, ok := g.Metrics[specs[duration].Path].Pcts["p95"]; ok {
				t.P95 = &p95
			}
			out = append(out, t)
		}
	}
	return out, nil
}

// complete adds the times and models of a page.
func (r *Reader) complete(ctx context.Context, project domain.ProjectID, actor order.Actor, page []Totals, w domain.Window) error {
	if len(page) == 0 {
		return nil
	}
	of := map[string]*Totals{}
	ids := make([]string, len(page))
	for i := range page {
		page[i].Models = []string{}
		ids[i], of[page[i].ID] = page[i].ID, &page[i]
	}
	oldest, newest := bounds(w)
	a := analyticssql.Actors{Project: project, Actor: actor, IDs: ids, Range: order.Starts(oldest.UnixMicro(), newest.UnixMicro()-1)}
	err := r.traces.Run(ctx, project, "activity_times", a.Times(), func(rows driver.Rows) error {
		var id string
		var first, last int64
		if err := rows.Scan(&id, &first, &last); err != nil {
			return err
		}
		if t := of[id]; t != nil {
			t.First, t.Last = time.UnixMicro(first).UTC(), time.UnixMicro(last).UTC()
		}
		return nil
	})
	if err != nil {
		return err
	}
	return r.traces.Run(ctx, project, "activity_models", a.Models(), func(rows driver.Rows) error {
		var id string
		var models []string
		if err := rows.Scan(&id, &models); err != nil {
			return err
		}
		if t := of[id]; t != nil {
			t.Models = models
		}
		return nil
	})
}
