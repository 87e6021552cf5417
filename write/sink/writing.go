package sink

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"colonnade/write/sink/recent"
	"colonnade/write/stream"
)

// Building rows keeps this process busy, storing them keeps ClickHouse busy. So a worker
// builds the rows of its next batch while one is in flight, and neither is idle. Nothing
// else of the worker runs meanwhile: the batch in flight touches neither the cache nor the
// batch that is being built, and the next batch is not inserted before the offset of this
// one is committed. One partition of a process at a time may do so, because a second batch
// takes memory, and with many partitions the processors are busy without it.

// writing is a batch in flight.
type writing struct {
	batch *batch
	// repeat reports that the range is intended already, by this owner or the former one.
	repeat bool
	start  time.Time
	done   chan error // one answer
}

// process builds the batch of a range of records and begins to insert it when the batch
// before it is committed.
func (w *worker) process(ctx context.Context, records []stream.Record, rng stream.Range, repeat bool) error {
	start := w.sink.deps.Now()
	oldest := cmp.Or(records[0].ReceivedAt, start)
	w.makingSince.Store(start.UnixNano())
	defer w.makingSince.Store(0)
	w.makingOldest.Store(oldest.UnixNano())
	defer w.makingOldest.Store(0)
	ctx, cancel := drainContext(ctx, w.sink.cfg.DrainTimeout)
	if err := w.makeRoom(); err != nil {
		cancel()
		return err
	}
	b, err := w.make(ctx, records, rng)
	if err != nil {
		cancel()
		return err
	}
	b.rows, b.doubtful = w.rows, repeat || rng.First <= w.storedUntil
	b.progress = w.progress(rng.Last + 1)
	w.writing = &writing{batch: b, repeat: repeat, start: start, done: make(chan error, 1)}
	w.writingSince.Store(start.UnixNano())
	w.writingOldest.Store(oldest.UnixNano())
	go func(this *writing) {
		defer cancel()
		defer w.writingSince.Store(0)
		defer w.writingOldest.Store(0)
		this.done <- w.finish(ctx, this)
	}(w.writing)
	if b.removes() {
		return w.land()
	}
	return nil
}

// makeRoom acquires a buffer for the next batch: the free one of the process, or the
// worker's own once its batch is committed.
func (w *worker) makeRoom() error {
	if w.writing == nil {
		return nil
	}
	select {
	case w.rows = <-w.sink.spare:
		return nil
	default:
		return w.land()
	}
}

// make builds a batch and waits for the one before. It builds the batch again without the
// records that panicked, so that neither the rows nor the cache have anything of them, and
// if the batch before turns out to lack spans that this one took for stored.
func (w *worker) make(ctx context.Context, records []stream.Record, rng stream.Range) (*batch, error) {
	w.refused = false
	start := w.sink.deps.Now()
	b, err := w.build(ctx, records, rng, nil)
	w.metrics.buildSeconds.Observe(w.sink.deps.Now().Sub(start).Seconds())
	if landed := w.land(); err == nil {
		err = landed
	}
	for err == nil && (w.refused || b.needsRebuild) {
		// The batch took spans for stored that are not, and left out what was sent again.
		w.refused, w.memory = false, recent.New(w.sink.cfg.DedupWindow)
		if err := w.restore(ctx, rng.First); err != nil {
			return nil, err
		}
		b, err = w.build(ctx, records, rng, b.quarantined)
	}
	return b, err
}

// removes reports whether a batch removes stored rows and finalizes what is left of their
// traces: no other batch may be built meanwhile.
func (b *batch) removes() bool {
	return slices.ContainsFunc(b.groups, func(g *group) bool {
		return g.Removes() || len(g.LeftBehind) > 0 || len(g.Replaced) > 0
	})
}

// finish makes a batch durable and commits the offset behind it.
func (w *worker) finish(ctx context.Context, this *writing) error {
	b := this.batch
	if !this.repeat { // the commit metadata names a repeated range already
		if err := w.partition.Intend(ctx, b.rng); err != nil {
			return w.commitFailed(ctx, err)
		}
	}
	if err := w.write(ctx, b, this.repeat); err != nil {
		return err
	}
	if err := w.partition.Commit(ctx, b.rng.Last+1); err != nil {
		return w.commitFailed(ctx, err)
	}
	w.count(this)
	return nil
}

// commitFailed returns errFenced unless ctx ended: the broker refused the commit.
func (w *worker) commitFailed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w: %w", errFenced, err)
}

func (w *worker) count(this *writing) {
	b, now, kind := this.batch, w.sink.deps.Now(), "new"
	if this.repeat {
		kind = "replay"
	}
	w.metrics.batches.WithLabelValues(kind).Inc()
	w.metrics.batchBytes.Observe(float64(b.bytes))
	w.metrics.batchSeconds.Observe(now.Sub(this.start).Seconds())
	w.metrics.spans.WithLabelValues("written").Add(float64(len(b.entries)))
	for i := range b.records {
		if at := b.records[i].ReceivedAt; !at.IsZero() {
			w.metrics.visible.Observe(now.Sub(at).Seconds())
		}
	}
	w.sink.pace.took(w.partition.Number(), b.bytes, now)
}

// land waits for the batch in flight, and updates what only the worker may. Afterwards no
// batch is in flight.
func (w *worker) land() error {
	this := w.writing
	if this == nil {
		return nil
	}
	err := <-this.done
	w.writing = nil
	if this.batch.rows != w.rows {
		w.sink.spare <- this.batch.rows // does not block: w.rows were taken from there
	}
	if err != nil {
		return err
	}
	w.noteOutdated(this.batch)
	lost := this.batch.lost()
	w.unremember(lost)
	w.refused = w.refused || len(lost) > 0
	w.metrics.remembered.WithLabelValues(w.label).Set(float64(w.memory.Size()))
	w.metrics.open.WithLabelValues(w.label).Set(float64(w.memory.Pending()))
	return nil
}

// drainContext returns a context that ends d after its parent does: the
// time to finish what is under way.
func drainContext(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-longer.Done():
		}
	})
	return longer, func() {
		stop()
		cancel()
	}
}
