// Package browse reads what people need to find their way: the outline of a trace,
// the attributes that occur and their frequent values, the models without a price, and
// the spans that were refused.
// None of these reads needs a payload.
//
// SQL is in read/statements; statements run through read/traces. The endpoints
// are in read/api/browse, the only caller.
package browse

import (
	"context"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/domain"
	"colonnade/read/order"
	"colonnade/read/sqltext"
	"colonnade/read/statements"
)

// Runner runs statements; read/traces implements it.
type Runner interface {
	Run(ctx context.Context, project domain.ProjectID, name string, s sqltext.Statement, each func(driver.Rows) error) error
}

// Reader reads from the stored spans of a project. It is safe for concurrent use.
type Reader struct {
	run Runner
	now func() time.Time
}

// New returns a reader that runs its statements through another.
func New(run Runner, now func() time.Time) *Reader { return &Reader{run: run, now: now} }

// Field is an attribute that occurs in the spans of a project.
type Field struct {
	// Path is dotted and begins below attributes: ag.data.inputs.country.
	Path string `json:"path"`
	// Type is string, number, bool, or unindexed for values that only a scan of payloads finds.
	Type   string `json:"type"`
	Sample string `json:"sample"`
	// SeenAt is when the path was last written to the list of paths.
	SeenAt time.Time `json:"seen_at"`
}

// Fields returns the attributes whose paths begin with a prefix, in the order of their
// paths, one for each type that the values of a path have.
func (r *Reader) Fields(ctx context.Context, project domain.ProjectID, prefix string, limit int) ([]Field, error) {
	out := []Field{}
	err := r.run.Run(ctx, project, "attribute_paths", statements.AttributePaths(project, prefix, limit), func(rows driver.Rows) error {
		var f Field
		var typ int8
		var seen int64
		err := rows.Scan(&f.Path, &typ, &f.Sample, &seen)
		f.Type, f.SeenAt = fieldType(typ), time.UnixMicro(seen).UTC()
		out = append(out, f)
		return err
	})
	return out, err
}

// fieldType returns the name of a value of the column type of attribute_keys.
func fieldType(n int8) string {
	switch n {
	case 1:
		return "string"
	case 2:
		return "number"
	case 3:
		return "bool"
	default:
		return "unindexed"
	}
}

// Value is a value and the number of spans that have it.
type Value struct {
	Value string `json:"value"`
	Count uint64 `json:"count"`
}

// Values returns the most frequent values, the most frequent first.
func (r *Reader) Values(ctx context.Context, v statements.Values) ([]Value, error) {
	out := []Value{}
	err := r.run.Run(ctx, v.Project, "attribute_values", v.Frequent(), func(rows driver.Rows) error {
		var one Value
		err := rows.Scan(&one.Value, &one.Count)
		out = append(out, one)
		return err
	})
	return out, err
}

// UnpricedModel is a model whose calls have tokens and no cost.
type UnpricedModel struct {
	Model    string `json:"model"`
	Provider string `json:"provider,omitempty"`
	// Spans counts its calls without a cost, Tokens the tokens of these.
	Spans  uint64  `json:"spans"`
	Tokens float64 `json:"tokens"`
	// SeenAt is the start of the last of them.
	SeenAt time.Time `json:"seen_at"`
}

// Unpriced returns the models without a price, the most frequent first.
func (r *Reader) Unpriced(ctx context.Context, u statements.Unpriced) ([]UnpricedModel, error) {
	out := []UnpricedModel{}
	err := r.run.Run(ctx, u.Project, "unpriced_models", u.Models(), func(rows driver.Rows) error {
		var one UnpricedModel
		var seen int64
		err := rows.Scan(&one.Model, &one.Provider, &one.Spans, &one.Tokens, &seen)
		one.SeenAt = time.UnixMicro(seen).UTC()
		out = append(out, one)
		return err
	})
	return out, err
}

// RejectedSpan is a span that was refused.
type RejectedSpan struct {
	RejectedAt time.Time `json:"rejected_at"`
	// Stage is the step that refused it, Source how the span came.
	Stage  string `json:"stage"`
	Reason string `json:"reason"`
	Source string `json:"source"`
	// TraceID, SpanID and Name are empty where they were not known.
	TraceID string `json:"trace_id,omitempty"`
	SpanID  string `json:"span_id,omitempty"`
	Name    string `json:"name,omitempty"`
	// Raw is the first bytes of what was sent.
	Raw string `json:"raw,omitempty"`
}

// Rejected returns a page of rejected spans, the latest first, and the position of its
// last one if there are more.
func (r *Reader) Rejected(ctx context.Context, q statements.Rejected) (spans []RejectedSpan, next *order.Position, err error) {
	spans = []RejectedSpan{}
	limit := q.Limit
	q.Limit++
	var last order.Position
	err = r.run.Run(ctx, q.Project, "rejected_spans", q.Page(), func(rows driver.Rows) error {
		var s RejectedSpan
		var at order.Position
		if err := rows.Scan(&at.Start, &at.SortHash, &s.Source, &s.Stage, &s.Reason, &s.TraceID, &s.SpanID, &s.Name, &s.Raw); err != nil {
			return err
		}
		if len(spans) == limit {
			next = &last
			return nil
		}
		s.RejectedAt, last = time.UnixMicro(at.Start).UTC(), at
		spans = append(spans, s)
		return nil
	})
	return spans, next, err
}

// RejectedReason is how often one reason was given by one stage.
type RejectedReason struct {
	Stage  string    `json:"stage"`
	Reason string    `json:"reason"`
	Count  uint64    `json:"count"`
	Last   time.Time `json:"last"`
}

// RejectedReasons returns the counts of rejected spans by stage and reason, the most
// frequent first.
func (r *Reader) RejectedReasons(ctx context.Context, q statements.Rejected) ([]RejectedReason, error) {
	out := []RejectedReason{}
	err := r.run.Run(ctx, q.Project, "rejected_summary", q.Summary(), func(rows driver.Rows) error {
		var one RejectedReason
		var last int64
		err := rows.Scan(&one.Stage, &one.Reason, &one.Count, &last)
		one.Last = time.UnixMicro(last).UTC()
		out = append(out, one)
		return err
	})
	return out, err
}

// Now returns the time by the clock of the reader.
func (r *Reader) Now() time.Time { return r.now() }
