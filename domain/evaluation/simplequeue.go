package evaluation

import (
	"slices"

	"github.com/google/uuid"
)

// QueueKind says where the scenarios of a simple queue come from.
type QueueKind string

// The kinds: revisions of queries or testsets, or traces and testcases that are
// given one by one.
const (
	OfQueries   QueueKind = "queries"
	OfTestsets  QueueKind = "testsets"
	OfTraces    QueueKind = DirectTraces
	OfTestcases QueueKind = DirectTestcases
)

// QueueKinds are all of them.
func QueueKinds() []QueueKind { return []QueueKind{OfQueries, OfTestsets, OfTraces, OfTestcases} }

// Flag is what runs of this kind have.
func (k QueueKind) Flag() Flag { return Flag("has_" + string(k)) }

// QueueKind tells what kind of queue the run serves; empty of one that serves none.
func (r *Run) QueueKind() QueueKind {
	i := slices.IndexFunc(QueueKinds(), func(k QueueKind) bool { return r.Flags[k.Flag()] })
	if i < 0 {
		return ""
	}
	return QueueKinds()[i]
}

// SimpleQueue is a queue and its run in one record. Source: contract §5.8.
type SimpleQueue struct {
	Record
	Name        *string         `json:"name,omitempty"`
	Description *string         `json:"description,omitempty"`
	Flags       Flags           `json:"flags"`
	Status      Status          `json:"status"`
	Data        SimpleQueueData `json:"data"`
	RunID       uuid.UUID       `json:"run_id"`
}

// SimpleQueueData says what people look at, and who.
type SimpleQueueData struct {
	Kind       QueueKind            `json:"kind,omitempty"`
	Queries    []uuid.UUID          `json:"queries,omitempty"`
	Testsets   []uuid.UUID          `json:"testsets,omitempty"`
	Evaluators map[uuid.UUID]Origin `json:"evaluators,omitempty"`
	Repeats    int                  `json:"repeats,omitempty"`
	// Assignments are, for each repeat, the people who share it.
	Assignments [][]uuid.UUID  `json:"assignments,omitempty"`
	Settings    *QueueSettings `json:"settings,omitempty"`
}

// QueueSettings deal scenarios out in their order.
type QueueSettings struct {
	BatchSize   *int `json:"batch_size,omitempty"`
	BatchOffset *int `json:"batch_offset,omitempty"`
}

// Simple shows a queue with its run.
func (q *Queue) Simple(run *Run) SimpleQueue {
	out := SimpleQueue{
		Record: q.Record, Name: q.Name, Description: q.Description, Flags: q.Flags, Status: q.Status, RunID: q.RunID,
		Data: SimpleQueueData{Kind: run.QueueKind()},
	}
	if q.Data != nil {
		out.Data.Assignments = q.Data.UserIDs
		if q.Data.BatchSize != nil || q.Data.BatchOffset != nil {
			out.Data.Settings = &QueueSettings{q.Data.BatchSize, q.Data.BatchOffset}
		}
	}
	if run.Data == nil {
		return out
	}
	simple := run.Simple().Data
	out.Data.Evaluators, out.Data.Queries, out.Data.Testsets = simple.EvaluatorSteps, idsIn(simple.QuerySteps), idsIn(simple.TestsetSteps)
	if n := max(simple.Repeats, len(out.Data.Assignments)); n > 1 {
		out.Data.Repeats = n
	}
	return out
}

func idsIn(all map[uuid.UUID]Origin) []uuid.UUID {
	ids := make([]uuid.UUID, 0, len(all))
	for id := range all {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	return ids
}

// UnmarshalText reads a kind; any other word is Invalid.
func (k *QueueKind) UnmarshalText(text []byte) error { return word(k, string(text), QueueKinds()) }
