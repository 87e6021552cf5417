package app

import (
	"bytes"
	"context"
	"time"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
	"colonnade/domain/trace/spanmetrics"
	"colonnade/read/access"
	"colonnade/read/api/livetail"
	"colonnade/read/tail"
	"colonnade/write/normalize"
	"colonnade/write/stream"
	"colonnade/write/stream/consumer"
)

// buildTail follows the topic for live tails. It is the one part of the read side
// that reads from Kafka; the package comment of read/tail says why.
func (w *wiring) buildTail() (err error) {
	w.Tail, err = tail.New(w.cfg.Tail, tail.Deps{
		Open: func(ctx context.Context) (tail.Source, error) {
			if len(w.cfg.Kafka.Brokers) == 0 {
				return nil, domain.E(domain.Unavailable, "There is no topic to follow: kafka.brokers is not set.")
			}
			f, err := consumer.Follow(ctx, w.cfg.Kafka, w.Now, w.log)
			return followed{f, w.normalizer}, err
		},
		Progress: w.traces.Progress, Log: w.log, Registerer: w.reg,
	})
	if err != nil {
		return err
	}
	livetail.Mount(w.Server, livetail.Deps{Hub: w.Tail, Now: w.Now, Allowed: func(ctx context.Context) error {
		before := domain.PrincipalFrom(ctx)
		now, err := w.access.Renew(ctx, before)
		if err == nil && (now.Project != before.Project || !access.Allows(now.Role, domain.ViewSpans)) {
			return domain.E(domain.Forbidden, "The caller may no longer view spans.")
		}
		return err
	}})
	return nil
}

// followed decodes the spans of the records that a follower polls.
type followed struct {
	*consumer.Follower
	normalizer *normalize.Normalizer
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
