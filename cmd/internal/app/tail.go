package app

import (
	"bytes"
	"context"
	"time"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
	"colonnade/domain/trace/spanmetrics"
	"colonnade/read/tail"
	"colonnade/write/normalize"
	"colonnade/write/stream"
)

// followed decodes the spans of the records that a follower polls.
type followed struct {
	*stream.Follower
	normalizer *normalize.Fitter
}

// Poll returns the records of wanted projects that carry spans. It copies their
// values, because those of the follower share the memory of a whole fetch.
func (f followed) Poll(ctx context.Context, wanted func(domain.ProjectID) bool) ([]tail.Record, error) {
	all, err := f.Follower.Poll(ctx)
	if err != nil {
		return nil, err
	}
	var out []tail.Record
	for i := range all {
		r := all[i]
		if r.Err != nil || r.Operation != stream.Upsert && r.Operation != stream.Edit || !wanted(r.Project) {
			continue
		}
		r.Value = bytes.Clone(r.Value)
		out = append(out, tail.Record{
			Project: r.Project, At: domain.Position{Partition: r.Partition, Offset: r.Offset}, Bytes: len(r.Value),
			Spans: func() ([]trace.Span, error) { return f.spans(&r) },
		})
	}
	return out, nil
}

// spans returns the spans of a record, with the metrics that the record alone determines.
func (f followed) spans(r *stream.Record) ([]trace.Span, error) {
	spans, _, err := f.normalizer.Spans(normalize.Meta{Source: r.Source, ReceivedAt: r.ReceivedAt, User: r.User}, r.Value)
	if err != nil {
		return nil, err
	}
	together := make([]*trace.Span, len(spans))
	for i := range spans {
		together[i] = &spans[i]
		jsonvalue.Expand(spans[i].Attributes)                              // several tails read a span at the same time
		spans[i].CreatedAt = spans[i].CreatedAt.Truncate(time.Microsecond) // the precision of ClickHouse
	}
	normalize.Trace(together)
	spanmetrics.Cumulate(together)
	return spans, nil
}
