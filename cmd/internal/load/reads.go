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

// reads are the requests of a round, by name, in their order.
func reads() []string {
	return []string{
		latestSpans, "50 spans at any moment", "50 roots at any moment", latestRoots, "latest 50 errors", "latest 50 annotations",
		"latest 50 traces", "50 spans with a word", anyTrace, latestTrace,
	}
}

// The reads that others take their trace from, and those that take it.
const (
	latestSpans = "latest 50 spans"
	latestRoots = "latest 50 roots"
	anyTrace    = "a trace of any moment"
	latestTrace = "a trace of the last seconds"
)

// usualWord is how long the words are that are looked for: "or" is none to a search.
const usualWord = 5

// reader asks one round of reads after the other, as the pages of somebody who looks around do.
type reader struct {
	*Runner
	rand *rand.Rand
	// any and latest are traces that were seen in this round; empty for none.
	any, latest string
}

// read asks until ctx ends; a request that is under way ends with its answer.
func (r *Runner) read(ctx context.Context, number int) {
	reader := &reader{Runner: r, rand: rand.New(rand.NewPCG(r.plan.Seed, uint64(number)))} //nolint:gosec // repeatable on purpose
	for ctx.Err() == nil {
		reader.any, reader.latest = "", ""
		for i, name := range reads() {
			method, path, body := reader.request(name)
			if path == "" {
				continue
			}
			began := r.now()
			reply, err := r.client.Do(context.WithoutCancel(ctx), method, path, "application/json", body)
			r.timed(i, r.now().Sub(began), err)
			reader.look(name, reply.Body)
			if ctx.Err() != nil {
				return
			}
		}
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

// request gives what a read asks; no path where nothing is known to ask for.
func (r *reader) request(name string) (method, path string, body []byte) {
	switch name {
	case anyTrace, latestTrace:
		id := r.any
		if name == latestTrace {
			id = r.latest
		}
		if id == "" {
			return "", "", nil
		}
		return http.MethodGet, "/traces/" + id, nil
	}
	path, list := "/spans/query", map[string]any{"limit": 50}
	var where []any
	is := func(field string, value any) {
		where = append(where, map[string]any{"field": field, "operator": "is", "value": value})
	}
	if strings.HasSuffix(name, "at any moment") {
		back := r.now().Sub(r.began)
		if r.plan.ReadsBack > 0 {
			back = r.plan.ReadsBack
		}
		list["newest"] = r.now().Add(-time.Duration(r.rand.Float64() * float64(back))).UTC().Format(time.RFC3339Nano)
	}
	switch {
	case strings.Contains(name, "roots"):
		is("parent_id", nil)
	case strings.Contains(name, "errors"):
		is("status_code", "STATUS_CODE_ERROR")
	case strings.Contains(name, "annotations"):
		is("trace_type", "annotation")
	case strings.Contains(name, "word"):
		words := slices.DeleteFunc(strings.Fields(vocabulary), func(w string) bool { return len(w) < usualWord })
		where = append(where, map[string]any{"field": "content", "operator": "contains", "value": words[r.rand.IntN(len(words))]})
	case strings.Contains(name, "traces"):
		path = "/traces/query"
	}
	body, _ = json.Marshal(map[string]any{"windowing": list, "filtering": map[string]any{"conditions": where}}) // strings and numbers always do
	return http.MethodPost, path, body
}

// look takes from a page the traces that are asked for next.
func (r *reader) look(name string, reply []byte) {
	var page struct {
		Spans []struct {
			TraceID string `json:"trace_id"`
		} `json:"spans"`
	}
	if !strings.HasPrefix(name, "50 spans at") && name != latestRoots || json.Unmarshal(reply, &page) != nil || len(page.Spans) == 0 {
		return
	}
	id := page.Spans[r.rand.IntN(len(page.Spans))].TraceID
	if name == latestRoots {
		r.latest = id
	} else {
		r.any = id
	}
}

// percentile of times in ascending order, 0..1; zero for none.
func percentile(times []time.Duration, p float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	return times[min(int(p*float64(len(times))), len(times)-1)]
}
