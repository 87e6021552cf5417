package tail

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/trace/tracejson"
)

const (
	// pollFor is how long one poll of the topic waits if no record is held, lookEvery how
	// long the hub waits between two queries of the sink's progress.
	pollFor   = time.Second
	lookEvery = 50 * time.Millisecond
	// pause is the time between two attempts while ClickHouse does not answer.
	pause = time.Second
)

// Deps are the components that a hub calls; all are required.
type Deps struct {
	// Open opens the topic at its end.
	Open func(ctx context.Context) (Source, error)
	// Progress returns, for each partition of the topic, the offset before which every record is visible.
	Progress   func(ctx context.Context) (map[int32]int64, error)
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Hub passes spans to the tails whose filters they match. It is an actor; its other
// methods are safe for concurrent use.
type Hub struct {
	cfg     Config
	deps    Deps
	log     *slog.Logger
	metrics *metrics
	// wake holds one signal: a tail is open and Run does not follow the topic yet.
	wake chan struct{}

	mu sync.Mutex // guards the rest
	// ended is set once Run has ended. A tail that is opened before Run begins waits for it.
	ended, following bool
	open             int
	tails            map[domain.ProjectID]map[*Tail]struct{}
}

// New creates a hub. It opens the topic in Run, when the first tail is opened.
func New(cfg Config, deps Deps) (*Hub, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Hub{
		cfg: cfg, deps: deps, log: deps.Log.With(slog.String("component", "tail")), metrics: newMetrics(deps.Registerer),
		wake: make(chan struct{}, 1), tails: map[domain.ProjectID]map[*Tail]struct{}{},
	}, nil
}

// Config returns the configuration of the hub.
func (h *Hub) Config() Config { return h.cfg }

// Open opens a tail of the spans of a project that match a filter; nil matches all.
// After it returns, the tail receives or counts every span that is accepted.
func (h *Hub) Open(ctx context.Context, project domain.ProjectID, where filter.Expr) (*Tail, error) {
	if project.IsZero() {
		return nil, domain.E(domain.Unauthenticated, "Unauthorized")
	}
	t, err := h.add(project, where)
	if err != nil {
		return nil, err
	}
	timer := time.NewTimer(h.cfg.StartTimeout)
	defer timer.Stop()
	select {
	case <-t.ready:
		return t, nil
	case <-t.over:
	case <-timer.C:
	case <-ctx.Done():
		t.Close()
		return nil, ctx.Err()
	}
	t.Close()
	return nil, away()
}

func away() error {
	return &domain.Error{Kind: domain.Unavailable, Message: "The stream of spans cannot be followed now.", RetryAfter: pause}
}

func (h *Hub) add(project domain.ProjectID, where filter.Expr) (*Tail, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return nil, away()
	}
	free := h.cfg.MaxOpen - h.open
	if len(h.tails[project]) > 0 {
		free -= h.cfg.MaxOpen / 4 // kept for projects without a tail
	}
	if free <= 0 || len(h.tails[project]) >= h.cfg.MaxOpenPerProject {
		h.metrics.refused.Inc()
		return nil, &domain.Error{Kind: domain.TooMany, Message: "Too many live tails are open. Close one, or try again later.", RetryAfter: h.cfg.Heartbeat}
	}
	t := &Tail{hub: h, project: project, where: where, ready: make(chan struct{}), over: make(chan struct{}), arrived: make(chan struct{}, 1)}
	if h.tails[project] == nil {
		h.tails[project] = map[*Tail]struct{}{}
	}
	h.tails[project][t] = struct{}{}
	h.open++
	h.metrics.open.Inc()
	if h.following {
		close(t.ready)
		return t, nil
	}
	select {
	case h.wake <- struct{}{}:
	default: // a signal is pending
	}
	return t, nil
}

func (h *Hub) remove(t *Tail) {
	h.mu.Lock()
	defer h.mu.Unlock()
	of := h.tails[t.project]
	if _, ok := of[t]; !ok {
		return
	}
	if delete(of, t); len(of) == 0 {
		delete(h.tails, t.project)
	}
	h.open--
	h.metrics.open.Dec()
}

