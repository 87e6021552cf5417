package load

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"
)

// ReadTimes are how long a read took each time, ascending, to the last byte of its reply.
type ReadTimes struct {
	Name string
	Took []time.Duration
	// Failed is how often it was answered with an error, whose last one is Err.
	Failed int
	Err    error
}

// At is a percentile of the times, 0..1; zero where none was taken.
func (t *ReadTimes) At(p float64) time.Duration { return percentile(t.Took, p) }

const (
	spansPath, tracesPath = "/spans/query", "/traces/query"
	// usualWord is how long the words are that are looked for: "or" is none to a search.
	usualWord = 5
	// afterFailure is how long a reader waits when it was answered with an error.
	afterFailure = 100 * time.Millisecond
)

// read is one of the requests of a round: a page of 50, or a trace of a page before it.
type read struct {
	name, path string
	// where gives the condition, nil where there is nothing yet to ask for; a read without it has none.
	where func(*reader) condition
	// anyMoment begins the page at any moment, not now.
	anyMoment bool
	// seen is a span of the page, for the reads below that ask for what it is of; nil for nobody.
	seen func(*reader) *seen
}

// seen is a span of a page: the reads after it ask for its trace and its session; empty for none.
type seen struct {
	TraceID   string `json:"trace_id"`
	SessionID string `json:"session_id"`
}

func reads() []read {
	ofAnyMoment, latest := func(r *reader) *seen { return &r.anySpan }, func(r *reader) *seen { return &r.latestSpan }
	return []read{
		{name: "latest 50 spans", path: spansPath},
		{name: "50 spans at any moment", path: spansPath, anyMoment: true, seen: ofAnyMoment},
		{name: "50 roots at any moment", path: spansPath, where: is("parent_id", nil), anyMoment: true},
		{name: "latest 50 roots", path: spansPath, where: is("parent_id", nil), seen: latest},
		{name: "latest 50 errors", path: spansPath, where: is("status_code", "STATUS_CODE_ERROR")},
		{name: "latest 50 annotations", path: spansPath, where: is("trace_type", "annotation")},
		{name: "latest 50 traces", path: tracesPath},
		{name: "50 traces at any moment", path: tracesPath, anyMoment: true},
		{name: "50 calls of a model at any moment", path: spansPath, where: ofAModel, anyMoment: true},
		{name: "50 low scores at any moment", path: spansPath, where: lowScore, anyMoment: true},
		{name: "50 spans of an evaluator at any moment", path: spansPath, where: ofAnEvaluator, anyMoment: true},
		{name: "spans of a session", path: spansPath, where: ofASession},
		{name: "50 spans with a word", path: spansPath, where: withAWord},
		{name: "a trace of any moment", seen: ofAnyMoment},
		{name: "a trace of the last seconds", seen: latest},
	}
}

// condition is one of a filter, as contract §3.2 has it.
type condition map[string]any

func is(field string, value any) func(*reader) condition {
	return func(*reader) condition { return condition{"field": field, "operator": "is", "value": value} }
}

// ofAModel looks for a text that many spans have, and no column holds.
func ofAModel(r *reader) condition {
	return condition{"field": "attributes", "key": "ag.meta.response.model", "operator": "is", "value": oneOf(r.rand, models())}
}

// lowScore looks for a number that no column holds.
func lowScore(*reader) condition {
	return condition{"field": "attributes", "key": "ag.data.outputs.score", "operator": "lt", "value": 0.3}
}

func ofAnEvaluator(r *reader) condition {
	return condition{"field": "references", "operator": "in", "value": []any{map[string]any{"slug": oneOf(r.rand, evaluators())}}}
}

func ofASession(r *reader) condition {
	if r.latestSpan.SessionID == "" {
		return nil
	}
	return condition{"field": "session_id", "operator": "is", "value": r.latestSpan.SessionID}
}

// withAWord looks for a word, another one each time.
func withAWord(r *reader) condition {
	return condition{"field": "content", "operator": "contains", "value": oneOf(r.rand, r.words)}
}

func oneOf[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

// reader asks one round of reads after the other, as the pages of somebody who looks around do.
type reader struct {
	*Runner
	rand  *rand.Rand
	words []string
	// anySpan and latestSpan were seen in this round.
	anySpan, latestSpan seen
}

// read asks until ctx ends; a request that is under way ends with its answer, or when after ends.
func (r *Runner) read(ctx, after context.Context, number int) {
	reader := &reader{
		Runner: r, rand: rand.New(rand.NewPCG(r.plan.Seed, uint64(number))), //nolint:gosec // repeatable on purpose
		words: slices.DeleteFunc(strings.Fields(vocabulary), func(w string) bool { return len(w) < usualWord }),
	}
	for ctx.Err() == nil {
		reader.anySpan, reader.latestSpan = seen{}, seen{}
		for i, read := range reads() {
			if ctx.Err() == nil {
				reader.ask(after, i, &read)
			}
		}
	}
}

// ask times one read. A page that cannot be read has failed, whatever its status.
func (r *reader) ask(ctx context.Context, i int, read *read) {
	method, path, body := http.MethodPost, read.path, []byte(nil)
	if path == "" {
		id := read.seen(r).TraceID
		if id == "" {
			return // there is nothing yet to ask for
		}
		method, path = http.MethodGet, "/traces/"+id
	} else if body = r.page(read); body == nil {
		return
	}
	began := r.now()
	reply, err := r.client.Do(ctx, method, path, "application/json", body)
	took := r.now().Sub(began)
	if err == nil && read.path != "" && read.seen != nil {
		*read.seen(r), err = r.spanOf(reply.Body)
	}
	if r.timed(i, took, err); err != nil {
		wait(ctx, afterFailure)
	}
}

func (r *Runner) timed(i int, took time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if of := &r.reads[i]; err != nil {
		of.Failed, of.Err = of.Failed+1, err
	} else {
		of.Took = append(of.Took, took)
	}
}

// page is the body that asks for a page; nil where there is nothing yet to ask for.
func (r *reader) page(read *read) []byte {
	list, where := map[string]any{"limit": 50}, []any{}
	if read.anyMoment {
		back := r.now().Sub(r.began)
		if r.plan.ReadsBack > 0 {
			back = r.plan.ReadsBack
		}
		list["newest"] = r.now().Add(-time.Duration(r.rand.Float64() * float64(back))).UTC().Format(time.RFC3339Nano)
	}
	if read.where != nil {
		one := read.where(r)
		if one == nil {
			return nil
		}
		where = append(where, one)
	}
	body, _ := json.Marshal(map[string]any{"windowing": list, "filtering": map[string]any{"conditions": where}}) // strings and numbers always do
	return body
}

// spanOf is one of a page's spans; empty for a page of none.
func (r *reader) spanOf(page []byte) (seen, error) {
	var of struct {
		Spans []seen `json:"spans"`
	}
	if err := json.Unmarshal(page, &of); err != nil || len(of.Spans) == 0 {
		return seen{}, err
	}
	return oneOf(r.rand, of.Spans), nil
}

// percentile of times in ascending order, 0..1; zero for none.
func percentile(times []time.Duration, p float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	return times[min(int(p*float64(len(times))), len(times)-1)]
}
