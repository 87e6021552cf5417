// Package grid reads the table of evaluation runs: a row for each scenario and repeat, a
// column for each member of a result. All of it comes from run_results; a grid reads no
// span. Rows are filtered, ordered and cut into pages here, because a run has at most
// 200 000 results.
//
// SQL is in read/statements; statements run through read/traces. write/registry/outbox
// publishes run_results, with the outcomes of traces that Outcomes computes. The endpoint is
// in read/api/evaluations.
package grid

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/evaluation"
	"colonnade/domain/trace"
	"colonnade/read/sqltext"
	"colonnade/read/statements"
	"colonnade/read/traces"
)

const (
	// MaxRuns bounds the runs of a grid.
	MaxRuns = 20
	// MaxCells bounds the results of one run: so many take about 100 MB of memory.
	MaxCells = 200_000
	// MaxGridCells bounds the results of all runs of a grid.
	MaxGridCells = 400_000
	// MaxRows bounds a page.
	MaxRows = 10_000
)

// Runner runs statements; read/traces implements it.
type Runner interface {
	Run(ctx context.Context, project domain.ProjectID, name string, s sqltext.Statement, each func(driver.Rows) error) error
}

// Reader reads grids. It is safe for concurrent use.
type Reader struct{ run Runner }

// New returns a reader that runs its statements through another.
func New(run Runner) *Reader { return &Reader{run} }

// cell is a result: what one step gave for one scenario and repeat.
type cell struct {
	run, scenario, testcase   uuid.UUID
	repeat                    uint32
	step, stepType            string
	position                  uint16
	status, failure           string
	trace                     trace.TraceID
	latency, cost             float64
	inputs, expected, outputs string
	numbers                   map[string]float64
	strings                   map[string]string
	bools                     map[string]bool
}

// row is a scenario and repeat of a run.
type row struct {
	run, scenario, testcase uuid.UUID
	repeat                  uint32
	status                  evaluation.Status
	cells                   map[string]*cell
	input                   *cell
	// subject is what evaluators judge: the first invocation, else the input.
	subject *cell
}

// step is a step of a grid; steps of the same key in several runs are one.
type step struct {
	key, kind string
	position  uint16
	// paths are those of the values among the outputs of an annotation.
	paths map[string]bool
}

// Grid is the table of runs.
type Grid struct {
	rows  []row
	steps map[string]*step
}

// Read returns the whole table of runs: in the order of runs, then of scenarios as they were
// made, then of repeats. Runs that do not exist have no rows. More than MaxCells results of one run, or
// MaxGridCells of all of them, are Rejected.
func (r *Reader) Read(ctx context.Context, project domain.ProjectID, runs []uuid.UUID) (*Grid, error) {
	g := &Grid{steps: map[string]*step{}}
	var of []*cell // of the scenario that is read
	cells, all, last := 0, 0, uuid.Nil
	err := r.run.Run(ctx, project, "run_results", statements.RunResults(project, runs), func(rows driver.Rows) error {
		c := &cell{}
		err := rows.Scan(&c.run, &c.scenario, &c.repeat, &c.step, &c.stepType, &c.position, &c.status, &c.failure, &c.testcase, traces.ScanTraceID(&c.trace),
			&c.latency, &c.cost, &c.inputs, &c.expected, &c.outputs, &c.numbers, &c.strings, &c.bools)
		if err != nil {
			return err
		}
		if c.run != last {
			cells, last = 0, c.run
		}
		if cells++; cells > MaxCells {
			return domain.E(domain.Rejected, "The evaluation run %s has more than %d results: a grid shows no run of that size.", c.run, MaxCells)
		}
		if all++; all > MaxGridCells {
			return domain.E(domain.Rejected, "These evaluation runs have more than %d results together: ask for fewer runs.", MaxGridCells)
		}
		if len(of) > 0 && of[0].scenario != c.scenario {
			g.add(of)
			of = of[:0]
		}
		of = append(of, c)
		return nil
	})
	if err != nil {
		return nil, err
	}
	g.add(of)
	slices.SortStableFunc(g.rows, func(a, b row) int { // ClickHouse orders UUIDs by their second half
		return cmp.Or(cmp.Compare(slices.Index(runs, a.run), slices.Index(runs, b.run)), slices.Compare(a.scenario[:], b.scenario[:]))
	})
	return g, nil
}

// add adds the rows of one scenario, whose cells ascend by repeat. An input, and an
// application that runs once for all repeats, stands in the row of each.
func (g *Grid) add(cells []*cell) {
	if len(cells) == 0 {
		return
	}
	all := map[string]*cell{}
	for _, c := range cells {
		g.know(c)
		if c.stepType != string(evaluation.Annotation) && c.repeat == 0 {
			all[c.step] = c
		}
	}
	for _, c := range cells {
		if c.repeat > 0 {
			delete(all, c.step)
		}
	}
	for from := 0; from < len(cells); {
		r := row{run: cells[from].run, scenario: cells[from].scenario, repeat: cells[from].repeat, cells: maps.Clone(all)}
		for ; from < len(cells) && cells[from].repeat == r.repeat; from++ {
			r.cells[cells[from].step] = cells[from]
		}
		r.complete()
		g.rows = append(g.rows, r)
	}
}

// complete sets what a row shows of several of its cells.
func (r *row) complete() {
	var parts []evaluation.Status
	for _, c := range r.cells {
		if r.testcase == uuid.Nil || c.stepType == string(evaluation.Input) {
			r.testcase = cmp.Or(c.testcase, r.testcase)
		}
		switch evaluation.StepType(c.stepType) {
		case evaluation.Input:
			if r.input == nil || c.position < r.input.position {
				r.input = c
			}
			continue
		case evaluation.Invocation:
			if r.subject == nil || c.position < r.subject.position {
				r.subject = c
			}
		case evaluation.Annotation:
		}
		parts = append(parts, evaluation.Status(c.status))
	}
	if r.subject == nil {
		r.subject = r.input
	}
	if len(parts) == 0 && r.input != nil {
		parts = append(parts, evaluation.Status(r.input.status))
	}
	r.status = evaluation.StatusOf(parts)
}

// know adds the step of a cell, and the paths of its outputs.
func (g *Grid) know(c *cell) {
	s := g.steps[c.step]
	if s == nil {
		s = &step{key: c.step, kind: c.stepType, position: c.position, paths: map[string]bool{}}
		g.steps[c.step] = s
	}
	for path := range c.numbers {
		s.paths[path] = true
	}
	for path := range c.strings {
		s.paths[path] = true
	}
	for path := range c.bools {
		s.paths[path] = true
	}
}

// ordered returns the steps in the order of their runs.
func (g *Grid) ordered() []*step {
	all := slices.Collect(maps.Values(g.steps))
	slices.SortFunc(all, func(a, b *step) int {
		return cmp.Or(cmp.Compare(a.position, b.position), cmp.Compare(a.key, b.key))
	})
	return all
}
