package traces

import (
	"errors"
	"fmt"
	"time"

	"colonnade/domain/slot"
)

// Config bounds the work of a query. Use DefaultConfig and change what differs.
type Config struct {
	// Topic is the Kafka topic whose offsets a token names.
	Topic string
	// QueryTimeout bounds one ClickHouse statement.
	QueryTimeout time.Duration
	// QueryMemoryBytes bounds ClickHouse's memory for one statement.
	QueryMemoryBytes int64
	// QueryThreads bounds ClickHouse's threads for one statement; 0 leaves it to ClickHouse.
	QueryThreads int
	// Slots bounds the statements that run at once. Keep it below the connections
	// that ClickHouse accepts from one process.
	Slots slot.Config
	// WaitTimeout bounds how long a read waits for the writes of its token.
	WaitTimeout time.Duration
	// MaxPageBytes bounds the payloads of a page, which ends early because of it. A
	// page has at least one item.
	MaxPageBytes int64
	// MaxPageSpans is the same for the spans of a page of traces.
	MaxPageSpans int
	// MaxReadBytes bounds the payloads of an answer that cannot be split, for example
	// one trace.
	MaxReadBytes int64
	// MemoryBytes bounds the memory of all answers that are being read or written at
	// once. A request that would go beyond it is answered with 503 and Retry-After. One
	// project holds at most three quarters of it.
	MemoryBytes int64
	// MaxBesideBytes is the size of the payloads of a page up to which the other spans
	// of its records are read in the same statement. It is no setting: tests change it.
	MaxBesideBytes int64
	// MaxExamined bounds the spans whose payloads are read for one page, where the
	// statement alone cannot decide a filter.
	MaxExamined int
}

// DefaultConfig returns bounds for one machine that runs every role.
func DefaultConfig() Config {
	return Config{
		Topic:            "colonnade.spans.v1",
		QueryTimeout:     15 * time.Second,
		QueryMemoryBytes: 1 << 30,
		Slots:            slot.Config{Count: 8, WaitTimeout: 5 * time.Second},
		WaitTimeout:      2 * time.Second,
		MaxPageBytes:     64 << 20,
		MaxPageSpans:     50_000,
		MaxReadBytes:     512 << 20,
		MemoryBytes:      384 << 20,
		MaxBesideBytes:   4 << 20,
		MaxExamined:      20_000,
	}
}

// minMemoryBytes is enough for a trace that is read at once, see wholeTraceBytes.
const minMemoryBytes = 64 << 20

// Validate returns an error that names every field that cannot work.
func (c Config) Validate() error {
	var errs []error
	positive := func(name string, v int64) {
		if v <= 0 {
			errs = append(errs, errors.New("traces: "+name+" must be positive"))
		}
	}
	if c.Topic == "" {
		errs = append(errs, errors.New("traces: topic must be set"))
	}
	positive("query_timeout", int64(c.QueryTimeout))
	positive("query_memory_bytes", c.QueryMemoryBytes)
	positive("wait_timeout", int64(c.WaitTimeout))
	positive("max_page_bytes", c.MaxPageBytes)
	positive("max_page_spans", int64(c.MaxPageSpans))
	positive("max_read_bytes", c.MaxReadBytes)
	if c.MemoryBytes < minMemoryBytes {
		errs = append(errs, errors.New("traces: memory_bytes must be at least 64 MiB"))
	}
	positive("max_beside_bytes", c.MaxBesideBytes)
	positive("max_examined", int64(c.MaxExamined))
	if err := c.Slots.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("traces: slots: %w", err))
	}
	if c.MaxReadBytes < c.MaxPageBytes {
		errs = append(errs, errors.New("traces: max_read_bytes must not be below max_page_bytes"))
	}
	return errors.Join(errs...)
}
