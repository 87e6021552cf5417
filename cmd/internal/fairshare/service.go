package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	adminKey = "fairshare"
	// memoryLimit is the default of memory_limit_bytes.
	memoryLimit = 800 << 20
	// startTimeout bounds a start on a loaded machine; it takes 1 to 3 seconds on an idle one.
	startTimeout = 3 * time.Minute
	stopTimeout  = time.Minute
)

// service is the running build with two projects.
type service struct {
	binary, data, url    string
	hostileKey, lightKey string
	cmd                  *exec.Cmd
	log                  *os.File
	// done is closed when the process has ended, with err as its error.
	done   chan struct{}
	err    error
	client *http.Client
}

func start(ctx context.Context, o options) (*service, error) {
	var ports [2]string
	for i := range ports {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		ports[i] = listener.Addr().String()
		if err := listener.Close(); err != nil {
			return nil, err
		}
	}
	s := &service{
		binary: o.binary, data: filepath.Join(o.dir, "data"), url: "http://" + ports[0], done: make(chan struct{}),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: o.callers + 1, DisableCompression: true}},
	}
	var err error
	if s.log, err = os.Create(filepath.Join(o.dir, "log")); err != nil {
		return nil, err
	}
	s.cmd = exec.Command(s.binary, "serve", "--embedded") //nolint:noctx,gosec // the build to measure; stop ends it in order
	s.cmd.Env = append(environment(), "COLONNADE_DATA_DIR="+s.data, "COLONNADE_HTTP_ADDR="+ports[0], "COLONNADE_GRPC_ADDR="+ports[1], "COLONNADE_AUTH_KEY="+adminKey,
		"COLONNADE_PROJECTS_LIMITS_SPANS_PER_SECOND=0", "COLONNADE_PROJECTS_LIMITS_READS_PER_SECOND=0")
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
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
	for email, key := range map[string]*string{"hostile@example.com": &s.hostileKey, "light@example.com": &s.lightKey} {
		out, err := s.run(ctx, "key", "create", "--email", email, "--url", s.url)
		if err != nil {
			return nil, errors.Join(err, s.stop())
		}
		*key = strings.TrimSpace(out)
	}
	return s, nil
}

// environment is what a child inherits: no setting of this process's own reaches it.
func environment() (kept []string) {
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "COLONNADE_") || strings.HasPrefix(v, "COLONNADE_ENGINES_DIR=") {
			kept = append(kept, v)
		}
	}
	return kept
}

func (s *service) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for s.ready(ctx) != nil {
		select {
		case <-s.done:
			return fmt.Errorf("the service ended while it started: %w", s.err)
		case <-ctx.Done():
			return fmt.Errorf("the service is not ready: %w", context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}

// ready returns nil if /readyz answers 200.
func (s *service) ready(ctx context.Context) error {
	status, _, err := s.call(ctx, http.MethodGet, "/readyz", "", "")
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("/readyz is %d", status)
	}
	return err
}

func (s *service) run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, s.binary, args...) //nolint:gosec // the build to measure
	cmd.Env = append(environment(), "COLONNADE_AUTH_KEY="+adminKey, "COLONNADE_DATA_DIR="+s.data)
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%q: %w\n%s", args, err, &complaints)
	}
	return out.String(), nil
}

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

// fill loads both projects and waits until all spans are visible.
func (s *service) fill(ctx context.Context, traces int) error {
	for key, n := range map[string]int{s.hostileKey: traces, s.lightKey: traces / 20} {
		if _, err := s.run(ctx, "load", "--url", s.url, "--key", key, "--verify", "none", "--traces", strconv.Itoa(n), "--over", "24h", "--connections", "2"); err != nil {
			return err
		}
	}
	return nil
}

// call sends a request and reads its reply.
func (s *service) call(ctx context.Context, method, path, key, body string) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body)) //nolint:gosec // the service that this program started
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Authorization", "ApiKey "+key)
	}
	reply, err := s.client.Do(req) //nolint:gosec // the service that this program started
	if err != nil {
		return 0, nil, err
	}
	text, err := io.ReadAll(reply.Body)
	return reply.StatusCode, text, errors.Join(err, reply.Body.Close())
}

// measured is what the light client met in one half of a turn.
type measured struct {
	lists, writes []time.Duration
	// memory is the largest resident memory of the process in bytes.
	memory int64
}

