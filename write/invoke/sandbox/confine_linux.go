package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"
)

// self is this process's program, also after its file was replaced: parent and
// child are of one build.
const self = "/proc/self/exe"

// limited tells that this platform's kernel can hold the limits.
const limited = true

// The kernel's names; the package syscall knows some of them only.
const (
	rlimitNPROC = 6
	rlimitDATA  = syscall.RLIMIT_DATA
)

// confine takes from this process what a run does not need: memory beyond a
// bound on all private writable mappings (RLIMIT_DATA: what the runtime only
// reserves does not count, what it could ever write to does), processor time,
// new files and sockets, core dumps.
func confine(memory int64, cpu time.Duration) error {
	used, err := dataBytes()
	if err != nil {
		return err
	}
	// The collector works harder before the kernel says no.
	debug.SetMemoryLimit(memory * 3 / 4)
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return fmt.Errorf("sandbox: reading the processor time: %w", err)
	}
	spent := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	return set([]rlimit{
		{rlimitDATA, uint64(used + memory)}, //nolint:gosec // both are positive
		{syscall.RLIMIT_CPU, seconds(spent + cpu)},
		{syscall.RLIMIT_FSIZE, 0},
		{syscall.RLIMIT_CORE, 0},
		{syscall.RLIMIT_NOFILE, 0},
	})
}

type rlimit struct {
	what int
	max  uint64
}

func set(limits []rlimit) error {
	for _, l := range limits {
		if err := syscall.Setrlimit(l.what, &syscall.Rlimit{Cur: l.max, Max: l.max}); err != nil {
			return fmt.Errorf("sandbox: setting the limit %d: %w", l.what, err)
		}
	}
	return nil
}

// seconds rounds up, with one of grace: the engine's own clock speaks first.
func seconds(d time.Duration) uint64 { return uint64(math.Ceil(d.Seconds())) + 1 }

// dataBytes is what RLIMIT_DATA counts for this process now.
func dataBytes() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("sandbox: reading the memory in use: %w", err)
	}
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmData:")); ok {
			kib, err := strconv.ParseInt(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(rest), []byte("kB")))), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("sandbox: reading the memory in use: %w", err)
			}
			return kib << 10, nil
		}
	}
	return 0, errors.New("sandbox: /proc/self/status does not say what memory is in use")
}

// maxPythonFiles is enough for an interpreter to read its own library.
const maxPythonFiles = 64

// pythonBaseBytes is what an idle interpreter uses.
const pythonBaseBytes = 32 << 20

// python confines this process and becomes the interpreter.
func python(command []string, memory int64, cpu time.Duration) error {
	path, err := lookPath(command[0])
	if err != nil {
		return err
	}
	argv := append(append([]string{path}, command[1:]...), "-I", "-S", "-B", "-c", pythonProgram)
	// This process uses more than the interpreter may, so that nothing is left for it once the
	// limit of memory holds: a runtime that needed a page then would die of it, and the code be
	// blamed. What becoming another program takes is taken before, by an attempt that fails.
	debug.SetGCPercent(-1)
	_ = syscall.Exec("", argv, []string{}) //nolint:gosec // it starts nothing
	if err := set([]rlimit{
		{syscall.RLIMIT_CPU, seconds(cpu)},
		{syscall.RLIMIT_FSIZE, 0},
		{syscall.RLIMIT_CORE, 0},
		{syscall.RLIMIT_NOFILE, maxPythonFiles},
		{rlimitNPROC, 0},
		{rlimitDATA, uint64(memory + pythonBaseBytes)}, //nolint:gosec // both are positive
	}); err != nil {
		return err
	}
	return fmt.Errorf("sandbox: starting the interpreter: %w", syscall.Exec(path, argv, []string{})) //nolint:gosec // the deployment names the interpreter
}
