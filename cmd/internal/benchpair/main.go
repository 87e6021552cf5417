// Command benchpair measures two builds of Colonnade against each other: a
// base commit and the working tree. Each build runs on its own data directory
// with the embedded engines, loaded with the same traces. A second service of
// the base measures what the machine itself changes. The three take turns, so
// that a slow minute meets all of them, and a figure counts as a ratio.
//
// Run it with make bench-pair BASE=<commit>. deploy/docs/performance.md says
// how to read the table.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	base, dir                   string
	baseBinary, candidateBinary string
	spans, turns, rounds, rate  int
	over, idleWait              time.Duration
	limits                      limits
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "benchpair:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func parseOptions(args []string, usage io.Writer) (options, error) {
	o := options{}
	f := flag.NewFlagSet("benchpair", flag.ContinueOnError)
	f.SetOutput(usage)
	f.StringVar(&o.base, "base", "", "commit to compare with")
	f.StringVar(&o.dir, "dir", "", "folder for binaries and data, removed at the end (default: a new one below the system's temporary folder)")
	f.IntVar(&o.spans, "spans", 1_000_000, "spans that each service receives: half before the first turn, the others in the turns")
	f.IntVar(&o.turns, "turns", 5, "turns of each service")
	f.IntVar(&o.rounds, "rounds", 40, "rounds of reads in a turn")
	f.IntVar(&o.rate, "rate", 500, "spans per second that come in while reads are measured; 0 is none")
	f.DurationVar(&o.over, "over", 14*24*time.Hour, "how far back the spans before the first turn reach, and the reads")
	f.Float64Var(&o.limits.ingest, "ingest-limit", 1.10, "largest ratio of ingest rows")
	f.Float64Var(&o.limits.reads, "reads-limit", 1.10, "largest ratio of the medians of reads")
	f.Float64Var(&o.limits.tail, "p99-limit", 1.50, "largest ratio of p99")
	f.DurationVar(&o.idleWait, "idle-wait", time.Minute, "longest wait for background merges before a measurement")
	f.StringVar(&o.baseBinary, "base-binary", "", "a built base, instead of building -base")
	f.StringVar(&o.candidateBinary, "candidate-binary", "", "a built candidate, instead of building the working tree")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case o.base == "" && o.baseBinary == "":
		return o, errors.New("-base names the commit to compare with")
	case o.turns < 1 || o.rounds < 1 || o.rate < 0 || o.over <= 0:
		return o, errors.New("-turns, -rounds and -over must be positive, -rate not negative")
	case o.spans < 1000:
		return o, errors.New("-spans must be at least 1000")
	}
	return o, nil
}

func run(ctx context.Context, args []string, out, progress io.Writer) (err error) {
	o, err := parseOptions(args, progress)
	if err != nil {
		return err
	}
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "benchpair-"); err != nil {
			return err
		}
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.dir)) }() //nolint:gosec // the folder that the caller of this tool names
	began := time.Now()                                            //nolint:forbidigo // this is main
	say := func(format string, args ...any) {
		_, _ = fmt.Fprintf(progress, "%6.0fs %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}
	if err := build(ctx, &o, say); err != nil {
		return err
	}
	p := &pair{options: o, say: say, now: time.Now} //nolint:forbidigo // this is main
	defer func() { err = errors.Join(err, p.stop()) }()
	if err := p.start(ctx); err != nil {
		return err
	}
	if err := p.fill(ctx); err != nil {
		return err
	}
	table, err := p.measure(ctx, o.turns, ingestRows(), nil)
	if err != nil {
		return err
	}
	table.print(out, o.limits)
	failed := table.failed(o.limits)
	if len(failed) == 0 {
		return nil
	}
	again, err := p.measureAlone(ctx, failed)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "\nThe rows that failed, once more and alone, %d turns:\n\n", turnsAlone)
	again.print(out, o.limits)
	if failed = again.failed(o.limits); len(failed) > 0 {
		return fmt.Errorf("%d rows fail: %q", len(failed), failed)
	}
	return nil
}