// light lists ten spans and writes one, about twenty times a second, and asks /readyz.
func (s *service) light(ctx context.Context, window time.Duration) (m measured, err error) {
	const pause = 25 * time.Millisecond
	timed := func(times *[]time.Duration, path, body string, want int) error {
		began := time.Now() //nolint:forbidigo // it measures
		status, text, err := s.call(ctx, http.MethodPost, path, s.lightKey, body)
		if err == nil && status != want {
			err = fmt.Errorf("%s is %d: %.300s", path, status, text)
		}
		*times = append(*times, time.Since(began))
		return err
	}
	for n, end := 0, time.Now().Add(window); time.Now().Before(end); n++ { //nolint:forbidigo // it measures
		if err := timed(&m.lists, "/spans/query", `{"windowing":{"limit":10}}`, http.StatusOK); err != nil {
			return m, err
		}
		var id [16]byte
		_, _ = rand.Read(id[:])     // it never fails
		at := time.Now().UnixNano() //nolint:forbidigo // a span of now
		span := fmt.Sprintf(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"%x","spanId":"%x","name":"light","kind":1,"startTimeUnixNano":"%d","endTimeUnixNano":"%d"}]}]}]}`, id, id[:8], at, at+1000)
		if err := timed(&m.writes, "/otlp/v1/traces", span, http.StatusAccepted); err != nil {
			return m, err
		}
		const everySecond = 20
		if n%everySecond == 0 {
			memory, err := s.memory()
			if err := errors.Join(err, s.ready(ctx)); err != nil {
				return m, err
			}
			m.memory = max(m.memory, memory)
		}
		time.Sleep(pause)
	}
	return m, nil
}

// memory returns the resident memory of the process, without its engines and without the
// pages of its executable, which memory_limit_bytes does not count either. Source: proc(5).
func (s *service) memory() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.cmd.Process.Pid)) //nolint:gosec // of /proc
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text))
	if len(fields) < 3 {
		return 0, fmt.Errorf("no memory of a process: %q", text)
	}
	resident, err := strconv.ParseInt(fields[1], 10, 64)
	shared, also := strconv.ParseInt(fields[2], 10, 64)
	return (resident - shared) * int64(os.Getpagesize()), errors.Join(err, also)
}

// attack is the hostile project at work.
type attack struct {
	cancel          context.CancelFunc
	callers         sync.WaitGroup
	served, refused atomic.Int64
	failed          atomic.Pointer[error]
}

// startAttack starts callers that search for a hundred texts at once, compute statistics and read
// large pages, without a pause.
func (s *service) startAttack(ctx context.Context, callers int) *attack {
	ctx, cancel := context.WithCancel(ctx)
	a := &attack{cancel: cancel}
	var texts strings.Builder
	for i := range 100 {
		if i > 0 {
			texts.WriteByte(',')
		}
		_, _ = fmt.Fprintf(&texts, `{"field":"content","operator":"contains","value":"no such text %d"}`, i)
	}
	requests := [...]struct{ path, body string }{
		{"/spans/query", `{"filtering":{"operator":"or","conditions":[` + texts.String() + `]}}`},
		{"/spans/analytics/query", `{"specs":[{"type":"numeric/continuous","path":"attributes.ag.metrics.duration.cumulative"},{"type":"categorical/single","path":"attributes.ag.type.span"}]}`},
		{"/traces/query", `{"windowing":{"limit":1000}}`},
	}
	for i := range callers {
		a.callers.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				r := requests[n%len(requests)]
				status, text, err := s.call(ctx, http.MethodPost, r.path, s.hostileKey, r.body)
				switch {
				case ctx.Err() != nil:
				case err != nil:
					a.failed.Store(&err)
				case status == http.StatusOK:
					a.served.Add(1)
				case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable, status == http.StatusBadRequest: //nolint:forbidigo // statuses of replies; 400 is a limit of the statement
					a.refused.Add(1)
				default:
					err = fmt.Errorf("%s is %d: %.300s", r.path, status, text)
					a.failed.Store(&err)
				}
			}
		})
	}
	return a
}

// stop ends the callers and returns how many requests were served and refused, and an error
// that was neither.
func (a *attack) stop() (served, refused int64, failed error) {
	a.cancel()
	a.callers.Wait()
	if err := a.failed.Load(); err != nil {
		failed = *err
	}
	return a.served.Load(), a.refused.Load(), failed
}
