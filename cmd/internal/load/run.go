package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"colonnade/cmd/internal/client"
)

// Plan says how much is sent, how fast, and how it is checked.
type Plan struct {
	Shape
	// Rate bounds the spans per second; zero means as fast as they are taken.
	Rate int
	// Duration and Traces end the sending, whichever comes first; zero means no bound by it.
	Duration time.Duration
	Traces   uint64
	// Over is how long ago the first trace ends; those after it end evenly until now. Zero
	// means that each ends when it is sent; ten years are the most.
	Over time.Duration
	// Connections send at once; each request holds about Batch spans.
	Connections, Batch int
	// Probes look at once for what was just sent, to time its visibility.
	Probes int
	// Readers ask for pages and traces while spans are sent, each one request after the other.
	Readers int
	// ReadsBack is how long ago the earliest moment is that they ask for; zero means when the sending began.
	ReadsBack time.Duration
	// Verify is full (read every span back), sample or none; auto is full up to autoVerifySpans.
	Verify string
}

// DefaultPlan is half a minute as fast as it goes.
func DefaultPlan() Plan {
	return Plan{Shape: DefaultShape(), Duration: 30 * time.Second, Connections: 4, Batch: 500, Probes: 2, Verify: "auto"}
}

// maxOver keeps starts after 1970, before which the wire has none.
const maxOver = 10 * 365 * 24 * time.Hour

// Validate names what cannot work.
func (p Plan) Validate() error {
	if err := p.Shape.Validate(); err != nil {
		return err
	}
	switch {
	case p.Rate < 0:
		return errors.New("load: the rate must not be negative")
	case p.Duration <= 0 && p.Traces == 0:
		return errors.New("load: neither a duration nor a number of traces ends it")
	case p.Connections < 1 || p.Batch < 1 || p.Probes < 0 || p.Readers < 0 || p.ReadsBack < 0:
		return errors.New("load: connections and batch must be positive, probes, readers and how far back they read not negative")
	case p.Over < 0 || p.Over > maxOver:
		return fmt.Errorf("load: how long ago the first trace ends must be from 0 to %s", maxOver)
	case !slices.Contains([]string{"auto", "full", "sample", "none"}, p.Verify):
		return errors.New("load: verify must be auto, full, sample or none")
	default:
		return nil
	}
}

// Runner carries a plan out.
type Runner struct {
	plan   Plan
	client *client.Client
	out    io.Writer
	// live tells that out is a terminal, whose last line can be rewritten.
	live bool
	now  func() time.Time
	gen  *Generator

	next                                    atomic.Uint64
	spans, traces, bytes, requests, retries atomic.Int64
	sum                                     atomic.Uint64
	began                                   time.Time
	// met tells that the service has answered something.
	met atomic.Bool

	// fresh hands the latest receipt to a probe; a receipt that no probe waits for is not timed.
	fresh  chan receipt
	tokens client.Tokens

	mu     sync.Mutex
	delays []time.Duration
	kept   []sample
}

type receipt struct {
	token string
	id    string
	at    time.Time
}

// sample is a trace that the check reads back whole.
type sample struct {
	id    string
	spans int
	sum   uint64
}

// maxSamples bounds the traces that a sample checks.
const maxSamples = 400

// NewRunner prepares the traffic.
func NewRunner(plan Plan, c *client.Client, out io.Writer, live bool, now func() time.Time) (*Runner, error) {
	if err := plan.Validate(); err != nil {
		return nil, err
	}
	gen, err := NewGenerator(plan.Shape)
	if err != nil {
		return nil, err
	}
	return &Runner{plan: plan, client: c, out: out, live: live, now: now, gen: gen, fresh: make(chan receipt)}, nil
}

