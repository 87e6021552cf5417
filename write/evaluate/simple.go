package evaluate

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/evaluation"
)

// Create makes a run out of what a caller names. It is started, unless the
// caller says that it is not active, or gives its status: who does that carries
// it out himself.
func (v *Evaluate) Create(ctx context.Context, caller domain.Principal, draft evaluation.RunDraft, of Draft) (*evaluation.Run, error) {
	data, err := v.data(ctx, caller, of)
	if err != nil {
		return nil, err
	}
	draft.Data = data
	wanted, given := draft.Flags[evaluation.IsActive]
	start := (wanted || !given) && (draft.Status == "" || draft.Status == evaluation.Pending) && does(data)
	delete(draft.Flags, evaluation.IsActive)
	if err := refuseLive(draft.Flags); err != nil {
		return nil, err
	}
	made, err := v.deps.Runs.CreateRuns(ctx, caller, []evaluation.RunDraft{draft})
	if err != nil {
		return nil, err
	}
	if !start {
		return &made[0], nil
	}
	started, err := v.Start(ctx, caller, made[0].ID)
	if err != nil { // who is refused has made nothing, and may send it again
		_, undo := v.deps.Runs.DeleteRuns(context.WithoutCancel(ctx), caller, []uuid.UUID{made[0].ID})
		return nil, errors.Join(err, undo)
	}
	return started, nil
}

// does tells whether a run has something to do: a source, and somebody who says something about it.
func does(d *evaluation.Data) bool {
	is := func(types ...evaluation.StepType) bool {
		return slices.ContainsFunc(d.Steps, func(s evaluation.Step) bool {
			return slices.Contains(types, s.Type) && (s.Type != evaluation.Input || len(s.References) > 0)
		})
	}
	return is(evaluation.Input) && is(evaluation.Invocation, evaluation.Annotation)
}

func refuseLive(f evaluation.Flags) error {
	if f[evaluation.IsLive] {
		return domain.E(domain.Rejected, "Evaluations of traces as they come (is_live) are not run here: start the evaluation again to take in new ones.")
	}
	return nil
}

// Edit changes a run. Other steps only while nobody carries it out; results of
// steps that go are gone. nil where there is no such run.
func (v *Evaluate) Edit(ctx context.Context, caller domain.Principal, draft evaluation.RunDraft, of *Draft) (*evaluation.Run, error) {
	run, err := v.deps.Runs.Run(ctx, caller.Project, draft.ID)
	if err != nil || run == nil {
		return nil, err
	}
	delete(draft.Flags, evaluation.IsActive)
	if err := refuseLive(draft.Flags); err != nil {
		return nil, err
	}
	if of == nil {
		return first(v.deps.Runs.EditRuns(ctx, caller, []evaluation.RunDraft{draft}))
	}
	if of.Repeats == 0 && run.Data != nil {
		of.Repeats = run.Data.Repeats
	}
	if draft.Data, err = v.data(ctx, caller, *of); err != nil {
		return nil, err
	}
	return v.reshape(ctx, caller, run, draft)
}

// reshape changes the data of a run. Results of steps that it drops go with them, and the
// metrics of their scenarios and of the run are computed again.
func (v *Evaluate) reshape(ctx context.Context, caller domain.Principal, run *evaluation.Run, draft evaluation.RunDraft) (*evaluation.Run, error) {
	if underWay(run) {
		return nil, domain.E(domain.Conflict, "The evaluation is under way: stop it before its steps change.")
	}
	var dropped []string
	for _, s := range steps(run) {
		if draft.Data.Step(s.Key) == nil {
			dropped = append(dropped, s.Key)
		}
	}
	var scenarios []uuid.UUID
	if len(dropped) > 0 { // read before the edit, which removes these results
		results, err := v.deps.Runs.ResultsOf(ctx, caller.Project, run.ID, evaluation.Slice{Steps: dropped}, 0)
		if err != nil {
			return nil, err
		}
		for rows := range ByScenario(results) {
			scenarios = append(scenarios, rows[0].ScenarioID)
		}
	}
	edited, err := first(v.deps.Runs.EditRuns(ctx, caller, []evaluation.RunDraft{draft}))
	if err != nil || edited == nil || len(scenarios) == 0 {
		return edited, err
	}
	return edited, v.RefreshMetrics(ctx, caller, run, scenarios)
}

