package analytics

import (
	"context"
	"slices"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/semconv"
	"colonnade/domain/trace"
	"colonnade/read/analyticssql"
)

const (
	// maxPaths bounds how many different outputs are measured.
	maxPaths = 1000
	// maxCategories is how many different texts an output may have before they
	// are no categories but prose, which is only counted.
	maxCategories = 100
)

// Evaluated says of which traces metrics are made, and of what in them.
type Evaluated struct {
	Traces []trace.TraceID
	// Outputs takes the outputs of the roots as well, path by path; Schema is
	// their JSON Schema, nil where there is none.
	Outputs bool
	Schema  any
}

// Evaluate makes metrics of the roots of some traces, for each of several lots
// of them, as a question with one bucket would: durations, errors, costs and
// tokens of whole traces and, where they are asked for, outputs. Each trace is
// read once; those that do not exist count as nothing. Source: contract §3.6, §5.8.
func (r *Reader) Evaluate(ctx context.Context, project domain.ProjectID, lots []Evaluated) ([]map[string]Metric, error) {
	e := evaluation{reader: r, project: project, tallies: make([]tally, len(lots)), of: map[trace.TraceID][]*tally{}}
	var all []trace.TraceID
	for i, lot := range lots {
		e.tallies[i] = newTally(lot, r.cfg.MaxDistinct)
		all = append(all, lot.Traces...)
		for _, id := range unique(slices.Clone(lot.Traces)) {
			e.of[id] = append(e.of[id], &e.tallies[i])
		}
	}
	for ids := range slices.Chunk(unique(all), tracesAtOnce) {
		if err := e.read(ctx, ids); err != nil {
			return nil, err
		}
	}
	out := make([]map[string]Metric, len(lots))
	for i := range e.tallies {
		out[i] = e.tallies[i].metrics()
	}
	return out, nil
}

// evaluation reads traces for several tallies.
type evaluation struct {
	reader  *Reader
	project domain.ProjectID
	tallies []tally
	of      map[trace.TraceID][]*tally
}

// read takes the roots of some traces.
func (e *evaluation) read(ctx context.Context, ids []trace.TraceID) error {
	return e.reader.roots(ctx, e.project, ids, func(root *trace.Span) error {
		for _, t := range e.of[root.TraceID] {
			if err := t.take(root); err != nil {
				return err
			}
		}
		return nil
	})
}

// Roots calls each with every root of the traces that exist, in no particular order. Roots
// have their payloads and the metrics of the whole trace.
func (r *Reader) Roots(ctx context.Context, project domain.ProjectID, ids []trace.TraceID, each func(root *trace.Span) error) error {
	for some := range slices.Chunk(unique(slices.Clone(ids)), tracesAtOnce) {
		if err := r.roots(ctx, project, some, each); err != nil {
			return err
		}
	}
	return nil
}

