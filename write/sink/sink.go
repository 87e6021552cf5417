// Package sink carries spans from the stream to ClickHouse, each exactly once.
// One worker for each assigned partition reads batches, fits their spans,
// makes rows, inserts them under deterministic tokens, and moves the offset
// only when the store has acknowledged everything. It also settles traces that went quiet:
// totals, one type for all spans, nothing stale; and keeps trace_metrics_1m in step.
//
// What the store has acknowledged outlives its process. Whether it outlives a loss
// of power is for the settings and replicas of ClickHouse to say (deploy/docs/operating.md, Back-up):
// nothing here asks for fsync, and an offset that has moved does not come back.
//
// Not here: what a span means (write/normalize), how the log is read (write/stream),
// the tables (migrations). cmd is the only caller.
//
// # Exactly once
//
// A batch is a range of offsets. What the worker does for it, and what a
// crash after each step leaves to the next owner of the partition:
//
//	step                                crash after it
//	1 Poll                              nothing happened: the records are read again, in batches cut anew
//	2 Intend(first-last)                the commit names the range: exactly it is read again first, and the
//	                                    same rows are made of it (fitting is pure; the cache of recent
//	                                    spans is restored from rows of lower offsets)
//	3 insert span_payloads_packed,            the rows of spans that step 5 did not reach are inserted again: merges
//	  span_payload_ngrams                       and readers make one of equal versions. Readers see no span yet
//	4 insert trace_index, annotations,  as 3; the index's aggregates bear repetition. Who asks for a trace
//	  evaluation_index                      by its id sees the spans; lists do not
//	5 insert spans                      the rows are looked up by their versions, and only those that are
//	                                    missing go in. The spans are visible
//	6 insert tombstones, remove what    the same rows of lower versions are removed again: no effect;
//	  edits, deletes and changed keys   tombstones as 3
//	  left behind
//	7 insert attribute_keys, rejects    keys as 3; rejects are looked up as spans are
//	8 dead topic                        published again: at least once, and redriven as often: what was
//	                                    stored or removed since it was received stays so (redriven.go)
//	9 insert sink_progress              replaced by an equal row
//	10 Commit(last+1)                   done
//
// An insert whose answer was lost is tried again as after a crash, by this owner
// or the next, even while the first is still running in the store: what is looked
// up goes in under the first attempt's token, which is checked and recorded in
// one step with the rows by a store that lives. One that is killed may keep
// either without the other, so no look ends but with all rows there (clickhouse.Insertion).
// A former owner that still lives inserts under the same tokens, and its next
// Intend is refused: by the broker, or by stream, where the broker was restarted
// and took it for a new member.
package sink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"

	"colonnade/domain"
	"colonnade/write/normalize"
	"colonnade/write/sink/clickhouse"
	"colonnade/write/sink/deletion"
	"colonnade/write/sink/finalize"
	"colonnade/write/sink/rollup"
	"colonnade/write/sink/rows"
	"colonnade/write/stream"
)

