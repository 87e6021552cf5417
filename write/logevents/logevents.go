// Package logevents joins log records that hold events of model calls to their spans: some
// instrumentations export the messages of a call as log records beside its span. It consumes
// the topic of log records, which write/ingest publishes to, waits until the span of a record
// is stored, and publishes an edit of the span with the event and with what it states of
// inputs and outputs. It may run before or after the span comes, and again after a crash: an event
// that the span has already is left out.
//
// An event that comes too late, whose span does not come, or that does not fit into its span
// is recorded as rejected.
// Source: contract §0 row 42; deploy/docs/api.md, log records.
package logevents

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/write/ingest"
	"colonnade/write/normalize"
	"colonnade/write/stream"
	"colonnade/write/stream/consumer"
)

// Source is the source of records of log records, and of the edits that they cause.
const Source = "logs"

// Config bounds the wait for spans.
type Config struct {
	// Topic holds the log records. Empty means the name of the topic of spans with logs in
	// the place of spans.
	Topic string
	// JoinWindow is how long an event waits for its span, and how long after a trace was
	// finalized an event still joins it.
	JoinWindow time.Duration
	// PollInterval is how often waiting events look for their spans at first; the interval
	// doubles up to MaxPollInterval.
	PollInterval, MaxPollInterval time.Duration
	// MaxPendingBytes bounds the waiting log records of one partition: while they are more,
	// no others are consumed.
	MaxPendingBytes int
}

// DefaultConfig returns the documented defaults.
func DefaultConfig() Config {
	return Config{JoinWindow: 10 * time.Minute, PollInterval: 500 * time.Millisecond, MaxPollInterval: 15 * time.Second, MaxPendingBytes: 32 << 20}
}

// Validate returns an error for a bound that is not positive.
func (c Config) Validate() error {
	if c.JoinWindow <= 0 || c.PollInterval <= 0 || c.MaxPollInterval < c.PollInterval || c.MaxPendingBytes <= 0 {
		return errors.New("logevents: the join window, the poll intervals and the bound on pending bytes must be positive, and the largest interval no less than the first")
	}
	return nil
}

// Kafka returns the configuration of the topic of log records, from that of the topic of
// spans: keys and the number of partitions are the same, the consumer group is its own.
func (c Config) Kafka(spans stream.Config) stream.Config {
	kafka := spans
	if kafka.Topic = c.Topic; c.Topic == "" {
		if kafka.Topic = strings.Replace(spans.Topic, "spans", "logs", 1); kafka.Topic == spans.Topic {
			kafka.Topic += ".logs"
		}
	}
	kafka.Group, kafka.ClientID = spans.Group+".logs", spans.ClientID+"-logs"
	return kafka
}

