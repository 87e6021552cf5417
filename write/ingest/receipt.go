package ingest

import (
	"fmt"
	"strings"
)

// Message says in words which spans were refused and why: the first few by
// name, the others by number. Empty where none was.
func (r Receipt) Message() string {
	const named = 10
	if len(r.Rejected) == 0 {
		return ""
	}
	var b strings.Builder
	if r.Count == 0 {
		b.WriteString("Failed to parse OTEL span. ")
	}
	fmt.Fprintf(&b, "%d of %d spans refused: ", len(r.Rejected), r.Count+len(r.Rejected))
	for n, f := range r.Rejected[:min(len(r.Rejected), named)] {
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
	if n := len(r.Rejected) - named; n > 0 {
		fmt.Fprintf(&b, "; and %d more", n)
	}
	return b.String()
}