// Deps are what the sink works with; all but Erased are required.
type Deps struct {
	// Store speaks HTTP (clickhouse.HTTP): blocks are sent as they are.
	Store driver.Conn
	// Consumer is not shared; Dead takes the records that cannot be processed.
	Consumer *stream.Consumer
	Dead     *stream.Producer
	Fitter   *normalize.Fitter
	// Erased tells which projects were deleted at or after a moment; nil means that none ever is.
	Erased     func(ctx context.Context, since time.Time) ([]domain.ProjectID, error)
	Now        func() time.Time
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Sink is the actor.
type Sink struct {
	cfg     Config
	deps    Deps
	log     *slog.Logger
	store   *clickhouse.DB
	metrics *metrics
	// finalized has the metrics of write/sink/finalize.
	finalized *finalize.Metrics
	rollup    *rollup.Rollup
	janitor   *deletion.Janitor
	topic     string
	keys      *keySet
	pace      *pace
	// spare has the rows that a worker may fill while its own are being written.
	spare    chan *rows.Buffer
	mu       sync.Mutex
	workers  map[int32]*worker
	totalLag int64
}

// New makes a sink; nothing runs before Run.
func New(cfg Config, deps Deps) (*Sink, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	m := newMetrics(deps.Registerer)
	s := &Sink{
		cfg: cfg, deps: deps, log: deps.Log.With(slog.String("component", "sink")),
		store: clickhouse.New(deps.Store, cfg.store(), deps.Registerer, deps.Now), metrics: m, finalized: finalize.NewMetrics(deps.Registerer), topic: deps.Consumer.Topic(),
		keys: newKeySet(maxAttributeKeys), pace: newPace(cfg), workers: map[int32]*worker{}, spare: make(chan *rows.Buffer, 1),
	}
	s.rollup = rollup.New(rollup.Config{Every: cfg.RollupEvery, InsertTimeout: cfg.InsertTimeout, MaxClockSkew: cfg.MaxClockSkew}, rollup.Deps{
		DB: s.store, Topic: s.topic, Computes: s.ownsFirst, Now: deps.Now, Log: s.log, Registerer: deps.Registerer,
	})
	s.janitor = deletion.NewJanitor(deletion.JanitorConfig{Deployment: cfg.Deployment, CleanUpEvery: cfg.CleanUpEvery, PurgeEvery: cfg.PurgeEvery}, deletion.JanitorDeps{
		Conn: deps.Store, DB: s.store, Deleted: deps.Erased, Works: s.ownsFirst, Now: deps.Now, Log: s.log, Registerer: deps.Registerer,
	})
	s.spare <- rows.NewBuffer(s.keys.has)
	return s, nil
}

// Run consumes until ctx ends, then finishes the batches under way and returns
// nil. An error means that it cannot go on; it never means that a store is
// away, which is waited for.
func (s *Sink) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wait sync.WaitGroup
	wait.Go(func() { s.watchLag(ctx) })
	wait.Go(func() { s.janitor.CleanUp(ctx) })
	wait.Go(func() { s.rollup.Run(ctx) })
	wait.Go(func() { s.janitor.Purge(ctx) })
	defer wait.Wait()
	defer cancel()
	for {
		err := s.deps.Consumer.Run(ctx, s.work)
		if err == nil {
			return nil
		}
		if !errors.Is(err, errFenced) {
			return fmt.Errorf("sink: consume: %w", err)
		}
		// The group went on without us, as after a long pause of the process: join again.
		s.log.LogAttrs(ctx, slog.LevelWarn, "consumer group removed this member, it joins again", slog.Any("error", err))
	}
}

// work is one assignment of a partition.
func (s *Sink) work(ctx context.Context, p *stream.Partition) error {
	w := newWorker(s, p)
	s.mu.Lock()
	s.workers[p.Number()] = w
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.workers, p.Number())
		s.mu.Unlock()
		w.forgetMetrics()
	}()
	return w.run(ctx)
}

// recentSpans is a partition's share of what is remembered.
func (s *Sink) recentSpans() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(s.cfg.RecentSpans/max(len(s.workers), 1), 1)
}

// ownsFirst reports whether this process has partition 0, so that it does what one process
// is enough for.
func (s *Sink) ownsFirst() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, mine := s.workers[0]
	return mine
}

// Visible tells, for each partition that this sink works on, the offset before
// which everything is visible: what sink_progress says, without asking the
// store. Safe for concurrent use.
func (s *Sink) Visible() map[int32]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[int32]int64, len(s.workers))
	for number, w := range s.workers {
		if next := w.visible.Load(); next > 0 {
			out[number] = next
		}
	}
	return out
}

// Ready tells whether the sink keeps up: the store answers, the group takes its
// commits, and neither the oldest record in work nor the lag is beyond its bound.
func (s *Sink) Ready(context.Context) error {
	if err := s.deps.Consumer.Ready(); err != nil {
		return err
	}
	now := s.deps.Now()
	if since, err := s.store.Down(); !since.IsZero() && now.Sub(since) > s.cfg.MaxBackoff {
		return domain.Wrap(domain.Unavailable, err, "The span store has not answered for %s.", now.Sub(since).Round(time.Second))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for number, w := range s.workers {
		if at := w.busySince(); !at.IsZero() && now.Sub(at) > s.cfg.MaxBatchAge {
			return domain.E(domain.Unavailable, "Partition %d has worked on a batch for %s.", number, now.Sub(at).Round(time.Second))
		}
	}
	if s.totalLag > s.cfg.MaxLag {
		return domain.E(domain.Unavailable, "The sink is %d records behind.", s.totalLag)
	}
	return nil
}

// lagEvery is how often the broker is asked for the lag.
const lagEvery = 5 * time.Second

func (s *Sink) watchLag(ctx context.Context) {
	ticker := time.NewTicker(lagEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		lag, err := s.deps.Consumer.Lag(ctx)
		if err != nil {
			continue // the broker's absence shows in the stream's own metrics and readiness
		}
		var total int64
		for number, n := range lag {
			s.metrics.lag.WithLabelValues(strconv.Itoa(int(number))).Set(float64(n))
			total += n
		}
		s.mu.Lock()
		s.totalLag = total
		s.mu.Unlock()
	}
}
