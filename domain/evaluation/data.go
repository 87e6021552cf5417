package evaluation

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"colonnade/domain"
)

// StepType is what a step does: it brings inputs, invokes an application, or
// says something about what another step gave.
type StepType string

// The types of steps.
const (
	Input      StepType = "input"
	Invocation StepType = "invocation"
	Annotation StepType = "annotation"
)

// UnmarshalText reads a type; any other word is Invalid.
func (t *StepType) UnmarshalText(text []byte) error {
	return word(t, string(text), []StepType{Input, Invocation, Annotation})
}

// Origin is who carries a step out: a client's own code, a person, or the service.
type Origin string

// The origins of steps.
const (
	Custom Origin = "custom"
	Human  Origin = "human"
	Auto   Origin = "auto"
)

// UnmarshalText reads an origin; any other word is Invalid.
func (o *Origin) UnmarshalText(text []byte) error {
	return word(o, string(text), []Origin{Custom, Human, Auto})
}

// Step is one column of a run. Its key is how results and later steps speak of it.
type Step struct {
	Key    string   `json:"key" request:"required"`
	Type   StepType `json:"type" request:"required"`
	Origin Origin   `json:"origin" request:"required"`
	// References name what the step runs or takes, by the names of levels:
	// application_revision, evaluator_revision, testset_revision, query_revision, ...
	References map[string]domain.Reference `json:"references" request:"required"`
	// Inputs are the earlier steps whose results it needs.
	Inputs []StepInput `json:"inputs,omitempty"`
}

// StepInput names an earlier step, or all of a type: __all_inputs__, __all_invocations__.
type StepInput struct {
	Key string `json:"key" request:"required"`
}

// Mapping says which value of a step's trace a table of the run shows in a column.
type Mapping struct {
	Column MappingColumn `json:"column" request:"required"`
	Step   MappingStep   `json:"step" request:"required"`
}

// MappingColumn is a column of the table.
type MappingColumn struct {
	Kind string `json:"kind" request:"required"`
	Name string `json:"name" request:"required"`
}

// MappingStep leads to a value: attributes.ag.data.outputs.score, say.
type MappingStep struct {
	Key  string `json:"key" request:"required"`
	Path string `json:"path" request:"required"`
}

// Concurrency says how a runner goes about a run; nil members leave it to the runner.
type Concurrency struct {
	BatchSize  *int `json:"batch_size,omitempty"`
	MaxRetries *int `json:"max_retries,omitempty"`
	// RetryDelay is in seconds.
	RetryDelay *float64 `json:"retry_delay,omitempty"`
}

// Data is what a run does.
type Data struct {
	Steps []Step `json:"steps,omitzero"`
	// Repeats is how often each step is done for a scenario; 1 when not given.
	Repeats     int          `json:"repeats"`
	Concurrency *Concurrency `json:"concurrency,omitempty"`
	Mappings    []Mapping    `json:"mappings,omitempty"`
}

// The bounds of a run's data.
const (
	MaxSteps    = 1000
	MaxRepeats  = 1000
	maxMappings = 10_000
)

// referred are the kinds of things that a step may refer to, each at three levels.
func referred() []string {
	return []string{"query", "testset", "testcase", "application", "workflow", "evaluator", "environment"}
}

// Step gives the step of a key; nil when there is none.
func (d *Data) Step(key string) *Step {
	if d == nil {
		return nil
	}
	i := slices.IndexFunc(d.Steps, func(s Step) bool { return s.Key == key })
	if i < 0 {
		return nil
	}
	return &d.Steps[i]
}

// Check tells what is unsound, with its location below loc, and completes the
// repeats. Keys are unique, inputs name earlier steps, references name
// an existing entity.
func (d *Data) Check(loc ...any) error {
	var wrong problems
	switch {
	case d.Repeats == 0:
		d.Repeats = 1
	case d.Repeats < 0 || d.Repeats > MaxRepeats:
		wrong.add("value_error", "Repeats are 1 to 1000", d.Repeats, loc, "repeats")
	}
	if len(d.Steps) > MaxSteps {
		wrong.add("too_long", "There are at most 1000 steps", nil, loc, "steps")
	}
	if len(d.Mappings) > maxMappings {
		wrong.add("too_long", "There are at most 10000 mappings", nil, loc, "mappings")
	}
	earlier := map[string]bool{}
	for i, s := range d.Steps {
		at := append(slices.Clone(loc), "steps", i)
		s.check(&wrong, at, earlier)
		earlier[s.Key] = true
	}
	for i, m := range d.Mappings {
		if !earlier[m.Step.Key] {
			wrong.add("value_error", "There is no step of this key", m.Step.Key, loc, "mappings", i, "step", "key")
		}
	}
	d.Concurrency.check(&wrong, append(slices.Clone(loc), "concurrency"))
	return wrong.err()
}

