package tail_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"colonnade/domain"
	"colonnade/domain/filter/filterjson"
	"colonnade/domain/trace"
	"colonnade/read/tail"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// log is a stream in memory, and how far a sink is with it.
type log struct {
	records chan []tail.Record
	broken  chan error

	mu     sync.Mutex
	next   map[int32]int64
	paused map[int32]bool
	opened int
	closed int
	away   bool
}

func newLog() *log {
	return &log{records: make(chan []tail.Record, 16), broken: make(chan error, 1), next: map[int32]int64{}, paused: map[int32]bool{}}
}

func (l *log) with(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do()
}

func (l *log) Open(context.Context) (tail.Source, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away {
		return nil, errors.New("no broker")
	}
	l.opened++
	return l, nil
}

func (l *log) Poll(ctx context.Context, wanted func(domain.ProjectID) bool) ([]tail.Record, error) {
	select {
	case r := <-l.records:
		return slices.DeleteFunc(r, func(r tail.Record) bool { return !wanted(r.Project) }), nil
	case err := <-l.broken:
		return nil, err
	case <-ctx.Done():
		return nil, nil
	}
}

func (l *log) Pause(partitions ...int32) {
	l.with(func() { l.paused[partitions[0]] = true })
}

func (l *log) Resume(partitions ...int32) {
	l.with(func() { delete(l.paused, partitions[0]) })
}

func (l *log) Close() { l.with(func() { l.closed++ }) }

func (l *log) Progress(context.Context) (map[int32]int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.next), nil
}

// visible moves the sink's progress.
func (l *log) visible(partition int32, next int64) { l.with(func() { l.next[partition] = next }) }

// record holds spans of these names.
func record(project byte, partition int32, offset int64, names ...string) tail.Record {
	return tail.Record{
		Project: domain.ProjectID{project}, At: domain.Position{Partition: partition, Offset: offset}, Bytes: 100,
		Spans: func() ([]trace.Span, error) {
			var out []trace.Span
			for i, name := range names {
				out = append(out, trace.Span{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{byte(i + 1)}, Name: name, Type: trace.Invocation})
			}
			return out, nil
		},
	}
}

// start runs a hub in a bubble of synctest; stop ends it.
func start(t *testing.T, l *log, change func(*tail.Config)) (h *tail.Hub, reg *prometheus.Registry, stop func()) {
	t.Helper()
	cfg := tail.DefaultConfig()
	if change != nil {
		change(&cfg)
	}
	reg = prometheus.NewRegistry()
	h, err := tail.New(cfg, tail.Deps{Open: l.Open, Progress: l.Progress, Log: slog.New(slog.DiscardHandler), Registerer: reg})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1) // Run's one answer
	go func() { done <- h.Run(ctx) }()
	synctest.Wait()
	return h, reg, sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-done)
	})
}

func open(t *testing.T, h *tail.Hub, project byte, filtering string) *tail.Tail {
	t.Helper()
	where, err := filterjson.Parse([]byte(filtering))
	require.NoError(t, err)
	got, err := h.Open(t.Context(), domain.ProjectID{project}, where)
	require.NoError(t, err)
	return got
}

func names(t *testing.T, b tail.Batch) (out []string) {
	t.Helper()
	for _, text := range b.Spans {
		var s struct {
			Name string `json:"span_name"`
		}
		require.NoError(t, json.Unmarshal(text, &s))
		out = append(out, s.Name)
	}
	return out
}

// taken gives what a tail has once nothing more happens. Spans are offered one
// by one: who takes as soon as there is one may get the others in a second batch.
func taken(t *testing.T, of *tail.Tail) tail.Batch {
	t.Helper()
	time.Sleep(3 * time.Second) // of the bubble's time: until all have nothing left to do but wait
	synctest.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	b, err := of.Take(ctx)
	require.NoError(t, err)
	return b
}

