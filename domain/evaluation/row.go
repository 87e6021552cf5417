package evaluation

import (
	"encoding"
	"errors"
	"time"

	"colonnade/domain/trace"
)

func (r *Record) targets() []any {
	// The form is not stored: there is one.
	r.Version = Version
	return []any{&r.ID, &r.Tags, &r.Meta, (*moment)(&r.CreatedAt), maybeMoment{&r.UpdatedAt}, &r.CreatedByID, &r.UpdatedByID}
}

// Targets are the addresses that a row in the order of schema.RunColumns is scanned into.
func (r *Run) Targets() []any {
	return append(r.targets(), &r.Name, &r.Description, &r.Flags, &r.Status, &r.Data)
}

// Targets are the addresses that a row in the order of schema.ScenarioColumns is scanned into.
func (s *Scenario) Targets() []any {
	return append(s.targets(), &s.Interval, maybeMoment{&s.Timestamp}, &s.Flags, &s.Status, &s.RunID)
}

// Targets are the addresses that a row in the order of schema.ResultColumns is scanned into.
func (r *Result) Targets() []any {
	return append(r.targets(), &r.Interval, maybeMoment{&r.Timestamp}, &r.Flags, &r.Status, &r.RunID,
		&r.ScenarioID, &r.StepKey, &r.RepeatIdx, &r.HashID, (*TraceText)(&r.TraceID), (*SpanText)(&r.SpanID), &r.TestcaseID, &r.Error)
}

// Targets are the addresses that a row in the order of schema.MetricsColumns is scanned into.
func (m *Metrics) Targets() []any {
	return append(m.targets(), &m.Interval, maybeMoment{&m.Timestamp}, &m.Flags, &m.Status, &m.RunID, &m.ScenarioID, &m.Data)
}

// Targets are the addresses that a row in the order of schema.QueueColumns is scanned into.
func (q *Queue) Targets() []any {
	return append(q.targets(), &q.Name, &q.Description, &q.Flags, &q.Status, &q.RunID, &q.Data, maybeMoment{&q.DeletedAt})
}

// TraceText reads a trace's id that stands as text; null is the zero id.
type TraceText trace.TraceID

// SpanText reads a span's id, as TraceText does.
type SpanText trace.SpanID

// Scan reads a column.
func (t *TraceText) Scan(value any) error {
	return scanID((*trace.TraceID)(t), value)
}

// Scan reads a column.
func (s *SpanText) Scan(value any) error {
	return scanID((*trace.SpanID)(s), value)
}

// moment and maybeMoment read times as the wire has them: UTC.
type (
	moment      time.Time
	maybeMoment struct{ to **time.Time }
)

// Scan reads a column.
func (m *moment) Scan(value any) error {
	t, ok := value.(time.Time)
	if !ok {
		return errors.New("evaluation: this is no time")
	}
	*m = moment(t.UTC())
	return nil
}

// Scan reads a column that may be null.
func (m maybeMoment) Scan(value any) error {
	if value == nil {
		*m.to = nil
		return nil
	}
	var t time.Time
	if err := (*moment)(&t).Scan(value); err != nil {
		return err
	}
	*m.to = &t
	return nil
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