func (s Step) check(wrong *problems, loc []any, earlier map[string]bool) {
	switch {
	case s.Key == "":
		wrong.add("value_error", "A key is not empty", s.Key, loc, "key")
	case earlier[s.Key]:
		wrong.add("value_error", "The key of a step is its own", s.Key, loc, "key")
	}
	for _, name := range slices.Sorted(maps.Keys(s.References)) {
		if kind := kindOf(name); !slices.Contains(referred(), kind) {
			wrong.add("value_error", "A step refers to queries, testsets, testcases, applications, workflows, evaluators and environments", name, loc, "references", name)
		} else if s.References[name].IsZero() {
			wrong.add("missing", "A reference needs an id, a slug or a version", nil, loc, "references", name)
		}
	}
	for i, input := range s.Inputs {
		if !earlier[input.Key] && !allOfAType(input.Key) {
			wrong.add("value_error", "An input is the key of an earlier step", input.Key, loc, "inputs", i, "key")
		}
	}
}

// allOfAType reports whether an input stands for all earlier steps of a type.
func allOfAType(key string) bool { return key == "__all_inputs__" || key == "__all_invocations__" }

func (c *Concurrency) check(wrong *problems, loc []any) {
	if c == nil {
		return
	}
	if c.BatchSize != nil && *c.BatchSize < 1 {
		wrong.add("greater_than_equal", "Input should be greater than or equal to 1", *c.BatchSize, loc, "batch_size")
	}
	if c.MaxRetries != nil && *c.MaxRetries < 0 {
		wrong.add("greater_than_equal", "Input should be greater than or equal to 0", *c.MaxRetries, loc, "max_retries")
	}
	if c.RetryDelay != nil && *c.RetryDelay < 0 {
		wrong.add("greater_than_equal", "Input should be greater than or equal to 0", *c.RetryDelay, loc, "retry_delay")
	}
}

// kindOf is what a reference's name is of: application_revision is of the kind application.
func kindOf(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, "_variant"), "_revision")
}

// References are those of all steps, each alone under its name: what runs are
// found by. Never nil.
func (d *Data) References() []map[string]domain.Reference {
	out := []map[string]domain.Reference{}
	if d == nil {
		return out
	}
	for _, s := range d.Steps {
		for _, name := range slices.Sorted(maps.Keys(s.References)) {
			out = append(out, map[string]domain.Reference{name: s.References[name]})
		}
	}
	return out
}

// QueueData says which scenarios a queue holds and whose they are.
type QueueData struct {
	// UserIDs are, for each repeat, the people who share its scenarios; none means everybody.
	UserIDs [][]uuid.UUID `json:"user_ids,omitempty"`
	// ScenarioIDs and StepKeys restrict the queue; nil means all of the run.
	ScenarioIDs []uuid.UUID `json:"scenario_ids,omitempty"`
	StepKeys    []string    `json:"step_keys,omitempty"`
	// BatchSize and BatchOffset deal scenarios out in order; see Assign.
	BatchSize   *int `json:"batch_size,omitempty"`
	BatchOffset *int `json:"batch_offset,omitempty"`
}

// restrictions returns the members that are given, each of which narrows the queue.
func (d *QueueData) restrictions() (members []string) {
	for _, m := range []struct {
		name  string
		given bool
	}{
		{"user_ids", d.UserIDs != nil},
		{"scenario_ids", d.ScenarioIDs != nil},
		{"step_keys", d.StepKeys != nil},
		{"batch_size", d.BatchSize != nil},
		{"batch_offset", d.BatchOffset != nil},
	} {
		if m.given {
			members = append(members, m.name)
		}
	}
	return members
}

// Check tells what is unsound, with its location below loc.
func (d *QueueData) Check(loc ...any) error {
	var wrong problems
	if d.BatchSize != nil && *d.BatchSize < 1 {
		wrong.add("greater_than", "Input should be greater than 0", *d.BatchSize, loc, "batch_size")
	}
	if d.BatchOffset != nil && *d.BatchOffset < 0 {
		wrong.add("greater_than_equal", "Input should be greater than or equal to 0", *d.BatchOffset, loc, "batch_offset")
	}
	return wrong.err()
}

// problems gathers what is wrong, all at once.
type problems struct{ fields []domain.Field }

func (p *problems) add(typ, msg string, input any, loc []any, more ...any) {
	p.fields = append(p.fields, domain.Field{Type: typ, Loc: append(slices.Clone(loc), more...), Msg: msg, Input: input})
}

func (p *problems) err() error {
	if len(p.fields) == 0 {
		return nil
	}
	return &domain.Error{Kind: domain.Invalid, Message: p.fields[0].Msg, Fields: p.fields}
}
