// Command colonnade is the whole service in one binary: the API, the sink and
// the embedded stores, as roles of one process or of many, and the tools
// around them. Every subcommand explains itself with --help.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"colonnade/deploy/embedded"
	"colonnade/write/invoke/sandbox"
)

func main() {
	// An embedded store, or a run of somebody's code, is this same executable with a word in its arguments.
	if handled, exit := embedded.Child(os.Args[1:]); handled {
		os.Exit(exit) //nolint:forbidigo // this is main
	}
	if handled, exit := sandbox.Child(os.Args[1:]); handled {
		os.Exit(exit) //nolint:forbidigo // this is main
	}
	os.Exit(run()) //nolint:forbidigo // this is main
}

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	// The second signal does not wait for the drain.
	context.AfterFunc(ctx, stop)

	root := newRoot(environment{
		environ: os.Environ(),
		now:     time.Now,   //nolint:forbidigo // the one clock, handed to every room
		started: time.Now(), //nolint:forbidigo // as above
	})
	if err := root.ExecuteContext(ctx); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "colonnade:", err)
		return 1
	}
	return 0
}
