package load

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Report is what a run measured.
type Report struct {
	Spans, Traces, Bytes, Requests, Retries int64
	// Sum is the checksum of all that was sent.
	Sum uint64
	// Sending is the time until the last receipt; Visible the time until all of it could be read.
	Sending, Visible time.Duration
	// Delays are the times from a receipt to a query that shows its spans, ascending.
	Delays []time.Duration
	// Reads are what readers measured; nil without readers.
	Reads []ReadTimes
	// Verified is the result of the check; empty if none ran.
	Verified string
}

// AcceptedPerSecond returns the rate of receipts.
func (r *Report) AcceptedPerSecond() float64 { return float64(r.Spans) / r.Sending.Seconds() }

// VisiblePerSecond returns the rate at which spans became readable.
func (r *Report) VisiblePerSecond() float64 { return float64(r.Spans) / r.Visible.Seconds() }

// Delay returns a percentile of the delays, 0..1; zero when nothing was timed.
func (r *Report) Delay(p float64) time.Duration { return percentile(r.Delays, p) }

// Print writes the report as lines for people. cmd/internal/benchpair parses
// them: a base that was built long ago prints the same lines.
func (r *Report) Print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "sent\t%d spans in %d traces, %.1f MB, %d requests, %d retries\n", r.Spans, r.Traces, float64(r.Bytes)/1e6, r.Requests, r.Retries)
	_, _ = fmt.Fprintf(w, "accepted\t%.0f spans/s over %.1f s\n", r.AcceptedPerSecond(), r.Sending.Seconds())
	if r.Visible > 0 {
		_, _ = fmt.Fprintf(w, "visible\t%.0f spans/s, all after %.1f s\n", r.VisiblePerSecond(), r.Visible.Seconds())
		_, _ = fmt.Fprintf(w, "receipt to visible\tp50 %s, p99 %s, %d timed\n", r.Delay(0.5).Round(time.Millisecond), r.Delay(0.99).Round(time.Millisecond), len(r.Delays))
	}
	for i := range r.Reads {
		r.Reads[i].print(w)
	}
	if r.Verified != "" {
		_, _ = fmt.Fprintf(w, "checked\t%s\n", r.Verified)
	}
	return w.Flush()
}

func (t *ReadTimes) print(w io.Writer) {
	round := func(p float64) time.Duration { return t.At(p).Round(100 * time.Microsecond) }
	if len(t.Took) == 0 {
		_, _ = fmt.Fprintf(w, "%s\tnone timed before the sending ended", t.Name)
	} else {
		_, _ = fmt.Fprintf(w, "%s\tp50 %s, p99 %s, slowest %s, %d timed", t.Name, round(0.5), round(0.99), round(1), len(t.Took))
	}
	if t.Failed > 0 {
		_, _ = fmt.Fprintf(w, ", %d failed, the last with: %v", t.Failed, t.Err)
	}
	_, _ = fmt.Fprintln(w)
}
