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
	// field and value are the condition; no field for none. The value of content is a word, another one each time.
	field string
	value any
	// anyMoment begins the page at any moment, not now.
	anyMoment bool
	// seen is a trace of the page, for the read below that asks for it; nil for nobody.
	seen func(*reader) *string
}

func reads() []read {
	ofAnyMoment, latest := func(r *reader) *string { return &r.anyTrace }, func(r *reader) *string { return &r.latestTrace }
	return []read{
		{name: "latest 50 spans", path: spansPath},
		{name: "50 spans at any moment", path: spansPath, anyMoment: true, seen: ofAnyMoment},
		{name: "50 roots at any moment", path: spansPath, field: "parent_id", anyMoment: true},
		{name: "latest 50 roots", path: spansPath, field: "parent_id", seen: latest},
		{name: "latest 50 errors", path: spansPath, field: "status_code", value: "STATUS_CODE_ERROR"},
		{name: "latest 50 annotations", path: spansPath, field: "trace_type", value: "annotation"},
		{name: "latest 50 traces", path: tracesPath},
		{name: "50 spans with a word", path: spansPath, field: "content"},
		{name: "a trace of any moment", seen: ofAnyMoment},
		{name: "a trace of the last seconds", seen: latest},
	}
}

// reader asks one round of reads after the other, as the pages of somebody who looks around do.
type reader struct {
	*Runner
	rand  *rand.Rand
	words []string
	// anyTrace and latestTrace are traces that were seen in this round; empty for none.
	anyTrace, latestTrace string
}

// read asks until ctx ends; a request that is under way ends with its answer.
func (r *Runner) read(ctx context.Context, number int) {
	reader := &reader{
		Runner: r, rand: rand.New(rand.NewPCG(r.plan.Seed, uint64(number))), //nolint:gosec // repeatable on purpose
		words: slices.DeleteFunc(strings.Fields(vocabulary), func(w string) bool { return len(w) < usualWord }),
	}
	for ctx.Err() == nil {
		reader.anyTrace, reader.latestTrace = "", ""
		for i, read := range reads() {
			if ctx.Err() == nil {
				reader.ask(context.WithoutCancel(ctx), i, &read)
			}
		}
	}
}

// ask times one read. A page that cannot be read has failed, whatever its status.
func (r *reader) ask(ctx context.Context, i int, read *read) {
	method, path, body := http.MethodPost, read.path, []byte(nil)
	if path == "" {
		id := *read.seen(r)
		if id == "" {
			return // there is nothing yet to ask for
		}
		method, path = http.MethodGet, "/traces/"+id
	} else {
		body = r.page(read)
	}
	began := r.now()
	reply, err := r.client.Do(ctx, method, path, "application/json", body)
	took := r.now().Sub(began)
	if err == nil && read.path != "" && read.seen != nil {
		*read.seen(r), err = r.oneOf(reply.Body)
	}
	if r.timed(i, took, err); err != nil {
		time.Sleep(afterFailure)
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

// page is the body that asks for a page.
func (r *reader) page(read *read) []byte {
	list, where := map[string]any{"limit": 50}, []any{}
	if read.anyMoment {
		back := r.now().Sub(r.began)
		if r.plan.ReadsBack > 0 {
			back = r.plan.ReadsBack
		}
		list["newest"] = r.now().Add(-time.Duration(r.rand.Float64() * float64(back))).UTC().Format(time.RFC3339Nano)
	}
	switch read.field {
	case "":
	case "content":
		where = append(where, map[string]any{"field": read.field, "operator": "contains", "value": r.words[r.rand.IntN(len(r.words))]})
	default:
		where = append(where, map[string]any{"field": read.field, "operator": "is", "value": read.value})
	}
	body, _ := json.Marshal(map[string]any{"windowing": list, "filtering": map[string]any{"conditions": where}}) // strings and numbers always do
	return body
}

// oneOf is the trace of one of a page's spans; empty for a page of none.
func (r *reader) oneOf(page []byte) (string, error) {
	var of struct {
		Spans []struct {
			TraceID string `json:"trace_id"`
		} `json:"spans"`
	}
	if err := json.Unmarshal(page, &of); err != nil || len(of.Spans) == 0 {
		return "", err
	}
	return of.Spans[r.rand.IntN(len(of.Spans))].TraceID, nil
}

// percentile of times in ascending order, 0..1; zero for none.
func percentile(times []time.Duration, p float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	return times[min(int(p*float64(len(times))), len(times)-1)]
}
