package sink

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"
	"unsafe"

	"colonnade/write/otlp/wire"
	"colonnade/write/sink/clickhouse"
	"colonnade/write/sink/recent"
	"colonnade/write/sink/rows"
	"colonnade/write/stream"
	"colonnade/write/stream/consumer"
)

// errFenced reports a commit that the broker refused because this member no longer owns the partition.
var errFenced = errors.New("sink: the partition belongs to another")

// fencedPatience is how long a fenced worker waits for the group to revoke its partition.
const fencedPatience = 30 * time.Second

// worker owns one partition for the time of one assignment. It stores batches, removals and
// finalizations one after the other, so that none reads what another has half done. It
// builds only the rows of the next batch while one is in flight (writing.go).
type worker struct {
	sink      *Sink
	partition *consumer.Partition
	label     string
	log       *slog.Logger
	metrics   *metrics
	store     *clickhouse.DB

	memory *recent.Cache
	// rows are those of the batch that is being built.
	rows     *rows.Buffer
	document rows.Content
	// writing is the batch in flight, nil for none.
	writing *writing
	// refused reports that land dropped spans from the cache whose records were dead-lettered.
	refused bool
	// lastClock keeps last_write_at ascending when the machine's clock jumps back; lastNow is
	// the last reading of that clock.
	lastClock, lastNow time.Time
	// outdated are the payloads of replaced versions, which are deleted when traces are
	// finalized, but not before outdatedFrom.
	outdated     []outdated
	outdatedFrom time.Time
	// finalizeFrom is when traces are finalized again, finalizeShrink how often the groups
	// were halved, finalizeTimeouts how often the trace that is due ran out of time alone.
	finalizeFrom                     time.Time
	finalizeShrink, finalizeTimeouts int
	// storedUntil is the last offset of which rows were stored when the partition was
	// assigned. If the broker failed, the former owner may have stored a range that no
	// commit names: up to this offset stored rows are looked up before the insert.
	storedUntil int64
	// progressAt is when sink_progress was last written, visible the offset in it.
	progressAt time.Time
	visible    atomic.Int64
	// makingSince and writingSince are when the records of the batch that is being built, and
	// of the one in flight, were polled, in Unix nanoseconds; 0 for none.
	makingSince, writingSince   atomic.Int64
	makingOldest, writingOldest atomic.Int64 // when their oldest records were received
}

func newWorker(s *Sink, p *consumer.Partition) *worker {
	p.WeighBy(weigh)
	label := strconv.Itoa(int(p.Number()))
	return &worker{
		sink: s, partition: p, label: label, metrics: s.metrics, store: s.store,
		log:    s.log.With(slog.String("partition", label)),
		memory: recent.New(s.cfg.DedupWindow),
		rows:   rows.NewBuffer(s.keys.has),
	}
}

// spanBytes is about the memory that the rows of the shortest span take.
const spanBytes = 512

// weigh returns the bytes that a record counts for in a batch. A batch that is bounded by
// its bytes alone holds 200 000 short spans, which take a gigabyte.
func weigh(value []byte) int {
	n, _ := wire.Count(unsafe.String(unsafe.SliceData(value), len(value))) //nolint:gosec // no code writes to a record; one that is not OTLP counts by its bytes
	return max(len(value), max(n, 1)*spanBytes)                            // a delete of a whole trace names no span
}

// run works until ctx ends; it commits a batch in flight within DrainTimeout.
func (w *worker) run(ctx context.Context) error {
	err := w.loop(ctx)
	switch {
	case ctx.Err() != nil: // the partition is revoked, whatever failed
		if err != nil && !errors.Is(err, context.Canceled) {
			w.log.LogAttrs(ctx, slog.LevelWarn, "partition was revoked before a batch was committed, its next owner repeats the batch", slog.Any("error", err))
		}
		return nil
	case errors.Is(err, errFenced):
		select { // the group is about to revoke the partition
		case <-ctx.Done():
			return nil
		case <-time.After(fencedPatience):
			return err
		}
	default:
		return err
	}
}

