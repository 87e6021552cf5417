package evaluation

import (
	"slices"

	"github.com/google/uuid"
)

// Cell is one place of a run: a step of a scenario, and a repeat.
type Cell struct {
	Scenario uuid.UUID
	Step     string
	Repeat   int
}

// Cell is the place of a result.
func (r *Result) Cell() Cell { return Cell{r.ScenarioID, r.StepKey, r.RepeatIdx} }

// Slice names places of a run. A nil dimension means all of it, an empty one nothing.
type Slice struct {
	Scenarios []uuid.UUID
	Steps     []string
	Repeats   []int
}

// Empty reports whether no place is named.
func (s Slice) Empty() bool {
	return s.Scenarios != nil && len(s.Scenarios) == 0 || s.Steps != nil && len(s.Steps) == 0 || s.Repeats != nil && len(s.Repeats) == 0
}

// Holds reports whether a place is named.
func (s Slice) Holds(c Cell) bool {
	return (s.Scenarios == nil || slices.Contains(s.Scenarios, c.Scenario)) &&
		(s.Steps == nil || slices.Contains(s.Steps, c.Step)) &&
		(s.Repeats == nil || slices.Contains(s.Repeats, c.Repeat))
}

// Lanes tells how often a step is done for a scenario: inputs once; what
// repeats fan out at as often as the run says, and all that follows it.
func (r *Run) Lanes(s Step) int {
	repeats := max(r.Data.Repeats, 1)
	judged := slices.ContainsFunc(r.Data.Steps, func(s Step) bool { return s.Type == Annotation })
	switch {
	case s.Type == Annotation, s.Type == Invocation && (r.Flags[IsSplit] || !judged):
		return repeats
	default:
		return 1
	}
}

// Judged is the invocation that an annotation step says something about; nil
// where it is about the input itself.
func (d *Data) Judged(s Step) *Step {
	for _, input := range s.Inputs {
		if of := d.Step(input.Key); of != nil && of.Type == Invocation {
			return of
		}
	}
	if !slices.ContainsFunc(s.Inputs, func(i StepInput) bool { return i.Key == AllInvocations }) {
		return nil
	}
	if i := slices.IndexFunc(d.Steps, func(s Step) bool { return s.Type == Invocation }); i >= 0 {
		return &d.Steps[i]
	}
	return nil
}

// Lane is the repeat of the invocation that a repeat of its judge is about.
func (r *Run) Lane(judged Step, repeat int) int { return min(repeat, r.Lanes(judged)-1) }

// Open are the places of scenarios, within a slice, at which somebody is yet to
// say something and no result stands, in the order of scenarios, steps and repeats.
func (r *Run) Open(scenarios []uuid.UUID, results []Result, within Slice) []Cell {
	if r.Data == nil || within.Empty() {
		return nil
	}
	taken := make(map[Cell]bool, len(results))
	for i := range results {
		taken[results[i].Cell()] = true
	}
	var open []Cell
	for _, scenario := range scenarios {
		for _, s := range r.Data.Steps {
			if s.Type == Input {
				continue
			}
			for repeat := range r.Lanes(s) {
				if c := (Cell{scenario, s.Key, repeat}); !taken[c] && within.Holds(c) {
					open = append(open, c)
				}
			}
		}
	}
	return open
}

// StatusOf returns the status of a run or scenario from those of its parts: running while
// one runs, pending while one waits for a human, errors where one failed. Without parts it
// is success.
func StatusOf(parts []Status) Status {
	has := func(some ...Status) bool {
		return slices.ContainsFunc(parts, func(s Status) bool { return slices.Contains(some, s) })
	}
	switch {
	case has(Queued, Running):
		return Running
	case has(Pending):
		return Pending
	case has(Failure, Errors):
		return Errors
	case has(Cancelled):
		return Cancelled
	default:
		return Success
	}
}
