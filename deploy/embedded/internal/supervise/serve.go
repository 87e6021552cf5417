//go:build embedded

package supervise

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Serve is the child's half. It reads the configuration, calls serve and keeps
// watching the lifeline: when the parent orders a stop or dies, the context
// ends. It returns the exit code of the process; serve must return soon after
// the context ends, and is abandoned when it does not.
func Serve[C any](serve func(ctx context.Context, config C, ready func(Ready)) error) int {
	syscall.Umask(privateUmask)
	// Control-C in a terminal reaches the parent, which then stops its children in order.
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP)
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()

	in := bufio.NewReader(os.Stdin)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return 1 // the parent died before it sent its configuration
	}
	var config C
	if err := json.Unmarshal(line, &config); err != nil {
		say(Ready{Error: err.Error()})
		return 1
	}
	go func() {
		_, _ = io.Copy(io.Discard, in) // the parent sends nothing else; the end of the pipe is the message
		cancel()
	}()

	answered := false
	result := make(chan error, 1)
	go func() {
		result <- serve(ctx, config, func(r Ready) {
			answered = true
			if r.PID == 0 {
				r.PID = os.Getpid()
			}
			say(r)
		})
	}()
	select {
	case err = <-result:
	case <-ctx.Done():
		select {
		case err = <-result:
		case <-time.After(stopGrace - 2*time.Second):
			err = errors.New("the engine did not stop in time")
		}
	}
	if err == nil || errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return 0
	}
	if !answered {
		say(Ready{Error: err.Error()})
	} else {
		fmt.Fprintln(os.Stderr, err)
	}
	return 1
}

func say(r Ready) {
	raw, err := json.Marshal(r)
	if err != nil {
		return
	}
	_, _ = os.Stdout.Write(append(raw, '\n')) // the parent may be gone
}
