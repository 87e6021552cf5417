package sandbox

import (
	"errors"
	"strconv"
	"time"

	"colonnade/write/invoke/template"
)

// Config bounds what code may use. All bounds are per run.
type Config struct {
	// Timeout is the time that a run may take, and the longest that it waits for a slot before.
	Timeout time.Duration
	// CPU is the processor time of a run; the kernel counts it in whole seconds.
	CPU time.Duration
	// MemoryBytes is what a run may use beyond an idle child.
	MemoryBytes int64
	// MaxInputBytes bounds the code and its input together.
	MaxInputBytes int
	// MaxOutputBytes bounds a result, and each rendered text.
	MaxOutputBytes int
	// Concurrency is the number of runs at a time. One project runs at most three quarters
	// of them, all but one where there are fewer than four.
	Concurrency int
	// Python is the interpreter's command line; empty means that Python is
	// refused. It runs with an empty environment and the limits above, but an
	// interpreter reads files and opens connections as its user may: a
	// deployment that runs the code of strangers names one behind a jail here.
	Python []string
}

// DefaultConfig suits evaluators and small transformations.
func DefaultConfig() Config {
	return Config{
		Timeout: 10 * time.Second, CPU: 5 * time.Second, MemoryBytes: 128 << 20,
		MaxInputBytes: 16 << 20, MaxOutputBytes: 8 << 20, Concurrency: 4,
	}
}

// Validate names everything that is wrong.
func (c Config) Validate() error {
	var errs []error
	if c.Timeout <= 0 {
		errs = append(errs, errors.New("timeout must be positive"))
	}
	if c.CPU <= 0 {
		errs = append(errs, errors.New("cpu must be positive"))
	}
	if c.MemoryBytes < 16<<20 {
		errs = append(errs, errors.New("memory_bytes must be at least 16 MiB"))
	}
	if c.MaxInputBytes <= 0 || c.MaxOutputBytes <= 0 {
		errs = append(errs, errors.New("max_input_bytes and max_output_bytes must be positive"))
	}
	if c.Concurrency <= 0 {
		errs = append(errs, errors.New("concurrency must be positive"))
	}
	return errors.Join(errs...)
}

func (c Config) limits() template.Limits {
	l := template.DefaultLimits()
	l.MaxOutputBytes = c.MaxOutputBytes
	return l
}

func (c Config) memoryWord() string { return strconv.FormatInt(c.MemoryBytes, 10) }
func (c Config) cpuWord() string    { return strconv.FormatInt(c.CPU.Nanoseconds(), 10) }