func (w *worker) loop(ctx context.Context) (err error) {
	defer func() {
		if unfinished := w.land(); unfinished != nil {
			err = unfinished
		}
	}()
	first := w.partition.Next()
	intended, repeat := w.partition.Intended()
	if repeat {
		first = intended.First
	}
	if err := w.restore(ctx, first); err != nil {
		return err
	}
	if w.storedUntil, err = w.storedFrom(ctx, first); err != nil {
		return err
	}
	w.warnOfAnotherLog(ctx)
	// From here on the rollup counts on the finalization of this partition.
	if err := w.writeProgress(ctx, w.progress(first)); err != nil {
		return err
	}
	if repeat {
		records, err := w.partition.PollTo(ctx, intended.Last)
		if err != nil {
			return err
		}
		if err := w.process(ctx, records, intended, true); err != nil {
			return err
		}
	}
	for ctx.Err() == nil {
		records, err := w.poll(ctx)
		if err != nil {
			return err
		}
		if len(records) > 0 {
			rng := stream.Range{First: records[0].Offset, Last: records[len(records)-1].Offset}
			if err := w.process(ctx, records, rng, false); err != nil {
				return err
			}
		}
		if err := w.finalizeDue(ctx); err != nil {
			return err
		}
	}
	return nil
}

// restore fills the recent spans from the rows of offsets below first.
func (w *worker) restore(ctx context.Context, first int64) error {
	if first <= 0 {
		return nil
	}
	start := w.sink.deps.Now()
	from := recent.Source{DB: w.store, Topic: w.sink.topic, Partition: w.label, MaxSpans: w.sink.recentSpans(), MaxClockSkew: w.sink.cfg.MaxClockSkew}
	if err := w.memory.Restore(ctx, from, first); err != nil {
		return err
	}
	w.log.LogAttrs(ctx, slog.LevelInfo, "partition assigned, recent spans restored", slog.Int64("first", first), slog.Int("spans", w.memory.Size()),
		slog.Int("pending_traces", w.memory.Pending()), slog.Duration("took", w.sink.deps.Now().Sub(start)))
	return nil
}

// warnOfAnotherLog logs an error if ClickHouse has spans of offsets that the topic does not
// have, because versions of spans are compared by their offsets.
func (w *worker) warnOfAnotherLog(ctx context.Context) {
	lag, err := w.sink.deps.Consumer.Lag(ctx)
	behind, known := lag[w.partition.Number()]
	if end := w.partition.Next() + behind; err == nil && known && w.storedUntil >= end {
		w.log.LogAttrs(ctx, slog.LevelError, "ClickHouse has spans of offsets that the topic has not reached because it was created again: until it reaches them, a span sent again may keep its earlier content and reads do not wait for writes",
			slog.Int64("next_offset", end), slog.Int64("stored_until", w.storedUntil))
	}
}

// poll waits for a batch, but not longer than finalization may wait.
func (w *worker) poll(ctx context.Context) ([]stream.Record, error) {
	pollCtx, cancel := context.WithTimeout(ctx, w.sink.cfg.FinalizeEvery)
	defer cancel()
	cfg := &w.sink.cfg
	records, err := w.partition.Poll(pollCtx, cfg.BatchBytes, w.sink.pace.linger(w.partition.Number(), w.sink.deps.Now()))
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return nil, nil // traces may be due for finalization
	}
	return records, err
}

// clock returns the time, never before an earlier answer: a write must not be before the
// time until which traces are finalized. It has no monotonic reading, which would hide
// that the clock was set back. While the machine's clock is behind, this one goes on at
// half its speed, because otherwise nothing would be due until the two meet.
func (w *worker) clock() time.Time {
	now := w.sink.deps.Now()
	passed := max(now.Sub(w.lastNow), 0)
	w.lastNow = now
	w.lastClock = w.lastClock.Add(passed / 2)
	if now = now.Round(0); now.After(w.lastClock) {
		w.lastClock = now
	}
	return w.lastClock
}

// busySince returns when the oldest batch was polled that is not committed, the zero time
// for none.
func (w *worker) busySince() time.Time { return earlier(&w.writingSince, &w.makingSince) }

// earlier returns the earlier of two times in Unix nanoseconds; 0 stands for none.
func earlier(a, b *atomic.Int64) time.Time {
	oldest := a.Load()
	if at := b.Load(); oldest == 0 || at != 0 && at < oldest {
		oldest = at
	}
	if oldest == 0 {
		return time.Time{}
	}
	return time.Unix(0, oldest)
}

func (w *worker) forgetMetrics() {
	for _, g := range []interface{ DeleteLabelValues(...string) bool }{w.metrics.open, w.metrics.remembered, w.metrics.finalizeLag} {
		g.DeleteLabelValues(w.label)
	}
}
