package domain

import "fmt"

// Retention is how many days a project keeps its spans, and how many their payloads, counted
// from the start of the span. Zero keeps them.
type Retention struct {
	Project           ProjectID
	Days, PayloadDays int
}

// MaxRetentionDays is about a century: longer means to keep everything.
const MaxRetentionDays = 36_500

// Validate returns an error of kind Invalid that names what cannot be meant.
func (r Retention) Validate() error {
	for name, days := range map[string]int{"days": r.Days, "payload_days": r.PayloadDays} {
		if days < 0 || days > MaxRetentionDays {
			return invalidDays(name, fmt.Sprintf("Input should be from 0, which keeps, to %d", MaxRetentionDays), days)
		}
	}
	if r.Days > 0 && r.PayloadDays > r.Days {
		return invalidDays("payload_days", "Input should not exceed days: payloads are deleted with their spans", r.PayloadDays)
	}
	return nil
}

func invalidDays(name, msg string, days int) error {
	return &Error{Kind: Invalid, Fields: []Field{{Type: "value_error", Loc: []any{"body", name}, Msg: msg, Input: days}}}
}
