package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"

	"colonnade/domain"
)

// word is the first argument of a child.
const word = "sandbox"

// maxComplaint bounds what a dying child says.
const maxComplaint = 16 << 10

// child is a process for one job.
type child struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *gathered
	stderr *gathered
	done   chan struct{} // closed when the process is gone and its output is whole
}

// start starts a child. It has no environment: nothing of ours, and no secret,
// is there to be read.
func (s *Sandbox) start(args []string) (*child, error) {
	cmd := exec.CommandContext(s.life, s.exe, args...) //nolint:gosec // our own executable
	cmd.Env = []string{}
	cmd.Dir = "/"
	// A child that leaves its output open to a process of its own is not waited for.
	cmd.WaitDelay = time.Second
	c := &child{cmd: cmd, done: make(chan struct{})}
	c.stdout = &gathered{limit: s.cfg.maxAnswer(), full: c.kill}
	c.stderr = &gathered{limit: maxComplaint}
	cmd.Stdout, cmd.Stderr = c.stdout, c.stderr
	var err error
	if c.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("sandbox: opening a child's input: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, domain.Wrap(domain.Unavailable, err, "no process can be started for the code")
	}
	s.alive.Go(func() {
		_ = cmd.Wait() // run looks at the state
		close(c.done)
	})
	return c, nil
}

func (c *child) kill() { _ = c.cmd.Process.Kill() }

// over tells whether the process is gone: a spare ends by itself when nobody needs it.
func (c *child) over() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// run gives the child its job and waits for the answer. The child is gone afterwards.
func (c *child) run(ctx context.Context, input []byte, cfg Config) ([]byte, error) {
	timeout := time.NewTimer(cfg.Timeout)
	defer timeout.Stop()
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		// An error means that the child is gone, which shows below.
		_, _ = c.stdin.Write(input)
		_ = c.stdin.Close()
	}()
	late := false
	select {
	case <-c.done:
	case <-ctx.Done():
	case <-timeout.C:
		late = true
	}
	c.kill()
	<-c.done
	<-fed
	switch state := c.cmd.ProcessState; {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("sandbox: running code: %w", context.Cause(ctx))
	case late:
		return nil, domain.E(domain.Rejected, "the code ran longer than %s", cfg.Timeout)
	case c.stdout.over:
		return nil, domain.E(domain.TooLarge, "the code's result is longer than %d bytes", cfg.MaxOutputBytes)
	case state.Success():
		return c.stdout.kept.Bytes(), nil
	default:
		return nil, c.autopsy(cfg)
	}
}

// autopsy says why a child died, in words for the author of its code.
func (c *child) autopsy(cfg Config) error {
	words := c.stderr.kept.Bytes()
	status, _ := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	cause := fmt.Errorf("sandbox: a child ended with %s: %s", c.cmd.ProcessState, firstLine(words))
	switch {
	case status.Signaled() && (status.Signal() == syscall.SIGXCPU || status.Signal() == syscall.SIGKILL):
		return domain.Wrap(domain.Rejected, cause, "the code used more than %s of processor time", cfg.CPU)
	case complains(words, "out of memory", "cannot allocate memory", "failed to allocate", "MemoryError", "newosproc", "SIGSEGV", "SIGBUS"):
		// The runtime does not always get as far as saying it: with no page left,
		// it may also fall over its own bookkeeping.
		return domain.Wrap(domain.Rejected, cause, "the code used more than %d MiB of memory", cfg.MemoryBytes>>20)
	case complains(words, "stack overflow", "stack exceeds"):
		return domain.Wrap(domain.Rejected, cause, "the code recursed too deeply")
	default:
		return domain.Wrap(domain.Rejected, cause, "the code ended its process")
	}
}

func complains(words []byte, signs ...string) bool {
	for _, sign := range signs {
		if bytes.Contains(words, []byte(sign)) {
			return true
		}
	}
	return false
}

func firstLine(b []byte) string {
	line, _, _ := bytes.Cut(b, []byte("\n"))
	return string(line)
}

// gathered keeps what is written to it, up to a limit. A writer of os/exec has
// one goroutine, and its reader waits for the end of the process.
type gathered struct {
	kept  bytes.Buffer // not embedded: its ReadFrom would go past the limit
	limit int
	over  bool
	full  func() // nil: what is beyond the limit is dropped
}

// Write never fails: the process would block on a pipe that nobody reads.
func (g *gathered) Write(p []byte) (int, error) {
	keep := min(len(p), g.limit-g.kept.Len())
	g.kept.Write(p[:keep])
	if keep < len(p) && !g.over {
		g.over = true
		if g.full != nil {
			g.full()
		}
	}
	return len(p), nil
}
