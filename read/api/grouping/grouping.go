// Package grouping parses how a request for analytics divides its buckets, and holds the form
// of groups in replies. read/api/spans is its only caller.
package grouping

import (
	"fmt"
	"slices"

	"colonnade/domain/jsonvalue"
	"colonnade/domain/request"
	"colonnade/read/analytics"
	"colonnade/read/analyticssql"
	"colonnade/read/statements"
)

type (
	// Request divides the buckets of analytics.
	Request struct {
		// GroupBy names one or two fields of text: a field that select of a query takes, or
		// attributes.<path>.
		GroupBy []string `json:"group_by"`
		// Top is the number of groups that come by themselves, 10 by default.
		Top     *int   `json:"top" minimum:"1" maximum:"50"`
		OrderBy *Order `json:"order_by"`
	}
	// Order says which groups are the top ones: those with the highest stat of the metric
	// at a path. Without it they are those of the most spans.
	Order struct {
		Path string `json:"path" request:"required"`
		Stat string `json:"stat" request:"required"`
	}
	// Group is a group of a bucket.
	Group struct {
		// Key has a value for each field of group_by, null for spans without one. It is null
		// for all groups beyond the top ones together.
		Key     []*string                   `json:"key"`
		Metrics map[string]analytics.Metric `json:"metrics"`
	}
)

const (
	maxGroupFields = 2
	maxTop         = 50
	defaultTop     = 10
	maxPathBytes   = 1024
)

// Grouping checks a request whose specs are these.
func (g *Request) Grouping(specs []analytics.Spec) (out analytics.Grouping, err error) {
	if len(g.GroupBy) == 0 {
		if g.Top != nil || g.OrderBy != nil {
			return out, request.Invalid("missing", "Field required", nil, "body", "group_by")
		}
		return out, nil
	}
	if len(g.GroupBy) > maxGroupFields {
		return out, request.Invalid("too_long", "There are at most 2 fields", len(g.GroupBy), "body", "group_by")
	}
	for i, name := range g.GroupBy {
		of, ok := groupOf(name)
		if !ok || slices.Contains(g.GroupBy[:i], name) {
			return out, request.Invalid("value_error", "Input should be another field of text, or attributes.<path>", name, "body", "group_by", i)
		}
		out.GroupBy = append(out.GroupBy, of)
	}
	out.Top = defaultTop
	if g.Top != nil {
		if out.Top = *g.Top; out.Top < 1 || out.Top > maxTop {
			return out, request.Invalid("value_error", fmt.Sprintf("Input should be between 1 and %d", maxTop), out.Top, "body", "top")
		}
	}
	if by := g.OrderBy; by != nil {
		if !slices.ContainsFunc(specs, func(s analytics.Spec) bool { return s.Path == by.Path }) {
			return out, request.Invalid("value_error", "Input should be the path of one of the specs", by.Path, "body", "order_by", "path")
		}
		if by.Stat == "hist" || by.Stat == "freq" || analytics.CheckStats([]string{by.Stat}) != nil {
			return out, request.Invalid("value_error", "Input should be one of count, count_positive, sum, mean, min, max, p50, p90, p95, p99", by.Stat, "body", "order_by", "stat")
		}
		out.Path, out.Stat = by.Path, by.Stat
	}
	return out, nil
}

// groupOf returns what spans are grouped by for a field; ok is false for another field.
func groupOf(name string) (of analyticssql.Group, ok bool) {
	if column, ok := statements.TextColumn(name); ok {
		return analyticssql.Group{Column: column}, true
	}
	keys := jsonvalue.SplitPath(name)
	if len(keys) < 2 || keys[0] != "attributes" || len(name) > maxPathBytes {
		return of, false
	}
	return analyticssql.Group{Path: jsonvalue.JoinPath(keys[1:]...)}, true
}