// Run sends, waits until all is visible, and checks. When ctx ends while
// sending, what was sent is still waited for and checked, for maxAfter; a request
// that was not taken by then ends the run with its error. The report tells what
// was measured until then, whatever the error.
func (r *Runner) Run(ctx context.Context) (*Report, error) {
	r.began = r.now()
	after, give := drainContext(ctx, maxAfter)
	defer give()
	watching, stopWatching := context.WithCancel(after)
	var watchers, bar sync.WaitGroup
	bar.Go(func() { r.showProgress(watching) })
	for range r.plan.Probes {
		watchers.Go(func() { r.probe(watching, after) })
	}
	readers := make([]*Reader, r.plan.Readers)
	for number := range readers {
		reader := NewReader(r.client, r.plan.Seed+uint64(number), r.plan.ReadsBack, r.now)
		readers[number] = reader
		watchers.Go(func() {
			for watching.Err() == nil {
				reader.Round(watching, after)
			}
		})
	}
	err := r.send(ctx, after)
	report := &Report{
		Spans: r.spans.Load(), Traces: r.traces.Load(), Bytes: r.bytes.Load(), Requests: r.requests.Load(), Retries: r.retries.Load(),
		Sum: r.sum.Load(), Sending: r.now().Sub(r.began),
	}
	stopWatching()
	bar.Wait()
	if err == nil && report.Requests > 0 { // none: the run was cancelled before its first request
		err = r.awaitVisible(after)
		report.Visible = r.now().Sub(r.began)
	}
	if err != nil {
		give() // nobody waits for an answer that a failed run would not show
	}
	watchers.Wait() // probes under way end with their answer
	if err != nil || report.Requests == 0 {
		return report, err
	}
	slices.Sort(r.delays)
	report.Delays = r.delays
	report.Reads = allTimes(readers)
	report.Verified, err = r.verify(after, report)
	if err != nil && after.Err() != nil {
		err = errors.New("load: ended before everything was checked")
	}
	return report, err
}

// maxAfter is the time for which a cancelled run waits for open requests.
const maxAfter = 10 * time.Second

// drainContext returns a context that ends by after ctx does.
func drainContext(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(by, cancel) })
	return longer, func() { stop(); cancel() }
}

// wait returns after a while, or when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// send sends until the plan is done or ctx ends; requests under way have until after ends.
func (r *Runner) send(ctx, after context.Context) error {
	limiter := rate.NewLimiter(rate.Inf, 0)
	if r.plan.Rate > 0 {
		limiter = rate.NewLimiter(rate.Limit(r.plan.Rate), r.plan.Rate/10+r.plan.Batch)
	}
	group, ctx := errgroup.WithContext(ctx) // what one connection fails at, the others do not go on trying
	making := ctx
	if r.plan.Duration > 0 {
		var stop context.CancelFunc
		making, stop = context.WithTimeout(ctx, r.plan.Duration)
		defer stop()
	}
	for range r.plan.Connections {
		group.Go(func() error {
			return r.sender(making, limiter, func(body []byte, carried string) (client.Accepted, error) {
				return r.deliver(ctx, after, body, carried)
			})
		})
	}
	return group.Wait()
}

// sender makes a request, delivers it, and goes on until ctx ends.
func (r *Runner) sender(ctx context.Context, limiter *rate.Limiter, deliver func(body []byte, carried string) (client.Accepted, error)) error {
	var body []byte
	for ctx.Err() == nil {
		body = body[:0]
		spans, sum, traces := 0, uint64(0), int64(0)
		var last sample
		for spans < r.plan.Batch {
			index := r.next.Add(1) - 1
			if r.plan.Traces > 0 && index >= r.plan.Traces {
				break
			}
			var made Trace
			body, made = r.gen.Append(body, index, r.endOf(index))
			last = sample{made.ID.String(), made.Spans, made.Sum}
			spans, sum, traces = spans+made.Spans, sum+made.Sum, traces+1
		}
		if spans == 0 {
			return nil
		}
		if limiter.Limit() != rate.Inf {
			if err := limiter.WaitN(ctx, min(spans, limiter.Burst())); err != nil {
				return nil //nolint:nilerr // the plan's time is over
			}
		}
		carried := r.tokens.Carry()
		accepted, err := deliver(body, carried)
		if err != nil {
			r.tokens.Add(carried)
			return err
		}
		if accepted.Count != spans {
			return fmt.Errorf("load: %d spans were sent and %d accepted", spans, accepted.Count)
		}
		r.spans.Add(int64(spans))
		r.traces.Add(traces)
		r.bytes.Add(int64(len(body)))
		r.sum.Add(sum)
		if r.requests.Add(1)%8 == 1 {
			r.keep(last)
		}
		r.tokens.Add(accepted.Token)
		if carried != "" {
			continue // its token names other writes as well, which a probe must not wait for
		}
		select {
		case r.fresh <- receipt{accepted.Token, last.id, r.now()}:
		default:
		}
	}
	return nil
}

// endOf is when a trace ends: now, or as far before now as there is still to send.
func (r *Runner) endOf(index uint64) time.Time {
	now := r.now()
	left := 1 - r.done(now.Sub(r.began), index)
	return now.Add(-time.Duration(max(left, 0) * float64(r.plan.Over)))
}

// done is how much of the plan is, by time or by traces, whichever is further.
func (r *Runner) done(after time.Duration, traces uint64) float64 {
	part := 0.0
	if r.plan.Duration > 0 {
		part = after.Seconds() / r.plan.Duration.Seconds()
	}
	if r.plan.Traces > 0 {
		part = max(part, float64(traces)/float64(r.plan.Traces))
	}
	return part
}

