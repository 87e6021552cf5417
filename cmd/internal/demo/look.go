package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"colonnade/cmd/internal/client"
)

// findings are what the queries returned.
type findings struct {
	runs, annotations int
	products          map[string]*productRow
	evaluators        map[string]*evaluatorRow
}

type productRow struct {
	runs, errors            int
	seconds, tokens, dollar float64
}

type evaluatorRow struct {
	count int
	score float64
}

// span is what of a reply the table needs.
type span struct {
	Name       string    `json:"span_name"`
	Status     string    `json:"status_code"`
	Start      time.Time `json:"start_time"`
	End        time.Time `json:"end_time"`
	Attributes struct {
		AG struct {
			Data struct {
				Outputs struct {
					Score float64 `json:"score"`
				} `json:"outputs"`
			} `json:"data"`
			Metrics struct {
				Tokens struct {
					Cumulative struct {
						Total float64 `json:"total"`
					} `json:"cumulative"`
				} `json:"tokens"`
				Costs struct {
					Cumulative struct {
						Total float64 `json:"total"`
					} `json:"cumulative"`
				} `json:"costs"`
			} `json:"metrics"`
		} `json:"ag"`
	} `json:"attributes"`
}

func is(field, key, value any) map[string]any {
	c := map[string]any{"field": field, "operator": "is", "value": value}
	if key != nil {
		c["key"] = key
	}
	return c
}

// look reads the root spans of this demo's runs and all its annotations.
func look(ctx context.Context, c *client.Client, run string, tokens []string, until time.Time, now func() time.Time) (*findings, error) {
	f := &findings{products: map[string]*productRow{}, evaluators: map[string]*evaluatorRow{}}
	mine := is("attributes", "ag.tags.demo", run)
	runs, err := pages(ctx, c, tokens, until, now, mine, is("trace_type", nil, "invocation"), is("parent_id", nil, nil))
	if err != nil {
		return nil, err
	}
	for i := range runs {
		f.addRun(&runs[i])
	}
	notes, err := pages(ctx, c, tokens, until, now, mine, is("trace_type", nil, "annotation"))
	if err != nil {
		return nil, err
	}
	for i := range notes {
		f.annotations++
		row := f.evaluators[notes[i].Name]
		if row == nil {
			row = &evaluatorRow{}
			f.evaluators[notes[i].Name] = row
		}
		row.count++
		row.score += notes[i].Attributes.AG.Data.Outputs.Score
	}
	return f, nil
}

func (f *findings) addRun(s *span) {
	f.runs++
	row := f.products[s.Name]
	if row == nil {
		row = &productRow{}
		f.products[s.Name] = row
	}
	row.runs++
	if s.Status == "STATUS_CODE_ERROR" {
		row.errors++
	}
	row.seconds += s.End.Sub(s.Start).Seconds()
	row.tokens += s.Attributes.AG.Metrics.Tokens.Cumulative.Total
	row.dollar += s.Attributes.AG.Metrics.Costs.Cumulative.Total
}

// pages walks all pages of a query. The tokens make the first page wait for
// what was sent; while some of it is pending, the page is asked for again.
func pages(ctx context.Context, c *client.Client, tokens []string, until time.Time, now func() time.Time, conditions ...map[string]any) ([]span, error) {
	var all []span
	window := map[string]any{"limit": 100}
	query := map[string]any{"filtering": map[string]any{"operator": "and", "conditions": conditions}, "windowing": window}
	for {
		var reply struct {
			Spans     []span `json:"spans"`
			Windowing struct {
				Next string `json:"next"`
			} `json:"windowing"`
		}
		token := ""
		if len(tokens) > 0 {
			token = tokens[0]
		}
		pending, err := c.Query(ctx, "/api/spans/query", query, token, &reply)
		if err != nil {
			return nil, err
		}
		if pending != "" && now().After(until) {
			return nil, errors.New("demo: what was sent is not visible yet: look at /status")
		}
		if pending == "" && len(tokens) > 0 {
			tokens = tokens[1:]
		}
		if pending != "" || len(tokens) > 0 {
			continue
		}
		all = append(all, reply.Spans...)
		if reply.Windowing.Next == "" {
			return all, nil
		}
		window["next"] = reply.Windowing.Next
	}
}

func (f *findings) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "application\truns\terrors\tavg seconds\ttokens\tcost\t")
	byRuns := func(a, b string) int { return cmp.Compare(f.products[b].runs, f.products[a].runs) }
	for _, name := range slices.SortedFunc(maps.Keys(f.products), byRuns) {
		r := f.products[name]
		_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%.2f\t%.0f\t$%.4f\t\n", name, r.runs, r.errors, r.seconds/float64(r.runs), r.tokens, r.dollar)
	}
	_, _ = fmt.Fprintln(w, "\t\t\t\t\t\t\nevaluator\tscores\taverage\t\t\t\t")
	for _, name := range slices.Sorted(maps.Keys(f.evaluators)) {
		r := f.evaluators[name]
		_, _ = fmt.Fprintf(w, "%s\t%d\t%.2f\t\t\t\t\n", name, r.count, r.score/float64(r.count))
	}
	_ = w.Flush() // the terminal is gone when this fails
}

func whereNext(out io.Writer, plan Plan, traceID string) {
	const header = `-H "Authorization: ApiKey $COLONNADE_API_KEY" -H 'Content-Type: application/json'`
	key := "your API key"
	if plan.KeyFile != "" {
		key = "$(cat '" + plan.KeyFile + "')"
	}
	_, _ = fmt.Fprintf(out, `
Where to look next:

  first, the key
    export COLONNADE_API_KEY="%[4]s"

  one trace as a tree
    curl -sS %[1]s/api/traces/%[2]s %[3]s

  the latest runs that failed
    curl -sS %[1]s/api/traces/query %[3]s -d '{"filtering":{"conditions":[{"field":"status_code","value":"STATUS_CODE_ERROR"}]},"windowing":{"limit":5}}'

  annotations that scored low
    curl -sS %[1]s/api/spans/query %[3]s -d '{"filtering":{"conditions":[{"field":"trace_type","value":"annotation"},{"field":"attributes","key":"ag.data.outputs.score","operator":"lt","value":0.3}]}}'

  health and lag
    curl -sS %[1]s/status %[3]s
`, plan.BaseURL, traceID, header, key)
}
