package evaluate

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/evaluation"
)

// Stop cancels a run: what is under way is given up, what is done stays. One
// that has ended stays as it is; one that is just being started is stopped once
// it is. nil where there is no such run.
func (v *Evaluate) Stop(ctx context.Context, caller domain.Principal, id uuid.UUID) (*evaluation.Run, error) {
	return v.changed(ctx, caller.Project, id, func() (*evaluation.Run, error) { return v.stop(ctx, caller, id) })
}

func (v *Evaluate) stop(ctx context.Context, caller domain.Principal, id uuid.UUID) (*evaluation.Run, error) {
	run, err := v.deps.Runs.Run(ctx, caller.Project, id)
	if err != nil || run == nil {
		return nil, err
	}
	draft := evaluation.RunDraft{Flags: evaluation.Flags{evaluation.IsActive: false}}
	if draft.ID = id; !run.Status.Ended() {
		draft.Status = evaluation.Cancelled
	}
	stopped, err := first(v.deps.Runs.EditRuns(ctx, caller, []evaluation.RunDraft{draft}))
	if err != nil || stopped == nil || draft.Status == "" {
		return stopped, err
	}
	v.interrupt(id)
	return stopped, v.CancelPending(ctx, caller, id)
}

// CancelPending marks what is not going to be computed after a stop. Nobody may start
// the run meanwhile: what is queued again would be marked, too, and the run would
// end as it was stopped.
func (v *Evaluate) CancelPending(ctx context.Context, caller domain.Principal, id uuid.UUID) error {
	results, err := v.deps.Runs.Results(ctx, caller.Project, id)
	if err != nil {
		return err
	}
	var cells []evaluation.ResultDraft
	var scenarios []evaluation.ScenarioDraft
	for i := range results {
		if r := &results[i]; r.Status == evaluation.Queued || r.Status == evaluation.Running {
			d := ResultAt(id, r.Cell())
			d.ID, d.Status = r.ID, evaluation.Cancelled
			cells = append(cells, d)
			if n := len(scenarios); n == 0 || scenarios[n-1].ID != r.ScenarioID {
				s := evaluation.ScenarioDraft{PartDraft: evaluation.PartDraft{RunID: id}}
				s.ID, s.Status = r.ScenarioID, evaluation.Cancelled
				scenarios = append(scenarios, s)
			}
		}
	}
	for chunk := range slices.Chunk(cells, MaxChunk) {
		if _, err := v.deps.Runs.EditResults(ctx, caller, chunk); err != nil {
			return err
		}
	}
	for chunk := range slices.Chunk(scenarios, MaxChunk) {
		if _, err := v.deps.Runs.EditScenarios(ctx, caller, chunk); err != nil {
			return err
		}
	}
	return nil
}

// updateStatus gives the scenarios of a run, and the run itself, the status that
// their results add up to. A scenario that somebody gave an end keeps it, unless
// it was cancelled and all of it is done.
func (v *Evaluate) updateStatus(ctx context.Context, caller domain.Principal, id uuid.UUID) (*evaluation.Run, error) {
	run, err := v.deps.Runs.Run(ctx, caller.Project, id)
	if err != nil || run == nil {
		return nil, err
	}
	results, err := v.deps.Runs.Results(ctx, caller.Project, id)
	if err != nil {
		return nil, err
	}
	of := map[uuid.UUID][]evaluation.Status{}
	for i := range results {
		of[results[i].ScenarioID] = append(of[results[i].ScenarioID], results[i].Status)
	}
	var all []evaluation.Status
	var changed []evaluation.ScenarioDraft
	err = v.EachScenario(ctx, caller.Project, id, func(s *evaluation.Scenario) error {
		status := s.Status
		if parts, ok := of[s.ID]; ok {
			sum := evaluation.StatusOf(parts)
			if done := sum == evaluation.Success || sum == evaluation.Errors; !status.Ended() || status == evaluation.Cancelled && done {
				status = sum
			}
		}
		if all = append(all, status); status != s.Status {
			d := evaluation.ScenarioDraft{PartDraft: evaluation.PartDraft{RunID: id}}
			d.ID, d.Status = s.ID, status
			changed = append(changed, d)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for chunk := range slices.Chunk(changed, MaxChunk) {
		if _, err := v.deps.Runs.EditScenarios(ctx, caller, chunk); err != nil {
			return nil, err
		}
	}
	draft := evaluation.RunDraft{Flags: evaluation.Flags{evaluation.IsActive: false}}
	draft.ID, draft.Status = id, evaluation.StatusOf(all)
	if !run.Status.Becomes(draft.Status) { // one that was stopped and is started again goes on first
		again := evaluation.RunDraft{}
		again.ID, again.Status = id, evaluation.Running
		if _, err := v.deps.Runs.EditRuns(ctx, caller, []evaluation.RunDraft{again}); err != nil {
			return nil, err
		}
	}
	return first(v.deps.Runs.EditRuns(ctx, caller, []evaluation.RunDraft{draft}))
}

// pageOfScenarios is how many scenarios are read at once.
const pageOfScenarios = 1000

// EachScenario calls each for every scenario of a run in the order of their ids, and stops at
// the first error.
func (v *Evaluate) EachScenario(ctx context.Context, project domain.ProjectID, run uuid.UUID, each func(*evaluation.Scenario) error) error {
	for after := uuid.Nil; ; {
		page, err := v.deps.Runs.Scenarios(ctx, project, run, after, pageOfScenarios)
		if err != nil {
			return err
		}
		for i := range page {
			if err := each(&page[i]); err != nil {
				return err
			}
		}
		if len(page) < pageOfScenarios {
			return nil
		}
		after = page[len(page)-1].ID
	}
}

// Waits reports whether a result of this status is to be computed or is being computed.
func Waits(s evaluation.Status) bool { return s == evaluation.Queued || s == evaluation.Running }

// ByScenario iterates over results, which are ordered by scenario, in groups of one
// scenario.
func ByScenario(results []evaluation.Result) func(yield func([]evaluation.Result) bool) {
	return func(yield func([]evaluation.Result) bool) {
		for from := 0; from < len(results); {
			to := from
			for to < len(results) && results[to].ScenarioID == results[from].ScenarioID {
				to++
			}
			if !yield(results[from:to]) {
				return
			}
			from = to
		}
	}
}
