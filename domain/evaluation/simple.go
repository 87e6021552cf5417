package evaluation

import (
	"maps"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity"
)

// The two words by which a step's inputs name all steps of a type at once.
const (
	AllInputs      = "__all_inputs__"
	AllInvocations = "__all_invocations__"
)

// Part is a revision that a step is made of.
type Part struct {
	Revision *entity.Revision
	Origin   Origin
	// Columns are those of a testset's rows; empty for all others.
	Columns []string
}

// Parts are what a simple evaluation is made of.
type Parts struct {
	Queries, Testsets, Applications, Evaluators []Part
	// Direct is the key of an input step whose scenarios are given one by one: traces or testcases; empty without one.
	Direct      string
	Repeats     int
	Concurrency *Concurrency
}

// The keys of input steps whose scenarios are given one by one.
const (
	DirectTraces    = "traces"
	DirectTestcases = "testcases"
)

// Data derives steps and mappings: inputs first, then applications, then those
// who judge them. Where there are several applications, each has judges of its
// own, so that every annotation says about one. Source: contract §5.8.
func (p Parts) Data() *Data {
	d := &Data{Repeats: max(p.Repeats, 1), Concurrency: p.Concurrency}
	if p.Direct != "" {
		d.Steps = append(d.Steps, Step{Key: p.Direct, Type: Input, Origin: Custom, References: map[string]domain.Reference{}})
	}
	for _, q := range p.Queries {
		key := d.add(entity.Queries(), Input, q, "")
		d.show("query", "data", key, "attributes.ag.data")
	}
	for _, t := range p.Testsets {
		key := d.add(entity.Testsets(), Input, t, "")
		for _, column := range t.Columns {
			d.show("testset", column, key, "data."+column)
		}
	}
	applications := make([]string, 0, len(p.Applications))
	for _, a := range p.Applications {
		key := d.add(entity.Applications(), Invocation, a, "", AllInputs)
		d.show("invocation", "outputs", key, "attributes.ag.data.outputs")
		applications = append(applications, key)
	}
	switch len(applications) {
	case 0:
		p.judges(d, "", AllInputs)
	case 1:
		p.judges(d, "", AllInvocations, AllInputs)
	default:
		for i, key := range applications {
			p.judges(d, "."+p.Applications[i].Revision.Slug, key, AllInputs)
		}
	}
	return d
}

func (p Parts) judges(d *Data, suffix string, inputs ...string) {
	for _, e := range p.Evaluators {
		key := d.add(entity.Evaluators(), Annotation, e, suffix, inputs...)
		schemas, _ := e.Revision.Data["schemas"].(map[string]any)
		paths := outputPaths(schemas["outputs"])
		if len(paths) == 0 {
			d.show("annotation", "outputs", key, "attributes.ag.data.outputs")
		}
		for _, path := range paths {
			d.show("annotation", path, key, "attributes.ag.data.outputs."+path)
		}
	}
}

// add makes a step and gives its key: what it refers to, and the revision's
// slug, which is its own within the project.
func (d *Data) add(f entity.Family, t StepType, p Part, suffix string, inputs ...string) string {
	r := p.Revision
	s := Step{Key: f.Name + "-" + r.Slug + suffix, Type: t, Origin: p.Origin, References: References(f, r)}
	for _, key := range inputs {
		s.Inputs = append(s.Inputs, StepInput{Key: key})
	}
	d.Steps = append(d.Steps, s)
	return s.Key
}

// References name the three levels of a revision.
func References(f entity.Family, r *entity.Revision) map[string]domain.Reference {
	return map[string]domain.Reference{
		f.Member(entity.LevelArtifact): {ID: r.ArtifactID, Slug: r.ArtifactSlug},
		f.Member(entity.LevelVariant):  {ID: r.VariantID, Slug: r.VariantSlug},
		f.Member(entity.LevelRevision): {ID: r.ID, Slug: r.Slug, Version: strconv.Itoa(r.Version)},
	}
}

func (d *Data) show(kind, name, key, path string) {
	d.Mappings = append(d.Mappings, Mapping{Column: MappingColumn{Kind: kind, Name: name}, Step: MappingStep{Key: key, Path: path}})
}

// maxOutputs bounds the columns of one evaluator: a schema may be of any size.
const maxOutputs = 100

// outputPaths are the members that a schema of outputs has, those of objects
// within it joined by dots, in the order of their names.
func outputPaths(schema any) []string {
	s, _ := schema.(map[string]any)
	properties, _ := s["properties"].(map[string]any)
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		below := outputPaths(properties[name])
		if len(below) == 0 {
			paths = append(paths, name)
		}
		for _, path := range below {
			paths = append(paths, name+"."+path)
		}
	}
	return paths[:min(len(paths), maxOutputs)]
}

// SimpleEvaluation is a run as its ids show it: what it was made of, and how
// far it is. Source: contract §5.8.
type SimpleEvaluation struct {
	Record
	Name        *string    `json:"name,omitempty"`
	Description *string    `json:"description,omitempty"`
	Flags       Flags      `json:"flags"`
	Data        SimpleData `json:"data"`
}

// SimpleData names revisions, each with its step's origin.
type SimpleData struct {
	Status           Status               `json:"status"`
	QuerySteps       map[uuid.UUID]Origin `json:"query_steps,omitempty"`
	TestsetSteps     map[uuid.UUID]Origin `json:"testset_steps,omitempty"`
	ApplicationSteps map[uuid.UUID]Origin `json:"application_steps,omitempty"`
	EvaluatorSteps   map[uuid.UUID]Origin `json:"evaluator_steps,omitempty"`
	Repeats          int                  `json:"repeats"`
	Concurrency      *Concurrency         `json:"concurrency,omitempty"`
}

// Simple shows a run by its ids.
func (r *Run) Simple() SimpleEvaluation {
	out := SimpleEvaluation{Record: r.Record, Name: r.Name, Description: r.Description, Flags: r.Flags}
	out.Data.Status, out.Data.Repeats = r.Status, 1
	if r.Data == nil {
		return out
	}
	out.Data.Repeats, out.Data.Concurrency = max(r.Data.Repeats, 1), r.Data.Concurrency
	out.Data.QuerySteps = r.Data.targets(entity.Queries())
	out.Data.TestsetSteps = r.Data.targets(entity.Testsets())
	out.Data.ApplicationSteps = r.Data.targets(entity.Applications())
	out.Data.EvaluatorSteps = r.Data.targets(entity.Evaluators())
	return out
}

// targets are the revisions of a family that steps refer to; where a step names
// none, its variant or artifact.
func (d *Data) targets(f entity.Family) map[uuid.UUID]Origin {
	out := map[uuid.UUID]Origin{}
	for _, s := range d.Steps {
		if s.Type == Annotation != (f.Name == entity.Evaluators().Name) {
			continue
		}
		for _, level := range []entity.Level{entity.LevelRevision, entity.LevelVariant, entity.LevelArtifact} {
			if id := s.References[f.Member(level)].ID; id != uuid.Nil {
				out[id] = s.Origin
				break
			}
		}
	}
	return out
}
