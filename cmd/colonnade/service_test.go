//go:build embedded

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/cmd/internal/client"
	"colonnade/deploy/embedded/embeddedtest"
)

// asCommand makes the test's own executable behave as the command.
const asCommand = "COLONNADE_TEST_COMMAND=1"

const adminKey = "the administration key"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "embedded-") && os.Getenv("COLONNADE_TEST_COMMAND") == "1" {
		os.Exit(run())
	}
	os.Exit(embeddedtest.Main(m))
}

// command is the program with these arguments and these settings only.
func command(ctx context.Context, t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	engines, err := filepath.Abs("../../deploy/embedded/engines/node_modules")
	require.NoError(t, err)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append([]string{asCommand, "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "COLONNADE_ENGINES_DIR=" + engines}, env...)
	return cmd
}

// service is a running process of the program.
type service struct {
	t    *testing.T
	cmd  *exec.Cmd
	out  *output
	base string
	grpc string
	done chan error
}

// output collects what a process writes and wakes those who wait for a text.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func newOutput() *output { return &output{more: make(chan struct{}, 1)} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.more <- struct{}{}:
	default:
	}
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start runs the program until it is ready. It takes free ports and is
// stopped at the test's end.
func start(t *testing.T, env []string, args ...string) *service {
	t.Helper()
	s := launch(t, env, args...)
	s.await("Colonnade is ready")
	s.base = field(s.out.String(), `API +(http://\S+)`)
	s.grpc = field(s.out.String(), `OTLP/gRPC +(\S+)`)
	return s
}

func launch(t *testing.T, env []string, args ...string) *service {
	t.Helper()
	s := &service{t: t, out: newOutput(), done: make(chan error, 1)}
	env = append([]string{"COLONNADE_HTTP_ADDR=127.0.0.1:0", "COLONNADE_GRPC_ADDR=127.0.0.1:0", "COLONNADE_SQL_ADDR=127.0.0.1:0", "COLONNADE_AUTH_KEY=" + adminKey}, env...)
	s.cmd = command(context.WithoutCancel(t.Context()), t, env, args...)
	s.cmd.Stdout, s.cmd.Stderr = s.out, s.out
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, s.cmd.Start())
	go func() { s.done <- s.cmd.Wait() }()
	t.Cleanup(func() {
		if s.cmd.ProcessState == nil {
			_ = s.cmd.Process.Signal(syscall.SIGINT)
			if err := <-s.done; err != nil {
				t.Errorf("the program ended with %v", err)
			}
		}
		if t.Failed() {
			t.Logf("%v wrote:\n%s", args, s.out)
		}
	})
	return s
}

// await waits until the process has said something.
func (s *service) await(what string) {
	s.t.Helper()
	deadline := time.After(3 * time.Minute)
	for !strings.Contains(s.out.String(), what) {
		select {
		case <-s.out.more:
		case err := <-s.done:
			s.done <- err
			if !strings.Contains(s.out.String(), what) {
				s.t.Fatalf("%v ended before it said %q: %v\n%s", s.cmd.Args[1:], what, err, s.out)
			}
		case <-deadline:
			s.t.Fatalf("%v does not say %q\n%s", s.cmd.Args[1:], what, s.out)
		}
	}
}

// keptKey returns the API key that the first start of an embedded service has kept.
func keptKey(t *testing.T, data string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(data, "api-key"))
	require.NoError(t, err)
	return strings.TrimSpace(string(raw))
}

func field(text, pattern string) string {
	if found := regexp.MustCompile(pattern).FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return ""
}

// stop asks for an orderly end and returns the program's error.
func (s *service) stop() error {
	s.t.Helper()
	require.NoError(s.t, s.cmd.Process.Signal(syscall.SIGINT))
	err := <-s.done
	s.done <- err
	return err
}

// kill ends the whole process tree at once, as a power cut would.
func (s *service) kill() {
	s.t.Helper()
	pids := append([]int{s.cmd.Process.Pid}, descendants(s.t, s.cmd.Process.Pid)...)
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended with its parent
	}
	s.done <- <-s.done
	for _, pid := range pids[1:] {
		for syscall.Kill(pid, 0) == nil && !isZombie(pid) {
			time.Sleep(time.Millisecond)
		}
	}
}

func descendants(t *testing.T, parent int) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	require.NoError(t, err)
	var found []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if ppid(pid) == parent {
			found = append(append(found, pid), descendants(t, pid)...)
		}
	}
	return found
}

// stat is what follows the command's name in /proc/pid/stat: state, parent, ...
func stat(pid int) []string {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
}

func ppid(pid int) int {
	fields := stat(pid)
	if len(fields) < 2 {
		return -1
	}
	n, _ := strconv.Atoi(fields[1])
	return n
}

func isZombie(pid int) bool {
	fields := stat(pid)
	return len(fields) > 0 && fields[0] == "Z"
}

// account makes a project of its own for a test and returns its key.
func (s *service) account(t *testing.T) string {
	t.Helper()
	out, err := command(t.Context(), t, []string{"COLONNADE_HOST=" + s.base, "COLONNADE_AUTH_KEY=" + adminKey}, "key", "create", "--email", email(t)).CombinedOutput()
	require.NoError(t, err, string(out))
	return strings.TrimSpace(string(out))
}

func email(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("%x-%d@example.com", t.Name(), time.Now().UnixNano())
}

func (s *service) client(t *testing.T) *client.Client {
	t.Helper()
	return client.New(s.base, s.account(t))
}

// onServices are settings for stores of the test process, with a database and
// a topic of the test's own.
func onServices(t *testing.T) []string {
	t.Helper()
	return append(embeddedtest.KafkaSettings(t),
		"COLONNADE_KAFKA_TOPIC="+embeddedtest.Topic(t),
		"COLONNADE_KAFKA_GROUP="+embeddedtest.Topic(t),
		"COLONNADE_CLICKHOUSE_URL="+embeddedtest.Database(t),
		"COLONNADE_POSTGRES_URL="+embeddedtest.PostgresDatabase(t),
	)
}