func first[T any](all []T, err error) (*T, error) {
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

func steps(run *evaluation.Run) []evaluation.Step {
	if run.Data == nil {
		return nil
	}
	return run.Data.Steps
}

// underWay tells whether the run is a runner's, or waits for one.
func underWay(run *evaluation.Run) bool {
	return run.Flags[evaluation.IsActive] && (run.Status == evaluation.Queued || run.Status == evaluation.Running)
}

// Start takes in what the run's sources hold, makes a scenario of each, and has
// computed what no result says yet. One that is under way stays as it is. nil
// where there is no such run.
func (v *Evaluate) Start(ctx context.Context, caller domain.Principal, id uuid.UUID) (*evaluation.Run, error) {
	// Who starts it at the same time finds it under way then.
	return v.changed(ctx, caller.Project, id, func() (*evaluation.Run, error) { return v.start(ctx, caller, id) })
}

func (v *Evaluate) start(ctx context.Context, caller domain.Principal, id uuid.UUID) (*evaluation.Run, error) {
	run, err := v.deps.Runs.Run(ctx, caller.Project, id)
	if err != nil || run == nil || underWay(run) {
		return run, err
	}
	if run.Closed() {
		return nil, evaluation.ClosedConflict(run.ID, "", uuid.Nil)
	}
	if err := refuseLive(run.Flags); err != nil {
		return nil, err
	}
	if run.Data == nil || !does(run.Data) && !run.Flags[evaluation.IsQueue] {
		return nil, domain.E(domain.Rejected, "There is nothing to run: an evaluation needs a testset or a query, and an application or an evaluator.")
	}
	items, err := v.items(ctx, caller, run)
	if err != nil {
		return nil, err
	}
	results, err := v.deps.Runs.Results(ctx, caller.Project, run.ID)
	if err != nil {
		return nil, err
	}
	if _, err := v.mint(ctx, caller, run, items, results); err != nil {
		return nil, err
	}
	return v.enqueue(ctx, caller, run, evaluation.Slice{}, false)
}

// Process has computed what no result says yet of a slice of the scenarios that
// are there, or all of it. nil where there is no such run.
func (v *Evaluate) Process(ctx context.Context, caller domain.Principal, id uuid.UUID, within evaluation.Slice, overwrite bool) (*evaluation.Run, error) {
	return v.changed(ctx, caller.Project, id, func() (*evaluation.Run, error) {
		run, err := v.deps.Runs.Run(ctx, caller.Project, id)
		if err != nil || run == nil {
			return nil, err
		}
		if run.Closed() {
			return nil, evaluation.ClosedConflict(run.ID, "", uuid.Nil)
		}
		if run.Data == nil || within.Empty() {
			return run, nil
		}
		return v.enqueue(ctx, caller, run, within, overwrite)
	})
}

// enqueue marks the cells of a slice that are to be computed, and hands the run
// to whoever takes it. What people say is marked as theirs.
func (v *Evaluate) enqueue(ctx context.Context, caller domain.Principal, run *evaluation.Run, within evaluation.Slice, overwrite bool) (*evaluation.Run, error) {
	results, err := v.deps.Runs.Results(ctx, caller.Project, run.ID)
	if err != nil {
		return nil, err
	}
	scenarios := 0
	for range ByScenario(results) {
		scenarios++
	}
	if err := v.cfg.fits(run, scenarios); err != nil {
		return nil, err
	}
	theirs := v.theirs(ctx, caller, run)
	drafts := wanted(run, results, within, overwrite, theirs)
	computed := false
	for chunk := range slices.Chunk(drafts, MaxChunk) {
		if _, err := v.deps.Runs.SetResults(ctx, caller, chunk); err != nil {
			return nil, err
		}
		computed = computed || slices.ContainsFunc(chunk, func(d evaluation.ResultDraft) bool { return d.Status == evaluation.Queued })
	}
	edit := evaluation.RunDraft{Flags: evaluation.Flags{evaluation.IsActive: true}}
	edit.ID, edit.Status = run.ID, evaluation.Queued
	if !computed {
		if underWay(run) {
			return run, nil
		}
		return v.updateStatus(ctx, caller, run.ID)
	}
	queued, err := first(v.deps.Runs.EditRuns(ctx, caller, []evaluation.RunDraft{edit}))
	v.Wake()
	return queued, err
}

// fits holds the results that a run of so many scenarios comes to have against the
// limit: all of them are looked at whenever it goes on.
func (c Config) fits(run *evaluation.Run, scenarios int) error {
	lanes := 0
	for _, s := range steps(run) {
		lanes += run.Lanes(s)
	}
	if n := scenarios * lanes; n > c.MaxResults {
		return domain.E(domain.Rejected, "An evaluation has at most %d results, not %d: take fewer repeats, steps or scenarios.", c.MaxResults, n)
	}
	return nil
}

// MaxChunk is how many results are set in one transaction.
const MaxChunk = 1000

// theirs are the steps that nobody here computes: those of people, and those of
// a client's own code that nothing here runs.
func (v *Evaluate) theirs(ctx context.Context, caller domain.Principal, run *evaluation.Run) map[string]bool {
	out := map[string]bool{}
	for _, s := range steps(run) {
		switch s.Origin {
		case evaluation.Human:
			out[s.Key] = true
		case evaluation.Custom:
			if s.Type == evaluation.Input {
				continue
			}
			_, err := v.Revision(domain.WithPrincipal(ctx, caller), s)
			out[s.Key] = domain.KindOf(err) == domain.Rejected
		default:
		}
	}
	return out
}

// wanted are the results to be set before a run goes on: queued where it is to
// be computed, pending where it is somebody's to say. A scenario whose input
// nobody gave is left alone.
func wanted(run *evaluation.Run, results []evaluation.Result, within evaluation.Slice, overwrite bool, theirs map[string]bool) []evaluation.ResultDraft {
	var scenarios []uuid.UUID
	var cells []evaluation.Cell
	seen := map[uuid.UUID]bool{}
	for i := range results {
		r := &results[i]
		s := run.Data.Step(r.StepKey)
		switch {
		case s == nil:
		case s.Type == evaluation.Input:
			if !seen[r.ScenarioID] && (r.TestcaseID != nil || !r.TraceID.IsZero()) {
				seen[r.ScenarioID] = true
				scenarios = append(scenarios, r.ScenarioID)
			}
		case within.Holds(r.Cell()) && !theirs[r.StepKey] && again(r.Status, overwrite, underWay(run)):
			cells = append(cells, r.Cell())
		}
	}
	cells = slices.DeleteFunc(cells, func(c evaluation.Cell) bool { return !seen[c.Scenario] })
	cells = append(cells, run.Open(scenarios, results, within)...)
	drafts := make([]evaluation.ResultDraft, len(cells))
	for i, c := range cells {
		drafts[i] = ResultAt(run.ID, c)
		if drafts[i].Status = evaluation.Queued; theirs[c.Step] {
			drafts[i].Status = evaluation.Pending
		}
	}
	return drafts
}

// again tells whether a result that stands is to be computed: what was given
// up, or never ended; of a run under way that is its runner's to see to.
func again(s evaluation.Status, overwrite, busy bool) bool {
	if Waits(s) {
		return !busy
	}
	return overwrite || s == evaluation.Cancelled || s == evaluation.Pending
}

// ResultAt returns the create request of a cell's result, without a status.
func ResultAt(run uuid.UUID, c evaluation.Cell) evaluation.ResultDraft {
	return evaluation.ResultDraft{PartDraft: evaluation.PartDraft{RunID: run}, ScenarioID: c.Scenario, StepKey: c.Step, RepeatIdx: c.Repeat}
}

// Revision finds what a step runs, once for all its cells. The caller is in ctx.
func (v *Evaluate) Revision(ctx context.Context, s evaluation.Step) (entity.Entities, error) {
	f := entity.Applications()
	if s.Type == evaluation.Annotation {
		f = entity.Evaluators()
	}
	var refs entity.Refs
	for _, level := range []entity.Level{entity.LevelArtifact, entity.LevelVariant, entity.LevelRevision} {
		*refs.At(level) = s.References[f.Member(level)]
	}
	if refs.Revision.ID != uuid.Nil {
		refs = entity.Refs{Revision: domain.Reference{ID: refs.Revision.ID}}
	}
	return v.deps.Invoke.Find(ctx, entity.Retrieval{Family: f, Refs: refs})
}
