package evaluate

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/evaluation"
	"colonnade/domain/trace"
)

// QueueDraft is a simple queue as a caller gives it.
type QueueDraft struct {
	evaluation.QueueDraft
	Kind evaluation.QueueKind
	Of   Draft
}

// CreateQueue makes a queue and the run behind it. What its sources hold is
// dealt out at once; traces and testcases are added one by one.
func (v *Evaluate) CreateQueue(ctx context.Context, caller domain.Principal, d QueueDraft) (*evaluation.Queue, *evaluation.Run, error) {
	if d.Kind == evaluation.OfTraces || d.Kind == evaluation.OfTestcases {
		d.Of.Direct = string(d.Kind)
	}
	if n := len(d.Data.UserIDs); d.Of.Repeats < n {
		d.Of.Repeats = n
	}
	run := evaluation.RunDraft{Name: d.Name, Description: d.Description, Flags: evaluation.Flags{evaluation.IsActive: false}, OwnQueue: true}
	run.Tags, run.Meta = d.Tags, d.Meta
	made, err := v.Create(ctx, caller, run, d.Of)
	if err != nil {
		return nil, nil, err
	}
	d.RunID, d.WithRun = made.ID, true
	for _, s := range made.Data.Steps {
		if s.Type == evaluation.Annotation {
			d.Data.StepKeys = append(d.Data.StepKeys, s.Key)
		}
	}
	queue, err := first(v.deps.Runs.CreateQueues(ctx, caller, []evaluation.QueueDraft{d.QueueDraft}))
	switch {
	case err != nil:
	case d.Of.Direct == "":
		made, err = v.Start(ctx, caller, made.ID)
	default:
		made, err = v.deps.Runs.Run(ctx, caller.Project, made.ID)
	}
	if err != nil {
		_, undo := v.deps.Runs.DeleteRuns(ctx, caller, []uuid.UUID{d.RunID})
		return nil, nil, errors.Join(err, undo)
	}
	return queue, made, nil
}

// AddTraces adds traces to a queue of traces, each once; false where there is no such queue.
func (v *Evaluate) AddTraces(ctx context.Context, caller domain.Principal, queue uuid.UUID, ids []trace.TraceID) (bool, error) {
	items := make([]item, len(ids))
	for i, id := range ids {
		items[i] = item{step: evaluation.DirectTraces, trace: id}
	}
	return v.add(ctx, caller, queue, evaluation.OfTraces, items)
}

// AddTestcases adds testcases to a queue of testcases, each once; false where there is no such queue.
func (v *Evaluate) AddTestcases(ctx context.Context, caller domain.Principal, queue uuid.UUID, ids []uuid.UUID) (bool, error) {
	rows, err := v.deps.Registry.TestcasesByID(ctx, caller, ids)
	if err != nil {
		return false, err
	}
	have := map[uuid.UUID]bool{}
	for _, t := range rows {
		have[t.ID] = true
	}
	items := make([]item, len(ids))
	for i, id := range ids {
		items[i] = item{step: evaluation.DirectTestcases, testcase: id}
	}
	return v.add(ctx, caller, queue, evaluation.OfTestcases, items, func() error {
		for _, id := range ids {
			if !have[id] {
				return domain.E(domain.Rejected, "There is no testcase %s.", id)
			}
		}
		return nil
	})
}

func (v *Evaluate) add(ctx context.Context, caller domain.Principal, id uuid.UUID, kind evaluation.QueueKind, items []item, checks ...func() error) (bool, error) {
	queue, err := v.deps.Runs.Queue(ctx, caller.Project, id)
	if err != nil || queue == nil {
		return false, err
	}
	run, err := v.deps.Runs.Run(ctx, caller.Project, queue.RunID)
	if err != nil || run == nil {
		return false, err
	}
	if is := run.QueueKind(); is != kind {
		return true, refuseKind(is, kind)
	}
	for _, check := range checks {
		if err := check(); err != nil {
			return true, err
		}
	}
	if run.Closed() {
		return true, evaluation.ClosedConflict(run.ID, "", uuid.Nil)
	}
	// Who adds the same at the same time finds it there then.
	return true, v.Exclusive(ctx, caller.Project, run.ID, func() error { return v.addTo(ctx, caller, run, items) })
}

func (v *Evaluate) addTo(ctx context.Context, caller domain.Principal, run *evaluation.Run, items []item) error {
	results, err := v.deps.Runs.Results(ctx, caller.Project, run.ID)
	if err != nil {
		return err
	}
	once := map[item]bool{}
	var distinct []item
	for _, it := range items {
		if !once[it] {
			once[it] = true
			distinct = append(distinct, it)
		}
	}
	made, err := v.mint(ctx, caller, run, distinct, results)
	if err != nil || len(made) == 0 {
		return err
	}
	within := evaluation.Slice{}
	for i := range made {
		within.Scenarios = append(within.Scenarios, made[i].ID)
	}
	_, err = v.enqueue(ctx, caller, run, within, false)
	return err
}

// refuseKind says why something does not go into a queue. Source: the words of the reference.
func refuseKind(is, kind evaluation.QueueKind) error {
	message := "Cannot add " + string(kind) + " to a queue of " + string(is) + "."
	if is == evaluation.OfQueries || is == evaluation.OfTestsets {
		message = "Cannot add " + string(kind) + " directly to a source-backed queue. Create a direct " + string(kind) + " queue instead."
	}
	return &domain.Error{Kind: domain.Rejected, Message: message, Detail: map[string]any{"message": message}}
}