// Deps are the components that Joiner calls.
type Deps struct {
	Consumer *consumer.Consumer
	Ingest   *ingest.Ingest
	Stored   *ingest.Stored
	// Normalize returns the spans of a TracesData message in their canonical form.
	Normalize  Normalize
	Now        func() time.Time
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Normalize is what write/normalize does with a record.
type Normalize func(meta normalize.Meta, value []byte) ([]trace.Span, []normalize.Refusal, error)

// Joiner consumes log records and joins them to their spans. It is an actor.
type Joiner struct {
	cfg     Config
	deps    Deps
	log     *slog.Logger
	metrics metrics
}

// New returns a Joiner, which consumes nothing until Run.
func New(cfg Config, deps Deps) (*Joiner, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Joiner{cfg: cfg, deps: deps, log: deps.Log.With(slog.String("component", "logevents")), metrics: newMetrics(deps.Registerer)}, nil
}

// Run consumes until ctx ends.
func (j *Joiner) Run(ctx context.Context) error {
	return j.deps.Consumer.Run(ctx, func(ctx context.Context, p *consumer.Partition) error {
		w := worker{Joiner: j, partition: p, pending: map[place]*waiting{}, offsets: map[int64]int{}}
		defer w.forget()
		return w.run(ctx)
	})
}

// place identifies a trace of a project.
type place struct {
	project domain.ProjectID
	trace   trace.TraceID
}

// waiting holds the events of one trace that have not joined their spans.
type waiting struct {
	events []event
	// due is when its span is looked for next, pause how long after the look before.
	due   time.Time
	pause time.Duration
}

// worker joins the log records of one partition.
type worker struct {
	*Joiner
	partition *consumer.Partition
	pending   map[place]*waiting
	bytes     int
	// offsets counts the waiting events of each record; next is the offset after the last
	// record that was consumed, committed the one that the group has.
	offsets         map[int64]int
	next, committed int64
}

// batchBytes and linger bound what one poll gathers.
const (
	batchBytes = 4 << 20
	linger     = 20 * time.Millisecond
)

func (w *worker) run(ctx context.Context) error {
	for {
		if err := w.poll(ctx); err != nil {
			return nil //nolint:nilerr // the partition is given up; its next owner consumes what is not committed again
		}
		w.join(ctx)
		if err := w.commit(ctx); err != nil {
			w.log.WarnContext(ctx, "commit of log records failed, they are consumed again after a restart", slog.Any("error", err))
		}
	}
}

// poll waits for log records, until the first waiting event is due. Its error is that of ctx.
func (w *worker) poll(ctx context.Context) error {
	limited, cancel := ctx, context.CancelFunc(func() {})
	if due, ok := w.due(); ok {
		limited, cancel = context.WithTimeout(ctx, max(due.Sub(w.deps.Now()), time.Millisecond))
	}
	defer cancel()
	if w.bytes > w.cfg.MaxPendingBytes {
		<-limited.Done()
		return ctx.Err()
	}
	records, err := w.partition.Poll(limited, batchBytes, linger)
	if err != nil {
		return ctx.Err()
	}
	for i := range records {
		w.add(ctx, &records[i])
	}
	return nil
}

// due returns when the next waiting trace is looked for; ok is false where none waits.
func (w *worker) due() (due time.Time, ok bool) {
	for _, t := range w.pending {
		if !ok || t.due.Before(due) {
			due, ok = t.due, true
		}
	}
	return due, ok
}

// add takes the events of a record.
func (w *worker) add(ctx context.Context, r *stream.Record) {
	w.next = r.Offset + 1
	events, err := eventsOf(r)
	if err != nil {
		w.metrics.events.WithLabelValues("unreadable").Inc()
		w.log.WarnContext(ctx, "a record of log records is unreadable, it is left out", slog.Int64("offset", r.Offset), slog.Any("error", err))
		return
	}
	if len(events) == 0 {
		return // an entry without events would keep the group's offset where it is
	}
	at := place{r.Project, r.Trace}
	t := w.pending[at]
	if t == nil {
		t = &waiting{}
		w.pending[at] = t
	}
	t.events = append(t.events, events...)
	t.due, t.pause = w.deps.Now(), w.cfg.PollInterval
	for i := range events {
		w.bytes += events[i].bytes
	}
	w.offsets[r.Offset] += len(events)
	w.metrics.pending.Add(float64(len(events)))
}

// done lets go of events that joined their spans or were rejected.
func (w *worker) done(events []event) {
	for i := range events {
		w.bytes -= events[i].bytes
		if w.offsets[events[i].offset]--; w.offsets[events[i].offset] == 0 {
			delete(w.offsets, events[i].offset)
		}
	}
	w.metrics.pending.Sub(float64(len(events)))
}

// forget takes the events of a partition that is given up out of the metrics.
func (w *worker) forget() {
	for _, n := range w.offsets {
		w.metrics.pending.Sub(float64(n))
	}
}

// commit moves the group's offset before the first record with a waiting event.
func (w *worker) commit(ctx context.Context) error {
	next := w.next
	for offset := range w.offsets {
		next = min(next, offset)
	}
	if next <= w.committed {
		return nil
	}
	if err := w.partition.Commit(ctx, next); err != nil {
		return fmt.Errorf("logevents: %w", err)
	}
	w.committed = next
	return nil
}
