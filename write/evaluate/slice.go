package evaluate

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/evaluation"
)

// What a client does to a run by its places: cells are looked at, written and
// removed, steps, scenarios and repeats added and taken away. All of it is of
// the run that the path names; found is false where there is none.

// maxProbed is how many results are given at once: whoever looks at a run may ask for all of it.
const maxProbed = 50_000

// Probe gives the results of a slice.
func (v *Evaluate) Probe(ctx context.Context, caller domain.Principal, id uuid.UUID, within evaluation.Slice) (results []evaluation.Result, err error) {
	if within.Empty() {
		return nil, nil
	}
	found, err := v.deps.Runs.ResultsOf(ctx, caller.Project, id, within, maxProbed+1)
	if len(found) > maxProbed {
		return nil, domain.E(domain.Rejected, "The slice has more than %d results: name fewer scenarios, steps or repeats, or ask /evaluations/results/query for pages.", maxProbed)
	}
	return found, err
}

// Populate writes results, which are those of this run alone. Where the run
// waited for people, it goes on as they say.
func (v *Evaluate) Populate(ctx context.Context, caller domain.Principal, id uuid.UUID, drafts []evaluation.ResultDraft) ([]evaluation.Result, error) {
	for i := range drafts {
		if drafts[i].RunID == uuid.Nil {
			drafts[i].RunID = id
		}
		if drafts[i].RunID != id {
			return nil, domain.E(domain.Rejected, "A result of the run %s cannot be set through the run %s.", drafts[i].RunID, id)
		}
	}
	if len(drafts) == 0 {
		return nil, nil
	}
	set, err := v.deps.Runs.SetResults(ctx, caller, drafts)
	if err != nil {
		return nil, err
	}
	return set, v.Resume(ctx, caller, id)
}

// Resume lets a run go on that waits for nobody but people.
func (v *Evaluate) Resume(ctx context.Context, caller domain.Principal, id uuid.UUID) error {
	waits := func() (bool, error) {
		run, err := v.deps.Runs.Run(ctx, caller.Project, id)
		return err == nil && run != nil && run.Status == evaluation.Pending && run.Flags[evaluation.HasHuman], err
	}
	if ask, err := waits(); err != nil || !ask {
		return err
	}
	// Who starts it at the same time would have it end before anything is computed.
	return v.Exclusive(ctx, caller.Project, id, func() error {
		if still, err := waits(); err != nil || !still {
			return err
		}
		_, err := v.updateStatus(ctx, caller, id)
		return err
	})
}

// Prune removes the results of a slice, and what metrics made of them.
func (v *Evaluate) Prune(ctx context.Context, caller domain.Principal, id uuid.UUID, within evaluation.Slice) error {
	run, err := v.deps.Runs.Run(ctx, caller.Project, id)
	if err != nil || run == nil {
		return err
	}
	if run.Closed() {
		return evaluation.ClosedConflict(run.ID, "", uuid.Nil)
	}
	if within.Empty() {
		return nil
	}
	results, err := v.deps.Runs.ResultsOf(ctx, caller.Project, run.ID, within, 0)
	if err != nil || len(results) == 0 {
		return err
	}
	var ids, scenarios []uuid.UUID
	for i := range results { // in the order of their scenarios
		ids = append(ids, results[i].ID)
		if n := len(scenarios); n == 0 || scenarios[n-1] != results[i].ScenarioID {
			scenarios = append(scenarios, results[i].ScenarioID)
		}
	}
	for chunk := range slices.Chunk(ids, MaxChunk) {
		if _, err := v.deps.Runs.DeleteResults(ctx, caller, chunk); err != nil {
			return err
		}
	}
	return v.RefreshMetrics(ctx, caller, run, scenarios)
}

// Refresh recomputes the metrics of a slice's scenarios and of the run. A run that
// waits for annotators resumes with their results.
func (v *Evaluate) Refresh(ctx context.Context, caller domain.Principal, id uuid.UUID, within evaluation.Slice) error {
	run, err := v.deps.Runs.Run(ctx, caller.Project, id)
	if err != nil || run == nil || within.Empty() {
		return err
	}
	if err := v.RefreshMetrics(ctx, caller, run, within.Scenarios); err != nil {
		return err
	}
	return v.Resume(ctx, caller, id)
}

