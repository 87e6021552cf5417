// Command fairshare measures whether a hostile project takes the service away from a light
// one. It builds the working tree, starts it with the embedded engines, and takes turns: in
// each, a light client lists ten spans and writes one alone, and then beside 200 callers of
// another project that search for a hundred texts at once and compute statistics. The p99 of
// the light client may triple, /readyz must be 200, and the memory of the process must stay
// within its setting. The limits by the second are lifted, so that nothing but the sharing
// of slots and memory is measured.
//
// Run it with make fair-share. deploy/docs/performance.md has what was reached.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	binary, dir    string
	turns, callers int
	traces         int
	window         time.Duration
	limit          float64
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		_, _ = fmt.Fprintln(os.Stderr, "fairshare:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func parseOptions(args []string, usage io.Writer) (options, error) {
	o := options{}
	f := flag.NewFlagSet("fairshare", flag.ContinueOnError)
	f.SetOutput(usage)
	f.StringVar(&o.binary, "binary", "", "a built service, instead of building the working tree")
	f.IntVar(&o.turns, "turns", 5, "turns, each alone and beside the hostile project")
	f.IntVar(&o.callers, "callers", 200, "callers of the hostile project")
	f.IntVar(&o.traces, "traces", 5000, "traces of the hostile project; the light one has a twentieth")
	f.DurationVar(&o.window, "window", 10*time.Second, "time of each half of a turn")
	f.Float64Var(&o.limit, "limit", 3, "largest ratio of the light client's p99, beside to alone")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.turns < 1 || o.callers < 1 || o.traces < 20 || o.window < time.Second {
		return o, errors.New("-turns and -callers must be positive, -traces at least 20, -window at least 1s")
	}
	return o, nil
}

func run(ctx context.Context, args []string, out, progress io.Writer) (err error) {
	o, err := parseOptions(args, progress)
	if err != nil {
		return err
	}
	if o.dir, err = os.MkdirTemp("", "fairshare-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.dir)) }() //nolint:gosec // the folder that this program made
	if o.binary == "" {
		o.binary = filepath.Join(o.dir, "colonnade")
		build := exec.CommandContext(ctx, "go", "build", "-tags", "embedded", "-trimpath", "-o", o.binary, "./cmd/colonnade") //nolint:gosec // our own tree
		build.Stdout, build.Stderr = progress, progress
		if err := build.Run(); err != nil {
			return fmt.Errorf("building the working tree: %w", err)
		}
	}
	s, err := start(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	_, _ = fmt.Fprintln(progress, "loading two projects ...")
	if err := s.fill(ctx, o.traces); err != nil {
		return err
	}
	var lists, writes []float64
	peak := int64(0)
	_, _ = fmt.Fprintln(out, "turn  list alone  beside  ratio   write alone  beside  ratio   hostile served  refused   memory")
	for turn := range o.turns {
		alone, err := s.light(ctx, o.window)
		if err != nil {
			return err
		}
		hostile := s.startAttack(ctx, o.callers)
		beside, err := s.light(ctx, o.window)
		served, refused, failed := hostile.stop()
		if err != nil {
			return fmt.Errorf("beside the hostile project: %w", err)
		}
		if failed != nil {
			return fmt.Errorf("the hostile project met more than refusals: %w", failed)
		}
		list, write := ratio(beside.lists, alone.lists), ratio(beside.writes, alone.writes)
		lists, writes, peak = append(lists, list), append(writes, write), max(peak, beside.memory)
		_, _ = fmt.Fprintf(out, "%4d  %7.1f ms %4.1f ms  %5.2f   %8.1f ms %4.1f ms  %5.2f   %14d  %7d   %3d MiB\n", turn+1,
			p99(alone.lists), p99(beside.lists), list, p99(alone.writes), p99(beside.writes), write, served, refused, beside.memory>>20)
	}
	list, write := median(lists), median(writes)
	_, _ = fmt.Fprintf(out, "\nmedian of the turns: list %.2f, write %.2f (at most %.1f); memory %d MiB of %d\n", list, write, o.limit, peak>>20, int64(memoryLimit)>>20)
	switch {
	case list > o.limit || write > o.limit:
		return fmt.Errorf("the hostile project makes the light one wait: list %.2f, write %.2f", list, write)
	case peak > memoryLimit:
		return fmt.Errorf("the process used %d MiB", peak>>20)
	default:
		return nil
	}
}

func ratio(beside, alone []time.Duration) float64 { return p99(beside) / p99(alone) }

// p99 returns the 99th percentile in milliseconds.
func p99(times []time.Duration) float64 {
	slices.Sort(times)
	return float64(times[len(times)*99/100].Microseconds()) / 1000
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
