//go:build embedded

// Package supervise runs one engine in a child process of the same executable
// and keeps it running.
//
// The parent's half is Start: it spawns the child, hands it its configuration,
// waits until it answers, restarts it when it dies and stops it in order. The
// child's half is Serve. The two talk over pipes: one line of JSON into the
// child's standard input (so that secrets appear in no process list), one line
// of JSON back when the engine answers. The input then stays open as a
// lifeline: its end, however the parent died, is the order to stop.
//
// What the engines are and how they are configured is none of this package.
package supervise

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// A child that lived this long is taken as healthy: the back-off starts again.
	healthyAfter = 20 * time.Second
	firstBackoff = 20 * time.Millisecond
	maxBackoff   = 2 * time.Second
	// So many deaths in a row, none of them after a healthy life, and the child is given up.
	maxFailures = 8
	// Longer than the slowest orderly stop that was seen, with room.
	stopGrace = 20 * time.Second
	logLimit  = 8 << 20
)

// Spec describes one child process.
type Spec struct {
	// Name is the subcommand of this executable that serves the engine; it also names the log file.
	Name string
	// Dir holds the child's log, lock and empty working directory.
	Dir string
	// Config is handed to the child as JSON.
	Config any
	// Files are inherited by the child as descriptors 3, 4, ... and stay open in the parent, so that
	// a listening socket keeps its port, and its queue of callers, while the child is restarted.
	Files []*os.File
	// Env is added to an otherwise almost empty environment.
	Env []string
	// UID is the user and group that the child runs as; 0 means those of this process.
	UID int
	Log *slog.Logger
}

// Ready is what a child tells when its engine answers.
type Ready struct {
	// PID is the process to watch or to kill when the engine is meant: the child itself, or a server that it runs.
	PID int `json:"pid"`
	// Version of the engine, for the log.
	Version string `json:"version,omitempty"`
	// Problems are what the engine found wrong with its data and goes on in spite of: someone must act.
	Problems []string `json:"problems,omitempty"`
	// Error is set instead when the engine cannot start at all; the child then ends.
	Error string `json:"error,omitempty"`
}

// Process is one supervised child.
type Process struct {
	spec Spec
	exe  string
	life *os.File // parent's end of the current child's input; guarded by mu

	mu    sync.Mutex
	cmd   *exec.Cmd
	ready Ready
	err   error

	stop     chan struct{} // closed by the first Stop
	stopOnce sync.Once
	done     chan struct{}
}

// Start spawns the child and returns when its engine answers. The child is
// restarted from then on until Stop; a child that cannot even start once is an
// error here and nothing is left running.
func Start(ctx context.Context, spec Spec) (*Process, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("supervise: finding this executable: %w", err)
	}
	empty := filepath.Join(spec.Dir, "empty")
	if err := os.MkdirAll(empty, 0o700); err != nil {
		return nil, fmt.Errorf("supervise: %w", err)
	}
	if spec.UID != 0 {
		if err := os.Lchown(empty, spec.UID, spec.UID); err != nil {
			return nil, fmt.Errorf("supervise: %w", err)
		}
		exe = "/proc/self/exe" // that user may not be able to enter the executable's folder
	}
	p := &Process{spec: spec, exe: exe, stop: make(chan struct{}), done: make(chan struct{})}
	first := make(chan error, 1)
	go p.keep(first) //nolint:gosec,contextcheck // the child runs longer than the context of its start
	select {
	case err := <-first:
		if err != nil {
			<-p.done
			return nil, err
		}
		return p, nil
	case <-ctx.Done():
		// The context is over; the orderly stop gets time of its own.
		stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
		defer cancel()
		return nil, errors.Join(fmt.Errorf("supervise: starting %s: %w", spec.Name, ctx.Err()), p.Stop(stopCtx))
	}
}

