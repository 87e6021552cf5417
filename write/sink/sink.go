// Package sink carries spans from Kafka to ClickHouse, each exactly once. One worker for
// each assigned partition polls batches, normalizes their spans, builds rows, inserts them
// under deterministic tokens, and commits the offset only when ClickHouse has acknowledged
// everything. The worker also decides when traces are finalized (write/sink/finalize) and
// executes what that and write/sink/deletion find to change.
//
// What ClickHouse has acknowledged survives the end of its process. Whether it survives a
// loss of power depends on the settings and replicas of ClickHouse (deploy/docs/operating.md,
// Back-up): the sink does not ask for fsync, and a committed offset does not come back.
//
// Not here: what a span means (write/normalize), how the topic is read (write/stream), the
// rows of a span (write/sink/rows), the cache of recent spans (write/sink/recent), inserts
// and retries (write/sink/clickhouse), one-minute metrics (write/sink/rollup), the tables
// (migrations). cmd is the only caller.
//
// # Exactly once
//
// A batch is a range of offsets. What the worker does for it, and what a
// crash after each step leaves to the next owner of the partition:
//
//	step                                crash after it
//	1 Poll                              nothing happened: the records are read again, in other batches
//	2 Intend(first-last)                the commit metadata names the intended range: exactly it is read
//	                                    again first, and the same rows are built of it (normalization is
//	                                    pure; the cache of recent spans is restored from rows of lower
//	                                    offsets)
//	3 insert span_payloads_packed,      the rows of spans that step 5 did not reach are inserted again: merges
//	  span_payload_ngrams               and readers make one of equal versions. Readers see no span yet
//	4 insert trace_index,               as 3; a repetition does not change the aggregates of the index. A
//	  annotation_index,                 query for a trace by its id sees the spans; lists do not
//	  evaluation_index
//	5 insert spans                      the rows are looked up by their versions, and only those that are
//	                                    missing go in. The spans are visible
//	6 insert tombstones, remove what    the same rows of lower versions are removed again: no effect;
//	  edits, deletes and changed keys   tombstones as 3
//	  left behind
//	7 insert attribute_keys             as 3
//	8 dead-letter topic                 published again: at least once, and redriven as often: what was
//	                                    stored or removed since it was received stays so (redriven.go)
//	9 insert rejected_spans             the rows are looked up, and only those that are missing go in
//	10 insert sink_progress             replaced by an equal row
//	11 Commit(last+1)                   done
//
// An insert whose answer was lost is tried again as after a crash, by this owner or the
// next, even while the first attempt still runs in ClickHouse: the missing rows are
// inserted under the token of the first attempt, which ClickHouse checks and records in
// one step with the rows. A ClickHouse that is killed may keep either without the other,
// so a check ends only when all rows are stored (clickhouse.Insertion). A former owner
// that still runs inserts under the same tokens, and its next Intend is refused: by the
// broker, or by write/stream if the broker was restarted and took it for a new member.
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
	"colonnade/write/stream/consumer"
)

// Deps are what the sink works with; all but Erased and Retentions are required.
type Deps struct {
	// Store is a connection over HTTP (clickhouse.HTTP), which sends blocks as they are.
	Store driver.Conn
	// Consumer is not shared; Dead publishes the records that cannot be processed.
	Consumer   *consumer.Consumer
	Dead       *stream.Producer
	Normalizer *normalize.Normalizer
	// Erased returns the projects deleted at or after a time; nil means that none ever is.
	Erased func(ctx context.Context, since time.Time) ([]domain.ProjectID, error)
	// Retentions returns the projects that do not keep everything; nil means that all do.
	Retentions func(ctx context.Context) ([]domain.Retention, error)
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
	// spare has the buffer that a worker may fill while its own is in flight.
	spare    chan *rows.Buffer
	mu       sync.Mutex
	workers  map[int32]*worker
	totalLag int64
}

// New creates a sink; nothing runs before Run.
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
	s.janitor = deletion.NewJanitor(deletion.JanitorConfig{Deployment: cfg.Deployment, CleanUpEvery: cfg.CleanUpEvery, PurgeEvery: cfg.PurgeEvery, ExpireEvery: cfg.ExpireEvery}, deletion.JanitorDeps{
		Conn: deps.Store, DB: s.store, Deleted: deps.Erased, Retentions: deps.Retentions, Works: s.ownsFirst, Now: deps.Now, Log: s.log, Registerer: deps.Registerer,
	})
	s.spare <- rows.NewBuffer(s.keys.has)
	return s, nil
}

// Run consumes until ctx ends, then commits the batches in flight and returns nil. An error
// means that the sink cannot go on; it never means that ClickHouse is unavailable, for
// which the sink waits.
func (s *Sink) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wait sync.WaitGroup
	wait.Go(func() { s.watchLag(ctx) })
	wait.Go(func() { s.rollup.Run(ctx) })
	wait.Go(func() { s.janitor.Run(ctx) })
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
		// The group removed this member, for example after a long pause of the process: join again.
		s.log.LogAttrs(ctx, slog.LevelWarn, "consumer group removed this member, it joins again", slog.Any("error", err))
	}
}

// work is one assignment of a partition.
func (s *Sink) work(ctx context.Context, p *consumer.Partition) error {
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

// recentSpans returns the share of a partition in Config.RecentSpans.
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

// Visible returns, for each partition of this sink, the offset before which everything is
// visible: what sink_progress has, without a query. Safe for concurrent use.
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

// Ready returns an error unless the sink keeps up: ClickHouse answers, the group accepts its
// commits, and neither the age of the oldest batch nor the lag exceeds its bound.
func (s *Sink) Ready(context.Context) error {
	if err := s.deps.Consumer.Ready(); err != nil {
		return err
	}
	now := s.deps.Now()
	if since, err := s.store.Down(); !since.IsZero() && now.Sub(since) > s.cfg.MaxBackoff {
		return domain.Wrap(domain.Unavailable, err, "ClickHouse has not answered for %s.", now.Sub(since).Round(time.Second))
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

// Lag returns for how long the oldest record has waited that this process works on, from its
// receipt; zero when all that was polled is visible.
func (s *Sink) Lag() time.Duration {
	lag := time.Duration(0)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.workers {
		if at := earlier(&w.writingOldest, &w.makingOldest); !at.IsZero() {
			lag = max(lag, s.deps.Now().Sub(at))
		}
	}
	return lag
}

// lagEvery is the interval between two requests for the lag.
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
			continue // the metrics and the readiness of write/stream show that the broker is unavailable
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
