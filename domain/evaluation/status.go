package evaluation

import (
	"slices"
	"strings"

	"colonnade/domain"
)

// Status says how far a run or a part of it is. Source: contract §5.8.
type Status string

// The statuses. Success, failure and errors are ends: all went well, nothing
// did, some did not. Cancelled is one that somebody asked for.
const (
	Pending   Status = "pending"
	Queued    Status = "queued"
	Running   Status = "running"
	Success   Status = "success"
	Failure   Status = "failure"
	Errors    Status = "errors"
	Cancelled Status = "cancelled"
)

// Statuses are all of them.
func Statuses() []Status {
	return []Status{Pending, Queued, Running, Success, Failure, Errors, Cancelled}
}

// UnmarshalText reads a status; any other word is Invalid.
func (s *Status) UnmarshalText(text []byte) error {
	return word(s, string(text), Statuses())
}

// Ended reports whether nothing more is going to happen unless it is started again.
func (s Status) Ended() bool {
	return s == Success || s == Failure || s == Errors || s == Cancelled
}

// Becomes reports whether a run of this status may have another one next: what
// was cancelled has to be started again before it ends otherwise, or a runner
// that had not noticed would undo the cancellation. All else is the client's word.
func (s Status) Becomes(next Status) bool {
	return s != Cancelled || next == Cancelled || !next.Ended()
}

// StatusConflict is the refusal of a status that may not follow.
func StatusConflict(from, to Status) error {
	return domain.E(domain.Conflict, "A run that is %s does not become %s: start it again first.", from, to)
}

// word takes one of a closed set of words.
func word[W ~string](into *W, given string, words []W) error {
	if !slices.Contains(words, W(given)) {
		msg := "Input should be " + listed(words)
		return &domain.Error{Kind: domain.Invalid, Message: msg, Fields: []domain.Field{{Type: "enum", Msg: msg, Input: given}}}
	}
	*into = W(given)
	return nil
}

func listed[W ~string](words []W) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = "'" + string(w) + "'"
	}
	last := len(quoted) - 1
	return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}