// Run follows the topic while a tail is open, until ctx ends; then it ends all tails.
func (h *Hub) Run(ctx context.Context) error {
	defer func() {
		h.mu.Lock()
		h.ended, h.following = true, false
		h.mu.Unlock()
		h.finish(Stopping)
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.wake:
		}
		if err := h.follow(ctx); err != nil && ctx.Err() == nil {
			h.metrics.interruptions.Inc()
			h.log.LogAttrs(ctx, slog.LevelWarn, "reading from Kafka failed, all open tails end", slog.Any("error", err))
			h.interrupt()
		}
	}
}

// interrupt ends the tails that were open when reading from Kafka failed.
func (h *Hub) interrupt() {
	h.mu.Lock()
	h.following = false
	h.mu.Unlock()
	h.finish(Interrupted)
}

func (h *Hub) finish(why End) {
	for _, t := range h.all() {
		t.finish(why)
		t.Close() // a tail that has ended does not count as open
	}
}

func (h *Hub) all() (out []*Tail) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, of := range h.tails {
		out = slices.AppendSeq(out, maps.Keys(of))
	}
	return out
}

// follow reads the topic until no tail is open.
func (h *Hub) follow(ctx context.Context) error {
	opening, cancel := context.WithTimeout(ctx, h.cfg.StartTimeout)
	defer cancel()
	source, err := h.deps.Open(opening)
	if err != nil {
		return err
	}
	defer source.Close()
	h.begin()
	held := holding{source: source, limit: h.cfg.BufferBytes, partitions: map[int32]*waiting{}}
	defer h.metrics.held.Set(0)
	for ctx.Err() == nil && !h.idle() {
		wait := pollFor
		if held.bytes > 0 {
			wait = lookEvery
		}
		records, err := h.poll(ctx, source, wait)
		if err != nil {
			return err
		}
		for _, r := range records {
			held.add(r)
		}
		h.release(ctx, &held)
		h.metrics.held.Set(float64(held.bytes))
	}
	return nil
}

func (h *Hub) poll(ctx context.Context, source Source, wait time.Duration) ([]Record, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return source.Poll(ctx, h.wanted)
}

// begin marks the tails as ready: they receive every span from now on.
func (h *Hub) begin() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.following = true
	for _, of := range h.tails {
		for t := range of {
			close(t.ready)
		}
	}
}

// idle reports whether no tail is open; then the hub no longer follows the topic.
func (h *Hub) idle() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.following = h.open > 0
	return !h.following
}

func (h *Hub) wanted(project domain.ProjectID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.tails[project]) > 0
}

// release shows the held records that the sink has stored.
func (h *Hub) release(ctx context.Context, held *holding) {
	if held.bytes == 0 {
		return
	}
	next, err := h.deps.Progress(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		// The hub waits until ClickHouse answers: the held records are bounded, and Kafka keeps the others.
		h.log.LogAttrs(ctx, slog.LevelWarn, "query of the sink's progress failed, tails wait", slog.Any("error", err))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		return
	}
	for number, offset := range next {
		for _, r := range held.take(number, offset) {
			h.show(ctx, r)
		}
	}
}

// show passes the spans of a record to the tails whose filters they match.
func (h *Hub) show(ctx context.Context, r Record) {
	h.mu.Lock()
	tails := slices.Collect(maps.Keys(h.tails[r.Project]))
	h.mu.Unlock()
	if len(tails) == 0 {
		return
	}
	spans, err := r.Spans()
	if err != nil { // the record is in the dead-letter topic and in rejected_spans; none of its spans is stored
		h.log.LogAttrs(ctx, slog.LevelDebug, "decoding of a record failed, tails skip it", slog.Any("error", err))
		return
	}
	for i := range spans {
		var text []byte
		for _, t := range tails {
			if !filter.Match(t.where, &spans[i]) {
				continue
			}
			if text == nil {
				text = tracejson.AppendSpan(nil, &spans[i])
			}
			if t.offer(text) {
				h.metrics.spans.Inc()
			} else {
				h.metrics.dropped.Inc()
			}
		}
	}
}