func TestTailShowsWhatIsVisibleAndWanted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		h, reg, stop := start(t, l, nil)
		defer stop()
		all, some, others := open(t, h, 1, `{}`), open(t, h, 1, `{"conditions":[{"field":"span_name","value":"b"}]}`), open(t, h, 2, `{}`)
		l.records <- []tail.Record{record(1, 0, 10, "a", "b"), record(3, 0, 11, "nobody's"), record(2, 1, 5, "c"), record(1, 1, 6, "d")}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := all.Take(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded, "nothing is visible yet")

		l.visible(0, 11)
		require.Equal(t, []string{"a", "b"}, names(t, taken(t, all)))
		require.Equal(t, []string{"b"}, names(t, taken(t, some)))
		l.visible(1, 6)
		require.Equal(t, []string{"c"}, names(t, taken(t, others)))
		l.visible(1, 7)
		require.Equal(t, []string{"d"}, names(t, taken(t, all)))
		require.InDelta(t, 3, value(t, reg, "colonnade_tail_open_tails"), 0)
		require.InDelta(t, 5, value(t, reg, "colonnade_tail_spans_total"), 0)
		for _, of := range []*tail.Tail{all, some, others, all} { // closing twice is closing
			of.Close()
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Equal(t, 1, l.closed, "nobody is left to follow for")
		again := open(t, h, 1, `{}`)
		require.Equal(t, 2, l.opened)
		again.Close()
	})
}

func value(t *testing.T, reg *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := reg.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue() + f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatal(name)
	return 0
}

func TestSlowClientIsToldOfDroppedSpans(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		h, reg, stop := start(t, l, func(c *tail.Config) { c.ClientBufferSpans = 3 })
		defer stop()
		slow, quick := open(t, h, 1, `{}`), open(t, h, 1, `{}`)
		l.visible(0, 1000)
		var got []string
		for i := range 5 {
			l.records <- []tail.Record{record(1, 0, int64(i), "s"+strconv.Itoa(i))}
			got = append(got, names(t, taken(t, quick))...)
		}
		require.Equal(t, []string{"s0", "s1", "s2", "s3", "s4"}, got)
		b := taken(t, slow)
		require.Equal(t, []string{"s0", "s1", "s2"}, names(t, b))
		require.Equal(t, uint64(2), b.Dropped)
		require.InDelta(t, 2, value(t, reg, "colonnade_tail_dropped_spans_total"), 0)
		l.records <- []tail.Record{record(1, 0, 5, "s5")}
		require.Equal(t, tail.Batch{Spans: taken(t, quick).Spans}, taken(t, slow), "it has caught up")
	})
}

func TestABufferIsBoundedInBytesAndTakesOneSpanAlways(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		h, _, stop := start(t, l, func(c *tail.Config) { c.ClientBufferBytes = 1 })
		defer stop()
		of := open(t, h, 1, `{}`)
		l.visible(0, 1000)
		l.records <- []tail.Record{record(1, 0, 0, "a", "b")}
		b := taken(t, of)
		synctest.Wait()
		require.Equal(t, []string{"a"}, names(t, b))
		require.Equal(t, uint64(1), b.Dropped+taken2(of), "the second one did not fit")
	})
}

// taken2 takes what may have come since, without waiting.
func taken2(of *tail.Tail) uint64 {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	b, _ := of.Take(ctx)
	return b.Dropped
}

func TestTheStreamKeepsWhatTheSinkHasNotStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		h, _, stop := start(t, l, func(c *tail.Config) { c.BufferBytes = 600 })
		defer stop()
		of := open(t, h, 1, `{}`)
		l.records <- []tail.Record{record(1, 0, 0, "a"), record(1, 0, 1, "b"), record(1, 1, 0, "x")}
		time.Sleep(time.Second)
		synctest.Wait()
		l.with(func() { require.Equal(t, map[int32]bool{0: true}, l.paused) })
		l.visible(0, 2)
		l.visible(1, 1)
		var got []string
		for len(got) < 3 {
			got = append(got, names(t, taken(t, of))...)
		}
		slices.Sort(got)
		require.Equal(t, []string{"a", "b", "x"}, got)
		synctest.Wait()
		l.with(func() { require.Empty(t, l.paused) })
	})
}

