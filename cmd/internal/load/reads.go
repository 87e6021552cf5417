package load

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"colonnade/cmd/internal/client"
)

// ReadTimes are the times of one read, each to the last byte of its reply.
type ReadTimes struct {
	Name string
	Took []time.Duration
	// Failed counts the replies that were errors; Err is the last of them.
	Failed int
	Err    error
}

// At returns a percentile of ascending times, 0..1; zero for none.
func (t *ReadTimes) At(p float64) time.Duration { return percentile(t.Took, p) }

const (
	spansPath, tracesPath = "/spans/query", "/traces/query"
	// usualWord is the least length of a word that is searched for: nobody searches for "or".
	usualWord = 5
	// afterFailure is the pause after an error.
	afterFailure = 100 * time.Millisecond
)

// read is one of the requests of a round: a page of 50, or a trace of a page before it.
type read struct {
	name, path string
	// where returns the condition, nil if the round saw nothing yet to ask for; a read without where has no condition.
	where func(*Reader) condition
	// anyMoment begins the page at a random moment and not now.
	anyMoment bool
	// seen returns the field that keeps a span of the page for later reads of the round; nil if none needs it.
	seen func(*Reader) *seen
}

// seen is a span of a page, whose trace and session later reads ask for; empty for none.
type seen struct {
	TraceID   string `json:"trace_id"`
	SessionID string `json:"session_id"`
}

func reads() []read {
	ofAnyMoment, latest := func(r *Reader) *seen { return &r.anySpan }, func(r *Reader) *seen { return &r.latestSpan }
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

// condition is one condition of a filter.
type condition map[string]any

func is(field string, value any) func(*Reader) condition {
	return func(*Reader) condition { return condition{"field": field, "operator": "is", "value": value} }
}

// ofAModel filters by a string that many spans have and that has no column of its own.
func ofAModel(r *Reader) condition {
	return condition{"field": "attributes", "key": "ag.meta.response.model", "operator": "is", "value": oneOf(r.rand, models())}
}

// lowScore filters by a number that has no column of its own.
func lowScore(*Reader) condition {
	return condition{"field": "attributes", "key": "ag.data.outputs.score", "operator": "lt", "value": 0.3}
}

func ofAnEvaluator(r *Reader) condition {
	return condition{"field": "references", "operator": "in", "value": []any{map[string]any{"slug": oneOf(r.rand, evaluators())}}}
}

func ofASession(r *Reader) condition {
	if r.latestSpan.SessionID == "" {
		return nil
	}
	return condition{"field": "session_id", "operator": "is", "value": r.latestSpan.SessionID}
}

// withAWord searches the payloads for a word, another one each time.
func withAWord(r *Reader) condition {
	return condition{"field": "content", "operator": "contains", "value": oneOf(r.rand, r.words)}
}

func oneOf[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

// Reader asks rounds of reads, as the pages of a person who looks around do,
// and times each. It is not safe for concurrent use.
type Reader struct {
	client *client.Client
	now    func() time.Time
	began  time.Time
	back   time.Duration
	rand   *rand.Rand
	words  []string
	// anySpan and latestSpan were seen in this round.
	anySpan, latestSpan seen
	times               []ReadTimes
}

// NewReader returns a reader of one service. The seed decides what is asked
// for; back is how long ago the earliest moment
// is that it asks for, zero for the moment of this call.
func NewReader(c *client.Client, seed uint64, back time.Duration, now func() time.Time) *Reader {
	r := &Reader{
		client: c, now: now, began: now(), back: back,
		rand:  rand.New(rand.NewPCG(seed, 0)), //nolint:gosec // repeatable on purpose
		words: slices.DeleteFunc(strings.Fields(vocabulary), func(w string) bool { return len(w) < usualWord }),
	}
	for _, read := range reads() {
		r.times = append(r.times, ReadTimes{Name: read.name})
	}
	return r
}

// Round asks every read once, or only the reads of these names and those whose
// answers they need. A request that is under way when ctx ends is finished,
// unless after ends as well.
func (r *Reader) Round(ctx, after context.Context, names ...string) {
	r.anySpan, r.latestSpan = seen{}, seen{}
	for i, read := range reads() {
		wanted := len(names) == 0 || slices.Contains(names, read.name) || read.path != "" && read.seen != nil
		if wanted && ctx.Err() == nil {
			r.ask(after, i, &read)
		}
	}
}

// Times returns what was measured, in the order of a round and each ascending.
func (r *Reader) Times() []ReadTimes {
	times := slices.Clone(r.times)
	for i := range times {
		times[i].Took = slices.Sorted(slices.Values(times[i].Took))
	}
	return times
}

// ask times one read. A page that cannot be read has failed, whatever its status.
func (r *Reader) ask(ctx context.Context, i int, read *read) {
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
	of := &r.times[i]
	if err != nil {
		of.Failed, of.Err = of.Failed+1, err
		wait(ctx, afterFailure)
		return
	}
	of.Took = append(of.Took, took)
}

// page returns the body that asks for a page; nil if the round saw nothing yet to ask for.
func (r *Reader) page(read *read) []byte {
	list, where := map[string]any{"limit": 50}, []any{}
	if read.anyMoment {
		back := r.back
		if back == 0 {
			back = r.now().Sub(r.began)
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

// spanOf returns one of a page's spans; empty for a page of none.
func (r *Reader) spanOf(page []byte) (seen, error) {
	var of struct {
		Spans []seen `json:"spans"`
	}
	if err := json.Unmarshal(page, &of); err != nil || len(of.Spans) == 0 {
		return seen{}, err
	}
	return oneOf(r.rand, of.Spans), nil
}

// allTimes returns the times of all readers together; nil without a reader.
func allTimes(readers []*Reader) []ReadTimes {
	var all []ReadTimes
	for _, reader := range readers {
		for i, one := range reader.Times() {
			if i == len(all) {
				all = append(all, ReadTimes{Name: one.Name})
			}
			all[i].Took = slices.Sorted(slices.Values(append(all[i].Took, one.Took...)))
			all[i].Failed += one.Failed
			if one.Err != nil {
				all[i].Err = one.Err
			}
		}
	}
	return all
}

// percentile returns a percentile, 0..1, of times in ascending order; zero for none.
func percentile(times []time.Duration, p float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	return times[min(int(p*float64(len(times))), len(times)-1)]
}