// keep owns the child's life. It holds one operating system thread, because
// Linux sends the parent-death signal when the thread that forked ends.
func (p *Process) keep(first chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.done)
	backoff, failures := firstBackoff, 0
	for started := false; ; {
		lived := make(chan struct{})
		timer := time.AfterFunc(healthyAfter, func() { close(lived) })
		err := p.once(func() {
			if !started {
				started = true
				first <- nil
			}
		})
		timer.Stop()
		if !started {
			first <- err
			return
		}
		if p.stopping() {
			return
		}
		select {
		case <-lived:
			backoff, failures = firstBackoff, 0
		default:
		}
		if failures++; failures >= maxFailures {
			p.mu.Lock()
			p.err = fmt.Errorf("supervise: %s died %d times in a row: %w", p.spec.Name, failures, err)
			p.mu.Unlock()
			return
		}
		p.spec.Log.LogAttrs(context.Background(), slog.LevelWarn, "engine exited, it is started again", slog.String("engine", p.spec.Name), slog.Any("error", err))
		select {
		case <-p.stop:
			return
		case <-time.After(backoff):
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

// once runs one child to its end. It calls up when the engine answers and
// always returns an error that says how the child ended.
func (p *Process) once(up func()) error {
	logPath := filepath.Join(p.spec.Dir, p.spec.Name+".log")
	logFile, err := openLog(logPath)
	if err != nil {
		return err
	}
	defer logFile.Close() //nolint:errcheck // append-only log of a child that has ended
	info, err := logFile.Stat()
	if err != nil {
		return fmt.Errorf("supervise: %w", err)
	}
	logged := func() string { return tail(logPath, info.Size()) }
	config, err := json.Marshal(p.spec.Config)
	if err != nil {
		return fmt.Errorf("supervise: %w", err)
	}
	in, life, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("supervise: %w", err)
	}
	out, answer, err := os.Pipe()
	if err != nil {
		return errors.Join(fmt.Errorf("supervise: %w", err), in.Close(), life.Close())
	}
	defer out.Close() //nolint:errcheck // read end of a pipe
	//nolint:gosec,noctx // the command is this very executable; its life is bounded by the lifeline, not by a context
	cmd := exec.Command(p.exe, p.spec.Name)
	cmd.Dir = filepath.Join(p.spec.Dir, "empty")
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "TZ=UTC", "LC_ALL=C.UTF-8", "TMPDIR=" + os.TempDir()}, p.spec.Env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, answer, logFile
	cmd.ExtraFiles = p.spec.Files
	cmd.SysProcAttr = processAttributes()
	if uid := uint32(p.spec.UID); uid != 0 { //nolint:gosec // an id of the system
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uid, Gid: uid}
	}

	p.mu.Lock()
	if p.stopping() {
		p.mu.Unlock()
		return errors.Join(context.Canceled, in.Close(), life.Close(), answer.Close())
	}
	err = cmd.Start()
	if err == nil {
		p.cmd, p.life = cmd, life
	}
	p.mu.Unlock()
	if err = errors.Join(err, in.Close(), answer.Close()); err != nil {
		return errors.Join(fmt.Errorf("supervise: starting %s: %w", p.spec.Name, err), life.Close())
	}
	failed := p.converse(life, out, config, up)
	ended := cmd.Wait()
	p.mu.Lock()
	p.life, p.cmd, p.ready = nil, nil, Ready{}
	p.mu.Unlock()
	_ = life.Close() // already closed by Stop when it gave the order
	if failed != nil {
		return fmt.Errorf("%w%s", failed, logged())
	}
	if ended == nil {
		ended = errors.New("it ended by itself")
	}
	return fmt.Errorf("%s: %w%s", p.spec.Name, ended, logged())
}

// converse sends the configuration, waits for the child's word and then reads
// until the child closes its output, that is until it ends.
func (p *Process) converse(life io.Writer, out io.Reader, config []byte, up func()) error {
	if _, err := life.Write(append(config, '\n')); err != nil {
		return fmt.Errorf("supervise: configuring %s: %w", p.spec.Name, err)
	}
	reader := bufio.NewReader(out)
	line, err := reader.ReadBytes('\n')
	if err != nil {
		return nil //nolint:nilerr // the child died before its word; how, its exit status tells
	}
	var ready Ready
	if err := json.Unmarshal(line, &ready); err != nil {
		return fmt.Errorf("supervise: %s answered %q: %w", p.spec.Name, line, err)
	}
	if ready.Error != "" {
		return errors.New(ready.Error)
	}
	p.mu.Lock()
	p.ready = ready
	p.mu.Unlock()
	p.spec.Log.LogAttrs(context.Background(), slog.LevelInfo, "engine ready", slog.String("engine", p.spec.Name), slog.String("version", ready.Version), slog.Int("pid", ready.PID))
	for _, problem := range ready.Problems {
		p.spec.Log.LogAttrs(context.Background(), slog.LevelError, "engine found a problem with its data", slog.String("engine", p.spec.Name), slog.String("problem", problem))
	}
	up()
	_, _ = io.Copy(io.Discard, reader) // ends with the child; the child sends nothing else
	return nil
}

func (p *Process) stopping() bool {
	select {
	case <-p.stop:
		return true
	default:
		return false
	}
}

// PID is the engine's process now, or 0 while there is none.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	return p.ready.PID
}

// Problems returns what the engine reported when it last answered; nil while it does not.
func (p *Process) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ready.Problems
}

// Done is closed when the child has ended for good: stopped, or given up.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err tells, after Done, why the child was given up; nil after Stop.
func (p *Process) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Stop orders the child to stop and waits for it. When ctx ends first the child is killed.
func (p *Process) Stop(ctx context.Context) error {
	p.mu.Lock()
	p.stopOnce.Do(func() { close(p.stop) })
	if p.life != nil {
		_ = p.life.Close() // a second Stop finds it closed
	}
	p.mu.Unlock()
	grace := time.NewTimer(stopGrace)
	defer grace.Stop()
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
	case <-grace.C:
	}
	p.mu.Lock()
	if p.cmd != nil {
		_ = p.cmd.Process.Kill() // it may have ended meanwhile
	}
	p.mu.Unlock()
	<-p.done
	return fmt.Errorf("supervise: %s did not stop in time and was killed", p.spec.Name)
}

func openLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > logLimit {
		if err := os.Rename(path, path+".old"); err != nil {
			return nil, fmt.Errorf("supervise: %w", err)
		}
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // a path inside the data directory
	if err != nil {
		return nil, fmt.Errorf("supervise: %w", err)
	}
	return file, nil
}

// tail returns the end of what a child has logged, for the one place where its
// death is reported. It began to log at the offset.
func tail(path string, from int64) string {
	const limit = 600
	file, err := os.Open(path) //nolint:gosec // a path inside the data directory
	if err != nil {
		return ""
	}
	defer file.Close() //nolint:errcheck // only read
	info, err := file.Stat()
	if err != nil {
		return ""
	}
	from = max(from, info.Size()-limit)
	raw, err := io.ReadAll(io.NewSectionReader(file, from, info.Size()-from))
	text := strings.TrimSpace(string(raw))
	if err != nil || text == "" {
		return ""
	}
	return "; its log ends: " + text
}
