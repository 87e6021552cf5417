package evaluation

import (
	"encoding"
	"errors"

	"colonnade/domain/trace"
)

func (r *Record) targets() []any {
	// The form is not stored: there is one.
	r.Version = Version
	return []any{&r.ID, &r.Tags, &r.Meta, &r.CreatedAt, &r.UpdatedAt, &r.CreatedByID, &r.UpdatedByID}
}

// Targets are the addresses that a row in the order of schema.RunColumns is scanned into.
func (r *Run) Targets() []any {
	return append(r.targets(), &r.Name, &r.Description, &r.Flags, &r.Status, &r.Data)
}

// Targets are the addresses that a row in the order of schema.ScenarioColumns is scanned into.
func (s *Scenario) Targets() []any {
	return append(s.targets(), &s.Interval, &s.Timestamp, &s.Flags, &s.Status, &s.RunID)
}

// Targets are the addresses that a row in the order of schema.ResultColumns is scanned into.
func (r *Result) Targets() []any {
	return append(r.targets(), &r.Interval, &r.Timestamp, &r.Flags, &r.Status, &r.RunID,
		&r.ScenarioID, &r.StepKey, &r.RepeatIdx, &r.HashID, (*TraceText)(&r.TraceID), (*SpanText)(&r.SpanID), &r.TestcaseID, &r.Error)
}

// Targets are the addresses that a row in the order of schema.MetricsColumns is scanned into.
func (m *Metrics) Targets() []any {
	return append(m.targets(), &m.Interval, &m.Timestamp, &m.Flags, &m.Status, &m.RunID, &m.ScenarioID, &m.Data)
}

// Targets are the addresses that a row in the order of schema.QueueColumns is scanned into.
func (q *Queue) Targets() []any {
	return append(q.targets(), &q.Name, &q.Description, &q.Flags, &q.Status, &q.RunID, &q.Data)
}

// TraceText and SpanText read ids that stand as text; null is the zero id.
type (
	TraceText trace.TraceID
	SpanText  trace.SpanID
)

// Scan reads a column.
func (t *TraceText) Scan(value any) error {
	return scanID((*trace.TraceID)(t), value)
}

// Scan reads a column.
func (s *SpanText) Scan(value any) error {
	return scanID((*trace.SpanID)(s), value)
}

func scanID(into encoding.TextUnmarshaler, value any) error {
	switch v := value.(type) {
	case nil:
		return nil
	case string:
		return into.UnmarshalText([]byte(v))
	default:
		return errors.New("evaluation: an id is a string")
	}
}