func TestTailsAreFew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		h, reg, stop := start(t, l, func(c *tail.Config) { c.MaxOpenPerProject, c.MaxOpen = 2, 3 })
		defer stop()
		first, _ := open(t, h, 1, `{}`), open(t, h, 1, `{}`)
		_, err := h.Open(t.Context(), domain.ProjectID{1}, nil)
		require.Equal(t, domain.TooMany, domain.KindOf(err))
		open(t, h, 2, `{}`)
		_, err = h.Open(t.Context(), domain.ProjectID{2}, nil)
		require.Equal(t, domain.TooMany, domain.KindOf(err))
		require.InDelta(t, 2, value(t, reg, "colonnade_tail_rejected_tails_total"), 0)
		first.Close()
		open(t, h, 2, `{}`)
		_, err = h.Open(t.Context(), domain.ProjectID{}, nil)
		require.Equal(t, domain.Unauthenticated, domain.KindOf(err), "no project, no spans")
	})
}

// Eight projects that open all tails they may leave some to a ninth one.
func TestSomeTailsAreKeptForOtherProjects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, _, stop := start(t, newLog(), nil)
		defer stop()
		cfg := tail.DefaultConfig()
		opened := 0
		for range cfg.MaxOpenPerProject {
			for project := range byte(8) {
				if _, err := h.Open(t.Context(), domain.ProjectID{project + 1}, nil); err == nil {
					opened++
				} else {
					require.Equal(t, domain.TooMany, domain.KindOf(err))
				}
			}
		}
		require.Equal(t, cfg.MaxOpen-cfg.MaxOpen/4, opened)
		for project := range byte(cfg.MaxOpen / 4) {
			open(t, h, project+100, `{}`)
		}
		_, err := h.Open(t.Context(), domain.ProjectID{200}, nil)
		require.Equal(t, domain.TooMany, domain.KindOf(err))
	})
}

// TestATailWaitsForTheHubToBegin: a process listens before all in it has begun.
func TestATailWaitsForTheHubToBegin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		h, err := tail.New(tail.DefaultConfig(), tail.Deps{Open: l.Open, Progress: l.Progress, Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1) // Run's one answer
		go func() {
			time.Sleep(time.Second) // of the bubble's time
			done <- h.Run(ctx)
		}()
		open(t, h, 1, `{}`).Close()
		cancel()
		require.NoError(t, <-done)
		_, err = h.Open(t.Context(), domain.ProjectID{1}, nil)
		require.Equal(t, domain.Unavailable, domain.KindOf(err), "it has ended")
	})
}

func TestTailsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		h, reg, stop := start(t, l, nil)
		defer stop()
		of := open(t, h, 1, `{}`)
		l.broken <- errors.New("the broker lost records")
		require.Equal(t, tail.Batch{End: tail.Interrupted}, taken(t, of))
		require.InDelta(t, 0, value(t, reg, "colonnade_tail_open_tails"), 0)

		l.with(func() { l.away = true })
		_, err := h.Open(t.Context(), domain.ProjectID{1}, nil)
		require.Equal(t, domain.Unavailable, domain.KindOf(err), "and at once")
		l.with(func() { l.away = false })

		of = open(t, h, 1, `{}`)
		stop()
		require.Equal(t, tail.Batch{End: tail.Stopping}, taken(t, of))
		_, err = h.Open(t.Context(), domain.ProjectID{1}, nil)
		require.Equal(t, domain.Unavailable, domain.KindOf(err))
	})
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	require.NoError(t, tail.DefaultConfig().Validate())
	for _, change := range []func(*tail.Config){
		func(c *tail.Config) { c.MaxOpen = 0 }, func(c *tail.Config) { c.ClientBufferBytes = -1 }, func(c *tail.Config) { c.Heartbeat = 0 },
	} {
		c := tail.DefaultConfig()
		change(&c)
		require.Error(t, c.Validate())
	}
}
