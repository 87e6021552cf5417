package logevents

import (
	"context"
	"log/slog"
	"time"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/write/ingest"
	"colonnade/write/otlp/wire"
)

// join looks for the spans of the events that are due, and joins them.
func (w *worker) join(ctx context.Context) {
	now := w.deps.Now()
	var traces []ingest.Place
	for at, t := range w.pending {
		if !t.due.After(now) {
			traces = append(traces, ingest.Place{Project: at.project, Trace: at.trace})
		}
	}
	if len(traces) == 0 {
		return
	}
	found, err := w.deps.Stored.Finalized(ctx, traces)
	if err != nil {
		w.retry(ctx, traces, err)
		return
	}
	for _, at := range traces {
		key := place{at.Project, at.Trace}
		t := w.pending[key]
		finalized, stored := found[at]
		t.events, err = w.joinTrace(ctx, key, t.events, stored, finalized)
		switch {
		case err != nil:
			w.retry(ctx, []ingest.Place{at}, err)
		case len(t.events) == 0:
			delete(w.pending, key)
		default:
			w.postpone(t)
		}
	}
}

// retry looks for traces again later.
func (w *worker) retry(ctx context.Context, traces []ingest.Place, err error) {
	if ctx.Err() == nil {
		w.log.WarnContext(ctx, "events of log records could not join their spans, they are tried again", slog.Any("error", err))
	}
	for _, at := range traces {
		w.postpone(w.pending[place{at.Project, at.Trace}])
	}
}

func (w *worker) postpone(t *waiting) {
	t.due = w.deps.Now().Add(t.pause)
	t.pause = min(2*t.pause, w.cfg.MaxPollInterval)
}

// The stages under which rejected events are recorded.
const (
	// stageLate is that of events that came after the time for them, or whose span did not come.
	stageLate = "late_event"
	// stageEvent is that of events that cannot join their span.
	stageEvent = "event"
)

// joinTrace joins the events of a trace to those of its spans that are stored, and rejects
// those that came too late. It returns the events that wait on, all that are left where it
// fails.
func (w *worker) joinTrace(ctx context.Context, at place, events []event, stored bool, finalized time.Time) (rest []event, err error) {
	late, events := split(events, func(e *event) bool {
		return !finalized.IsZero() && e.receivedAt.After(finalized.Add(w.cfg.JoinWindow))
	})
	if err := w.reject(ctx, stageLate, late, "the event came after its trace was finalized and the time for late events was over"); err != nil {
		return append(events, late...), err
	}
	if stored {
		if events, err = w.joinSpans(ctx, at, events); err != nil {
			return events, err
		}
	}
	now := w.deps.Now()
	expired, events := split(events, func(e *event) bool { return now.Sub(e.receivedAt) > w.cfg.JoinWindow })
	if err := w.reject(ctx, stageLate, expired, "the span of the event did not come"); err != nil {
		return append(events, expired...), err
	}
	return events, nil
}

// split separates the events of which a condition holds from the others.
func split(events []event, holds func(e *event) bool) (those, others []event) {
	for i := range events {
		if holds(&events[i]) {
			those = append(those, events[i])
		} else {
			others = append(others, events[i])
		}
	}
	return those, others
}

// joinSpans publishes edits of the spans that are stored. It returns the events whose spans
// are not.
func (w *worker) joinSpans(ctx context.Context, at place, events []event) (rest []event, err error) {
	if len(events) == 0 {
		return nil, nil
	}
	turn, err := w.deps.Stored.Turn(ctx, at.project, at.trace)
	if err != nil {
		return events, err
	}
	defer turn.End()
	outline, err := turn.Outline(ctx, nil)
	if err != nil {
		return events, err
	}
	bySpan := map[trace.SpanID][]event{}
	for _, e := range events {
		bySpan[e.span] = append(bySpan[e.span], e)
	}
	for i := range outline.Spans {
		id := outline.Spans[i].SpanID
		if len(bySpan[id]) == 0 {
			continue
		}
		span, err := w.deps.Stored.Span(ctx, at.project, outline, id)
		if err != nil {
			return events, err
		}
		changed, err := addEvents(w.deps.Normalize, &span, bySpan[id])
		if err == nil && changed {
			sender := domain.WithPrincipal(ctx, domain.Principal{Project: at.project, User: bySpan[id][0].user})
			_, err = w.deps.Ingest.Replace(sender, turn, Source, []trace.Span{span})
		}
		switch {
		case domain.KindOf(err).Permanent(): // tried again it would fail again, and hold up the partition
			if err := w.reject(ctx, stageEvent, bySpan[id], "the event cannot join its span: "+err.Error()); err != nil {
				return events, err
			}
		case err != nil:
			return events, err
		default:
			w.metrics.events.WithLabelValues("joined").Add(float64(len(bySpan[id])))
			w.done(bySpan[id])
		}
		_, events = split(events, func(e *event) bool { return e.span == id })
	}
	return events, nil
}

// reject records events that join no span.
func (w *worker) reject(ctx context.Context, stage string, events []event, reason string) error {
	if len(events) == 0 {
		return nil
	}
	refused := make([]wire.Refusal, 0, len(events))
	for _, e := range events {
		refused = append(refused, wire.Refusal{Trace: e.trace, Span: e.span, Name: e.Name, Reason: reason, Raw: e.raw})
	}
	sender := domain.WithPrincipal(ctx, domain.Principal{Project: events[0].project, User: events[0].user})
	if err := w.deps.Ingest.Refuse(sender, Source, stage, refused); err != nil {
		return err
	}
	w.metrics.events.WithLabelValues(stage).Add(float64(len(events)))
	w.done(events)
	return nil
}
