package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	adminKey = "benchpair"
	// startTimeout bounds a start on a loaded machine; it takes 1 to 3 seconds on an idle one.
	startTimeout = 3 * time.Minute
	// stopTimeout bounds the drain before the process is killed.
	stopTimeout = time.Minute
)

// service is one running build. Its settings are those that every build has.
type service struct {
	name, binary, data, url, key string

	cmd  *exec.Cmd
	log  *os.File
	done chan struct{}
	err  error
}

// startService starts a build on a new data directory and creates an account.
func startService(ctx context.Context, name, binary, dir string) (*service, error) {
	addr, err := freeAddr(ctx)
	if err != nil {
		return nil, err
	}
	grpc, err := freeAddr(ctx)
	if err != nil {
		return nil, err
	}
	s := &service{name: name, binary: binary, data: filepath.Join(dir, name), url: "http://" + addr, done: make(chan struct{})}
	if s.log, err = os.Create(filepath.Join(dir, name+".log")); err != nil { //nolint:gosec // below our own folder
		return nil, err
	}
	s.cmd = exec.Command(binary, "serve", "--embedded") //nolint:noctx // the build to measure; stop ends it in order
	s.cmd.Env = append(environment(), "COLONNADE_DATA_DIR="+s.data, "COLONNADE_HTTP_ADDR="+addr, "COLONNADE_GRPC_ADDR="+grpc, "COLONNADE_AUTH_KEY="+adminKey,
		// One project measures what the service can do. A build that has no such settings warns.
		"COLONNADE_PROJECTS_LIMITS_SPANS_PER_SECOND=0", "COLONNADE_PROJECTS_LIMITS_READS_PER_SECOND=0")
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	s.cmd.SysProcAttr = attributes()
	if err := s.cmd.Start(); err != nil {
		return nil, errors.Join(err, s.log.Close())
	}
	go func() {
		s.err = s.cmd.Wait()
		close(s.done)
	}()
	if err := s.awaitReady(ctx); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	out, err := s.run(ctx, "key", "create", "--email", "bench@example.com", "--url", s.url)
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	s.key = strings.TrimSpace(out)
	return s, nil
}

// environment is what a child inherits: no setting of this process's own reaches a build.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "COLONNADE_") && !strings.HasPrefix(v, "COLONNADE_ENGINES_DIR=")
	})
}

// freeAddr returns an address of this machine that was free a moment ago.
func freeAddr(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

func (s *service) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/readyz", nil)
		if err != nil {
			return err
		}
		if reply, err := http.DefaultClient.Do(req); err == nil {
			_ = reply.Body.Close()
			if reply.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-s.done:
			return fmt.Errorf("%s ended while it started: %w\n%s", s.name, s.err, s.lastLines())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w\n%s", s.name, context.Cause(ctx), s.lastLines())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// lastLines returns the end of the service's log.
func (s *service) lastLines() string {
	text, err := os.ReadFile(s.log.Name())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(len(lines)-10, 0):], "\n")
}

// stop drains the service and waits for its end.
func (s *service) stop() error {
	_ = s.cmd.Process.Signal(syscall.SIGINT) // it may have ended
	select {
	case <-s.done:
	case <-time.After(stopTimeout):
		_ = s.cmd.Process.Kill()
		<-s.done
	}
	return s.log.Close()
}

// run runs a client command of the same build and returns what it printed.
func (s *service) run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, s.binary, args...) //nolint:gosec // the build to measure
	cmd.Env = append(environment(), "COLONNADE_AUTH_KEY="+adminKey, "COLONNADE_DATA_DIR="+s.data)
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		text := complaints.String()
		return "", fmt.Errorf("%s: %q: %w\n%s", s.name, args, err, text[max(len(text)-2000, 0):])
	}
	return out.String(), nil
}

// load sends traces as the build's own load command does, to the end.
func (s *service) load(ctx context.Context, args ...string) (loadReport, error) {
	out, err := s.run(ctx, append([]string{"load", "--url", s.url, "--key", s.key, "--verify", "none"}, args...)...)
	if err != nil {
		return loadReport{}, err
	}
	return parseLoad(out)
}

// trickle sends rate spans per second until the returned function is called.
// It returns when the first can be on its way.
func (s *service) trickle(ctx context.Context, rate int, seed string) (stop func(), err error) {
	cmd := exec.CommandContext(ctx, s.binary, "load", "--url", s.url, "--key", s.key, "--verify", "none", "--probes", "0", //nolint:gosec // the build to measure
		"--rate", strconv.Itoa(rate), "--batch", "50", "--connections", "1", "--duration", "1h", "--seed", seed)
	cmd.Env = append(environment(), "COLONNADE_DATA_DIR="+s.data)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = stopTimeout
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(out)
	if _, err := lines.ReadString('\n'); err != nil { // "seed ...": the traces are made
		return nil, fmt.Errorf("%s: load ended before it sent: %w", s.name, errors.Join(err, cmd.Wait()))
	}
	return func() {
		_ = cmd.Process.Signal(syscall.SIGINT) // it may have ended
		_, _ = io.Copy(io.Discard, lines)
		_ = cmd.Wait() // what it reports is not measured
	}, nil
}

// cpu returns the processor time that the service and all its children used.
func (s *service) cpu() (time.Duration, error) {
	const tick = time.Second / 100 // the kernel's unit of /proc/<pid>/stat on every Linux
	parents, ticks := map[int]int{}, map[int]int64{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	for _, path := range stats {
		text, err := os.ReadFile(path) //nolint:gosec // of /proc
		if err != nil {
			continue // it ended
		}
		pid, parent, used, err := parseStat(string(text))
		if err != nil {
			return 0, err
		}
		parents[pid], ticks[pid] = parent, used
	}
	if _, ok := ticks[s.cmd.Process.Pid]; !ok {
		return 0, fmt.Errorf("%s has ended\n%s", s.name, s.lastLines())
	}
	var sum int64
	for pid, used := range ticks {
		for at, ok := pid, true; ok && at > 1; at, ok = parents[at] {
			if at == s.cmd.Process.Pid {
				sum += used
				break
			}
		}
	}
	return time.Duration(sum) * tick, nil
}

// parseStat returns a process, its parent, and the ticks that it and its
// ended children used. Source: proc(5).
func parseStat(text string) (pid, parent int, ticks int64, err error) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return 0, 0, 0, fmt.Errorf("no state of a process: %q", text)
	}
	fields := strings.Fields(text[end+1:]) // from the third field, the state
	if len(fields) < 15 {
		return 0, 0, 0, fmt.Errorf("no state of a process: %q", text)
	}
	if pid, err = strconv.Atoi(strings.TrimSpace(text[:open])); err != nil {
		return 0, 0, 0, err
	}
	if parent, err = strconv.Atoi(fields[1]); err != nil {
		return 0, 0, 0, err
	}
	for _, field := range fields[11:15] { // utime, stime, cutime, cstime
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, 0, 0, err
		}
		ticks += n
	}
	return pid, parent, ticks, nil
}

// disk returns the bytes of ClickHouse's data.
func (s *service) disk() (int64, error) {
	var sum int64
	err := filepath.WalkDir(filepath.Join(s.data, "clickhouse"), func(_ string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // merged away meanwhile
		}
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			sum += info.Size()
		} else if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	})
	return sum, err
}