const (
	// maxAttempts and maxRetrying end a run whose service takes nothing any more, whichever comes first.
	maxAttempts = 300
	maxRetrying = 5 * time.Minute
	// maxUnmet ends a run whose service never answered anything: its address is wrong.
	maxUnmet = 2 * time.Second
)

// deliver sends one request again and again until it is taken: the same bytes,
// as a client's retry is. What it began it ends, though the plan's time be over;
// when ctx ends, the attempt under way is the last, and has until after ends.
func (r *Runner) deliver(ctx, after context.Context, body []byte, carried string) (client.Accepted, error) {
	began := r.now()
	for attempt := 0; ; attempt++ {
		accepted, err := r.client.Send(after, body, carried)
		if err == nil {
			r.met.Store(true)
			return accepted, nil
		}
		status, answered := errors.AsType[*client.StatusError](err)
		if answered {
			r.met.Store(true)
		}
		tried := r.now().Sub(began)
		switch {
		case answered && !status.Temporary(), attempt == maxAttempts, tried >= maxRetrying:
			return accepted, err
		case !r.met.Load() && tried >= maxUnmet:
			return accepted, fmt.Errorf("load: the service was never reached: %w", err)
		}
		pause := time.Second
		if answered {
			pause = max(status.RetryAfter, 100*time.Millisecond)
		}
		if wait(ctx, pause); ctx.Err() != nil {
			return accepted, fmt.Errorf("load: ended with a request that was not taken: %w", err)
		}
		r.retries.Add(1)
	}
}

func (r *Runner) keep(s sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.kept) < maxSamples {
		r.kept = append(r.kept, s)
		return
	}
	// Overwrite in turn, so that late traces are in the sample as well.
	r.kept[int(r.requests.Load()/8)%maxSamples] = s
}

// probe times how long it takes until a query shows what a receipt promised.
func (r *Runner) probe(ctx, after context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case fresh := <-r.fresh:
			delay, ok := r.timeToVisible(after, fresh)
			if ok {
				r.mu.Lock()
				r.delays = append(r.delays, delay)
				r.mu.Unlock()
			}
		}
	}
}

func (r *Runner) timeToVisible(ctx context.Context, fresh receipt) (time.Duration, bool) {
	query := map[string]any{
		"filtering": map[string]any{"conditions": []any{map[string]any{"field": "trace_id", "operator": "is", "value": fresh.id}}},
		"windowing": map[string]any{"limit": 1},
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		var reply struct {
			Count int `json:"count"`
		}
		pending, err := r.client.Query(ctx, "/spans/query", query, fresh.token, &reply)
		if err == nil && pending == "" && reply.Count > 0 {
			return r.now().Sub(fresh.at), true
		}
		if err != nil {
			wait(ctx, afterFailure)
		}
	}
	return 0, false
}

// awaitVisible waits until every position that a receipt named can be read, or ctx ends.
func (r *Runner) awaitVisible(ctx context.Context) error {
	deadline := r.now().Add(10 * time.Minute)
	query := map[string]any{"windowing": map[string]any{"limit": 1}}
	for tokens := r.tokens.All(); len(tokens) > 0; {
		var reply struct{}
		pending, err := r.client.Query(ctx, "/spans/query", query, tokens[0], &reply)
		if err == nil && pending == "" {
			tokens = tokens[1:]
			continue
		}
		if r.now().After(deadline) {
			return errors.Join(errors.New("load: after 10 minutes some writes are not visible"), err)
		}
		if ctx.Err() != nil {
			return errors.Join(errors.New("load: ended before everything was visible"), err)
		}
		r.show("waiting until everything is visible ...")
		if err != nil {
			wait(ctx, time.Second)
		}
	}
	return nil
}

func (r *Runner) showProgress(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var before int64
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			spans := r.spans.Load()
			r.show("%s %8d spans  %7d/s  %6.1f MB  %d retries", r.bar(r.now().Sub(r.began)), spans, spans-before, float64(r.bytes.Load())/1e6, r.retries.Load())
			before = spans
		}
	}
}

// show rewrites the last line of a terminal; elsewhere it prints one.
func (r *Runner) show(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if r.live {
		_, _ = fmt.Fprintf(r.out, "\r%-78s", line)
		return
	}
	_, _ = fmt.Fprintln(r.out, line)
}

// bar shows how much of the plan is done.
func (r *Runner) bar(after time.Duration) string {
	const width = 24
	full := min(int(r.done(after, uint64(r.traces.Load()))*width), width) //nolint:gosec // a count of traces is not negative
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "]"
}
