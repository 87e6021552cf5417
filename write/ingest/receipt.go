package ingest

import (
	"fmt"
	"strings"
)

// Message returns a sentence with the refused spans and their reasons: the first few by id,
// the others by number. It is empty where no span was refused.
func (r Receipt) Message() string {
	const named = 10
	if r.Rejected.Count == 0 {
		return ""
	}
	var b strings.Builder
	if r.Count == 0 {
		b.WriteString("Failed to parse OTEL span. ")
	}
	fmt.Fprintf(&b, "%d of %d spans refused: ", r.Rejected.Count, r.Count+r.Rejected.Count)
	for n, f := range r.Rejected.First[:min(len(r.Rejected.First), named)] {
		if n > 0 {
			b.WriteString("; ")
		}
		if !f.Span.IsZero() {
			fmt.Fprintf(&b, "span %s ", f.Span)
		}
		if !f.Trace.IsZero() {
			fmt.Fprintf(&b, "of trace %s ", f.Trace)
		}
		if f.Name != "" {
			fmt.Fprintf(&b, "(%.64q) ", f.Name)
		}
		b.WriteString(f.Reason)
	}
	if n := r.Rejected.Count - named; n > 0 {
		fmt.Fprintf(&b, "; and %d more", n)
	}
	return b.String()
}
