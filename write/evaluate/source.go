package evaluate

import (
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/evaluation"
	"colonnade/domain/testset"
	"colonnade/domain/trace"
)

// Draft is what a simple evaluation is made of, as a caller gives it.
type Draft struct {
	Queries, Testsets, Applications, Evaluators []evaluation.Target
	// Direct is the key of an input step whose scenarios come one by one; empty without one.
	Direct      string
	Repeats     int
	Concurrency *evaluation.Concurrency
}

// data derives the steps of a run. A revision that is not there is Rejected.
func (v *Evaluate) data(ctx context.Context, caller domain.Principal, d Draft) (*evaluation.Data, error) {
	p := evaluation.Parts{Direct: d.Direct, Repeats: d.Repeats, Concurrency: d.Concurrency}
	for _, of := range []struct {
		family  entity.Family
		targets []evaluation.Target
		parts   *[]evaluation.Part
	}{
		{entity.Queries(), d.Queries, &p.Queries},
		{entity.Testsets(), d.Testsets, &p.Testsets},
		{entity.Applications(), d.Applications, &p.Applications},
		{entity.Evaluators(), d.Evaluators, &p.Evaluators},
	} {
		for _, t := range of.targets {
			part, err := v.part(ctx, caller, of.family, t)
			if err != nil {
				return nil, err
			}
			*of.parts = append(*of.parts, part)
		}
	}
	data := p.Data()
	return data, data.Check("body", "evaluation", "data")
}

// part finds the revision that a target names: by its own id, or as the latest
// of a variant's or of an artifact's, which some clients send. A workflow of another role than
// the family's is as good as missing.
func (v *Evaluate) part(ctx context.Context, caller domain.Principal, f entity.Family, t evaluation.Target) (evaluation.Part, error) {
	ref := domain.Reference{ID: t.ID}
	for _, refs := range []entity.Refs{{Revision: ref}, {Variant: ref}, {Artifact: ref}} {
		found, err := v.deps.Registry.Retrieve(ctx, caller, entity.Retrieval{Family: f, Refs: refs})
		if err != nil {
			return evaluation.Part{}, err
		}
		if found.Revision == nil || !f.Owns(found.Revision.ArtifactFlags) {
			continue
		}
		part := evaluation.Part{Revision: found.Revision, Origin: t.Origin}
		if f.Kind == entity.Testset {
			_, testcases, err := v.deps.Registry.Testcases(ctx, caller, entity.Refs{Revision: domain.Reference{ID: found.Revision.ID}})
			if err != nil {
				return evaluation.Part{}, err
			}
			if len(testcases) > 0 {
				part.Columns = slices.Sorted(maps.Keys(testcases[0].Data))
			}
		}
		return part, nil
	}
	return evaluation.Part{}, domain.E(domain.Rejected, "There is no %s revision %s.", f.Name, t.ID)
}

// item is one row of a source: a testcase, or a trace.
type item struct {
	step     string
	testcase uuid.UUID
	trace    trace.TraceID
}

// items are the rows of all sources of a run as they are now, in their order.
func (v *Evaluate) items(ctx context.Context, caller domain.Principal, run *evaluation.Run) ([]item, error) {
	var all []item
	for _, s := range run.Data.Steps {
		if s.Type != evaluation.Input {
			continue
		}
		if ref, ok := s.References["testset_revision"]; ok {
			testcases, err := v.Testcases(ctx, caller, ref)
			if err != nil {
				return nil, err
			}
			for _, t := range testcases {
				all = append(all, item{step: s.Key, testcase: t.ID})
			}
		}
		if ref, ok := s.References["query_revision"]; ok {
			found, err := v.deps.Traces(ctx, caller.Project, ref.ID, v.cfg.MaxScenarios)
			if err != nil {
				return nil, err
			}
			for _, id := range found {
				all = append(all, item{step: s.Key, trace: id})
			}
		}
	}
	return all, nil
}

// Testcases are those of a testset revision.
func (v *Evaluate) Testcases(ctx context.Context, caller domain.Principal, ref domain.Reference) ([]testset.Testcase, error) {
	revision, testcases, err := v.deps.Registry.Testcases(ctx, caller, entity.Refs{Revision: ref})
	if err == nil && revision == nil {
		err = domain.E(domain.Rejected, "There is no testset revision %s any more.", ref.ID)
	}
	return testcases, err
}

// mintChunk is how many scenarios are made in one transaction, each with its input.
const mintChunk = 500

// mint makes a scenario for each item that has none yet.
func (v *Evaluate) mint(ctx context.Context, caller domain.Principal, run *evaluation.Run, items []item, results []evaluation.Result) ([]evaluation.Scenario, error) {
	have := map[item]int{}
	scenarios := map[uuid.UUID]bool{}
	for i := range results {
		scenarios[results[i].ScenarioID] = true
		if s := run.Data.Step(results[i].StepKey); s != nil && s.Type == evaluation.Input {
			have[itemOf(&results[i])]++
		}
	}
	var fresh []item
	for _, it := range items {
		if have[it] > 0 {
			have[it]--
			continue
		}
		fresh = append(fresh, it)
	}
	if n := len(scenarios) + len(fresh); n > v.cfg.MaxScenarios {
		return nil, domain.E(domain.Rejected, "An evaluation takes at most %d scenarios, not %d.", v.cfg.MaxScenarios, n)
	} else if err := v.cfg.fits(run, n); err != nil {
		return nil, err
	}
	var made []evaluation.Scenario
	for chunk := range slices.Chunk(fresh, mintChunk) {
		inputs := make([]evaluation.ResultDraft, len(chunk))
		for i, it := range chunk {
			inputs[i] = evaluation.ResultDraft{PartDraft: evaluation.PartDraft{RunID: run.ID}, StepKey: it.step, TraceID: it.trace}
			inputs[i].Status = evaluation.Success
			if it.testcase != uuid.Nil {
				inputs[i].TestcaseID = &chunk[i].testcase
			}
		}
		rows, err := v.deps.Runs.AddInputs(ctx, caller, inputs)
		if err != nil {
			return made, err
		}
		made = append(made, rows...)
	}
	return made, nil
}

func itemOf(r *evaluation.Result) item {
	it := item{step: r.StepKey, trace: r.TraceID}
	if r.TestcaseID != nil {
		it.testcase = *r.TestcaseID
	}
	return it
}