// roots is Roots for so many traces as are read at once.
func (r *Reader) roots(ctx context.Context, project domain.ProjectID, ids []trace.TraceID, each func(root *trace.Span) error) error {
	c := &collection{reader: r, project: project}
	roots, err := c.rootsOf(ctx, ids)
	if err != nil {
		return err
	}
	for chunk := range slices.Chunk(roots, documentsAtOnce) {
		wanted := map[identity]bool{}
		traces, spans := make([]trace.TraceID, len(chunk)), make([]trace.SpanID, len(chunk))
		for i, id := range chunk {
			wanted[id], traces[i], spans[i] = true, id.trace, id.span
		}
		found, err := r.traces.SpansByID(ctx, project, unique(traces), unique(spans))
		if err != nil {
			return err
		}
		for i := range found {
			if !wanted[identity{found[i].TraceID, found[i].SpanID}] {
				continue // the same span id in another one of the traces
			}
			if err := each(&found[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// rootsOf gives the spans without parent of traces.
func (c *collection) rootsOf(ctx context.Context, ids []trace.TraceID) ([]identity, error) {
	spans, err := c.metricsOf(ctx, ids)
	var roots []identity
	for id, s := range spans {
		if s.Parent.IsZero() {
			roots = append(roots, id)
		}
	}
	return roots, err
}

// tally gathers what spans hold at the paths of specs.
type tally struct {
	of      Evaluated
	limit   int
	columns []column
	// known are the paths of outputs that have a column.
	known map[string]bool
}

// column is a spec with what was gathered for it.
type column struct {
	Spec
	of       []analyticssql.Measure
	gathered []gathered
}

func newTally(of Evaluated, limit int) tally {
	t := tally{of: of, limit: limit, known: map[string]bool{}}
	for _, s := range DefaultSpecs() {
		if s.Type == Continuous {
			t.add(s)
		}
	}
	return t
}

func (t *tally) add(s Spec) {
	of := s.measures()
	t.columns = append(t.columns, column{s, of, make([]gathered, len(of))})
}

func (t *tally) take(s *trace.Span) error {
	keys := []string{semconv.Root, semconv.Data, semconv.Outputs}
	if outputs, ok := jsonvalue.Lookup(s.Attributes, keys); ok && t.of.Outputs {
		if err := t.discover(outputs, keys, t.of.Schema); err != nil {
			return err
		}
	}
	for i := range t.columns {
		if err := t.columns[i].take(s, t.limit); err != nil {
			return err
		}
	}
	return nil
}

// discover adds columns for the leaves of outputs that are new.
func (t *tally) discover(value any, keys []string, schema any) error {
	if members, ok := value.(map[string]any); ok {
		for name, v := range members {
			if err := t.discover(v, append(slices.Clone(keys), name), property(schema, name)); err != nil {
				return err
			}
		}
		return nil
	}
	path := "attributes." + jsonvalue.JoinPath(keys...)
	if t.known[path] || value == nil {
		return nil
	}
	if len(t.known) == maxPaths {
		return domain.E(domain.Rejected, "The outputs of these traces have more than %d different paths.", maxPaths)
	}
	t.known[path] = true
	t.add(Spec{Type: typeOf(schema), Path: path, Keys: keys})
	return nil
}

func property(schema any, name string) any {
	s, _ := schema.(map[string]any)
	properties, _ := s["properties"].(map[string]any)
	return properties[name]
}

// typeOf is what a schema says of values; Any where it says nothing.
func typeOf(schema any) Type {
	s, _ := schema.(map[string]any)
	switch s["type"] {
	case "boolean":
		return Binary
	case "number", "integer":
		return Continuous
	case "string":
		if s["enum"] != nil || s["const"] != nil {
			return Single
		}
		return String
	case "array":
		return Multiple
	default:
		return Any
	}
}

// take takes what a span holds. Texts that are too many to be categories are
// from then on only counted.
func (c *column) take(s *trace.Span, limit int) error {
	for i := range c.of {
		g := &c.gathered[i]
		g.take(c.of[i], s)
		switch {
		case c.of[i].Kind == analyticssql.Strings && len(g.strings) > maxCategories:
			*g, c.of[i].Kind = gathered{count: g.values()}, analyticssql.StringCount
		case len(g.strings) > limit:
			return domain.E(domain.Rejected, "%s has more than %d different values.", c.Path, limit)
		}
	}
	return nil
}

// metric makes the column's metric; there is none of nothing.
func (c *column) metric() (Metric, bool) {
	most := 0
	for i := range c.gathered {
		if c.gathered[i].values() > c.gathered[most].values() {
			most = i
		}
	}
	if c.of[most].Kind == analyticssql.StringCount {
		counted := c.Spec
		counted.Type = String
		return counted.metric(c.gathered[most : most+1])
	}
	return c.Spec.metric(c.gathered)
}

func (t *tally) metrics() map[string]Metric {
	out := map[string]Metric{}
	for i := range t.columns {
		if m, ok := t.columns[i].metric(); ok {
			out[t.columns[i].Path] = m
		}
	}
	return out
}