// RefreshMetrics computes the metrics of the run, and those of scenarios where some are named.
func (v *Evaluate) RefreshMetrics(ctx context.Context, caller domain.Principal, run *evaluation.Run, scenarios []uuid.UUID) error {
	for chunk := range slices.Chunk(scenarios, MaxChunk) {
		if _, err := v.deps.Runs.RefreshMetrics(ctx, caller, evaluation.Refresh{RunIDs: []uuid.UUID{run.ID}, ScenarioIDs: chunk}); err != nil {
			return err
		}
	}
	_, err := v.deps.Runs.RefreshMetrics(ctx, caller, evaluation.Refresh{RunIDs: []uuid.UUID{run.ID}})
	return err
}

// AddSteps adds steps to a run; one whose key is there stays as it is.
func (v *Evaluate) AddSteps(ctx context.Context, caller domain.Principal, id uuid.UUID, added []evaluation.Step) (*evaluation.Run, error) {
	return v.change(ctx, caller, id, func(d *evaluation.Data) {
		for _, s := range added {
			if d.Step(s.Key) == nil {
				d.Steps = append(d.Steps, s)
			}
		}
	})
}

// RemoveSteps takes steps away, with their results and columns.
func (v *Evaluate) RemoveSteps(ctx context.Context, caller domain.Principal, id uuid.UUID, keys []string) (*evaluation.Run, error) {
	return v.change(ctx, caller, id, func(d *evaluation.Data) {
		d.Steps = slices.DeleteFunc(d.Steps, func(s evaluation.Step) bool { return slices.Contains(keys, s.Key) })
		d.Mappings = slices.DeleteFunc(d.Mappings, func(m evaluation.Mapping) bool { return slices.Contains(keys, m.Step.Key) })
	})
}

// SetRepeats says how often the steps are done; results that are there stay.
func (v *Evaluate) SetRepeats(ctx context.Context, caller domain.Principal, id uuid.UUID, repeats int) (*evaluation.Run, error) {
	return v.change(ctx, caller, id, func(d *evaluation.Data) { d.Repeats = repeats })
}

// change gives a run data that differ a little.
func (v *Evaluate) change(ctx context.Context, caller domain.Principal, id uuid.UUID, differ func(*evaluation.Data)) (*evaluation.Run, error) {
	run, err := v.deps.Runs.Run(ctx, caller.Project, id)
	if err != nil || run == nil {
		return nil, err
	}
	data := evaluation.Data{}
	if run.Data != nil {
		data = *run.Data
		data.Steps, data.Mappings = slices.Clone(data.Steps), slices.Clone(data.Mappings)
	}
	differ(&data)
	if err := data.Check("body"); err != nil {
		return nil, err
	}
	draft := evaluation.RunDraft{Data: &data}
	draft.ID = id
	return v.reshape(ctx, caller, run, draft)
}

// AddScenarios adds scenarios without results. At a time they are of the minute that it lies in.
func (v *Evaluate) AddScenarios(ctx context.Context, caller domain.Principal, id uuid.UUID, count int, at *time.Time) ([]evaluation.Scenario, error) {
	if count > v.cfg.MaxScenarios {
		return nil, domain.E(domain.Rejected, "At most %d scenarios can be added, not %d.", v.cfg.MaxScenarios, count)
	}
	draft := evaluation.ScenarioDraft{PartDraft: evaluation.PartDraft{RunID: id}}
	if at != nil {
		minute, one := at.UTC().Truncate(time.Minute), 1
		draft.When = evaluation.When{Interval: &one, Timestamp: &minute}
	}
	var made []evaluation.Scenario
	for chunk := range slices.Chunk(slices.Repeat([]evaluation.ScenarioDraft{draft}, count), MaxChunk) {
		rows, err := v.deps.Runs.AddScenarios(ctx, caller, chunk)
		if err != nil {
			return made, err
		}
		made = append(made, rows...)
	}
	return made, nil
}

// RemoveScenarios removes scenarios with their results, and from the run's metrics
// what they gave; one that is not of this run is Rejected.
func (v *Evaluate) RemoveScenarios(ctx context.Context, caller domain.Principal, id uuid.UUID, scenarios []uuid.UUID) error {
	ours := map[uuid.UUID]bool{}
	err := v.EachScenario(ctx, caller.Project, id, func(s *evaluation.Scenario) error {
		ours[s.ID] = true
		return nil
	})
	if err != nil {
		return err
	}
	for _, scenario := range scenarios {
		if !ours[scenario] {
			return domain.E(domain.Rejected, "The evaluation run %s has no scenario %s.", id, scenario)
		}
	}
	gone, err := v.deps.Runs.DeleteScenarios(ctx, caller, scenarios)
	if err != nil || len(gone) == 0 {
		return err
	}
	run, err := v.deps.Runs.Run(ctx, caller.Project, id)
	if err != nil || run == nil {
		return err
	}
	return v.RefreshMetrics(ctx, caller, run, nil)
}
