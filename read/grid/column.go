package grid

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"

	"colonnade/domain/evaluation"
	"colonnade/domain/jsonvalue"
)

// column returns the value of a row, nil where the row has none.
type column func(*row) any

// The columns of each step are <kind>.<step>; outputs of evaluators are <step>.<path>.
const (
	statusOf  = "status."
	traceOf   = "trace_id."
	errorOf   = "error."
	latencyOf = "latency_ms."
	costOf    = "cost."
	outputsOf = "preview.outputs."
)

// fixedNames returns the columns that every grid has.
func fixedNames() []string {
	return []string{"run_id", "scenario_id", "testcase_id", "repeat", "status", "trace_id", "latency_ms", "cost", "preview.inputs", "preview.expected", "preview.outputs"}
}

// fixed returns a column that every grid has, nil for another name.
func fixed(name string) column {
	switch name {
	case "run_id":
		return func(r *row) any { return r.run }
	case "scenario_id":
		return func(r *row) any { return r.scenario }
	case "testcase_id":
		return func(r *row) any {
			if r.testcase == uuid.Nil {
				return nil
			}
			return r.testcase
		}
	case "repeat":
		return func(r *row) any { return int64(r.repeat) }
	case "status":
		return func(r *row) any { return string(r.status) }
	case "trace_id":
		return func(r *row) any { return traceID(r.subject) }
	case "latency_ms":
		return func(r *row) any { return latency(r.subject) }
	case "cost":
		return func(r *row) any { return cost(r.subject) }
	case "preview.inputs":
		return func(r *row) any {
			if r.input != nil && r.input.inputs != "" {
				return r.input.inputs
			}
			if r.subject == nil {
				return nil
			}
			return text(r.subject.inputs)
		}
	case "preview.expected":
		return func(r *row) any {
			if r.input == nil {
				return nil
			}
			return text(r.input.expected)
		}
	case "preview.outputs":
		return func(r *row) any {
			if r.subject == nil {
				return nil
			}
			return text(r.subject.outputs)
		}
	default:
		return nil
	}
}

func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func number(n float64) any {
	if math.IsNaN(n) {
		return nil
	}
	return n
}

func traceID(c *cell) any {
	if c == nil || c.trace.IsZero() {
		return nil
	}
	return c.trace.String()
}

func latency(c *cell) any {
	if c == nil {
		return nil
	}
	return number(c.latency)
}

func cost(c *cell) any {
	if c == nil {
		return nil
	}
	return number(c.cost)
}

// output returns the value at a path of the outputs of an evaluator.
func (c *cell) output(path string) any {
	if n, ok := c.numbers[path]; ok {
		return number(n)
	}
	if b, ok := c.bools[path]; ok {
		return b
	}
	if s, ok := c.strings[path]; ok {
		return s
	}
	return nil
}

// ofStep returns the column of a member of the cells of a step.
func ofStep(key string, member func(*cell) any) column {
	return func(r *row) any {
		if c := r.cells[key]; c != nil {
			return member(c)
		}
		return nil
	}
}

// outputName returns the name of the column of an output.
func outputName(step, path string) string {
	if path == "" {
		return step
	}
	return step + "." + path
}

// column returns the column of a name; ok is false for a name that no row of this grid can
// have.
func (g *Grid) column(name string) (of column, ok bool) {
	if of := fixed(name); of != nil {
		return of, true
	}
	for _, kind := range []struct {
		prefix string
		member func(*cell) any
	}{
		{statusOf, func(c *cell) any { return c.status }},
		{traceOf, traceID},
		{errorOf, func(c *cell) any { return text(c.failure) }},
		{latencyOf, latency},
		{costOf, cost},
		{outputsOf, func(c *cell) any { return text(c.outputs) }},
	} {
		if key, is := strings.CutPrefix(name, kind.prefix); is && g.steps[key] != nil {
			return ofStep(key, kind.member), true
		}
	}
	if s, path := g.outputOf(name); s != nil {
		return ofStep(s.key, func(c *cell) any { return c.output(path) }), true
	}
	return nil, false
}

// outputOf returns the step and the path of the column of an output: the step with the
// longest key, because keys may have dots.
func (g *Grid) outputOf(name string) (of *step, path string) {
	for key, s := range g.steps {
		rest, is := strings.CutPrefix(name, key)
		if is && (rest == "" || rest[0] == '.') && (of == nil || len(key) > len(of.key)) {
			of, path = s, strings.TrimPrefix(rest, ".")
		}
	}
	return of, path
}

// names returns the columns that a grid has without a choice: those of every grid, the
// status and the trace of each step, of several applications their latencies, costs and
// outputs, and the outputs of evaluators.
func (g *Grid) names() []string {
	names := fixedNames()
	steps := g.ordered()
	invocations := 0
	for _, s := range steps {
		names = append(names, statusOf+s.key, traceOf+s.key)
		if s.kind == string(evaluation.Invocation) {
			invocations++
		}
	}
	for _, s := range steps {
		if s.kind == string(evaluation.Invocation) && invocations > 1 {
			names = append(names, latencyOf+s.key, costOf+s.key, outputsOf+s.key)
		}
		names = append(names, s.outputs()...)
	}
	return names
}

// outputs returns the columns of the outputs of a step.
func (s *step) outputs() []string {
	names := make([]string, 0, len(s.paths))
	for _, path := range slices.Sorted(maps.Keys(s.paths)) {
		names = append(names, outputName(s.key, path))
	}
	return names
}

// expand returns the columns that fields name: <step>.* are all outputs of a step, and no
// fields are names. A name that no row can have comes back as unknown; of a grid without
// rows every name is known.
func (g *Grid) expand(fields []string) (names []string, unknown string) {
	if len(fields) == 0 {
		return g.names(), ""
	}
	for _, name := range fields {
		if key, all := strings.CutSuffix(name, ".*"); all && g.steps[key] != nil {
			names = append(names, g.steps[key].outputs()...)
			continue
		}
		if _, ok := g.column(name); !ok && len(g.rows) > 0 {
			return nil, name
		}
		names = append(names, name)
	}
	return names, ""
}

// Properties returns the schemas of the members of a schema of outputs, by the names of
// their columns.
func Properties(step string, schema any) map[string]any {
	out := map[string]any{}
	addProperties(out, schema, step)
	return out
}

func addProperties(to map[string]any, schema any, step string, keys ...string) {
	of, _ := schema.(map[string]any)
	properties, ok := of["properties"].(map[string]any)
	if !ok {
		if of != nil {
			to[outputName(step, jsonvalue.JoinPath(keys...))] = schema
		}
		return
	}
	for name, property := range properties {
		addProperties(to, property, step, append(slices.Clip(keys), name)...)
	}
}
