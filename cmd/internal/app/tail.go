package app

import (
	"bytes"
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
	"colonnade/domain/trace/spanmetrics"
	"colonnade/read/access"
	readapi "colonnade/read/api"
	"colonnade/read/tail"
	"colonnade/read/traces"
	"colonnade/write/normalize"
	"colonnade/write/stream"
)

// buildTail wires the stream -> fit -> live tail, which is the one place where
// the read side looks at the stream: see read/tail for why.
func (p *process) buildTail(h *house, reader *traces.Reader) (err error) {
	// This fitter makes what is shown; what the sink's counts is what is stored.
	fitter, err := normalize.New(prometheus.NewRegistry())
	if err != nil {
		return err
	}
	h.tail, err = tail.New(p.cfg.Tail, tail.Deps{
		Open: func(ctx context.Context) (tail.Source, error) {
			if len(p.cfg.Kafka.Brokers) == 0 {
				return nil, domain.E(domain.Unavailable, "There is no stream to follow: kafka.brokers is not set.")
			}
			f, err := stream.Follow(ctx, p.cfg.Kafka, p.Now, p.log)
			return followed{f, fitter}, err
		},
		Progress: reader.Progress, Log: p.log, Registerer: p.reg,
	})
	if err != nil {
		return err
	}
	readapi.MountTail(h.server, readapi.TailDeps{Hub: h.tail, Now: p.Now, Allowed: func(ctx context.Context) error {
		before := domain.PrincipalFrom(ctx)
		now, err := h.access.Authenticate(ctx, before.Credential)
		if err == nil && (now.Project != before.Project || !access.Allows(now.Role, domain.ViewSpans)) {
			return domain.E(domain.Forbidden, "The caller may no longer view spans.")
		}
		return err
	}})
	return nil
}

// followed is a follower of the stream that makes spans of its records.
type followed struct {
	*stream.Follower
	fitter *normalize.Fitter
}

// Poll gives the records that bring spans. Their values are copied: those that
// the follower gives are pieces of all that was fetched with them.
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

// spans are those of a record, completed as far as it goes.
func (f followed) spans(r *stream.Record) ([]trace.Span, error) {
	spans, _, err := f.fitter.Spans(normalize.Meta{Source: r.Source, ReceivedAt: r.ReceivedAt, User: r.User}, r.Value)
	if err != nil {
		return nil, err
	}
	together := make([]*trace.Span, len(spans))
	for i := range spans {
		together[i] = &spans[i]
		jsonvalue.Expand(spans[i].Attributes)                              // several may look at a span at once
		spans[i].CreatedAt = spans[i].CreatedAt.Truncate(time.Microsecond) // what the store keeps
	}
	normalize.Trace(together)
	spanmetrics.Cumulate(together)
	return spans, nil
}
