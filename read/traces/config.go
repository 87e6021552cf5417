package traces

import (
	"errors"
	"time"
)

// Config bounds the work of a query. Use DefaultConfig and change what differs.
type Config struct {
	// Topic is the stream whose progress a token refers to.
	Topic string
	// QueryTimeout bounds one statement in the store.
	QueryTimeout time.Duration
	// QueryMemoryBytes bounds the store's memory for one statement.
	QueryMemoryBytes int64
	// QueryThreads bounds the store's threads for one statement; 0 leaves it to the store.
	QueryThreads int
	// WaitTimeout bounds how long a read waits for the writes of its token.
	WaitTimeout time.Duration
	// MaxPageBytes is where a page ends early, whatever its limit says: the
	// bytes of its documents. A page has one item at least.
	MaxPageBytes int64
	// MaxPageSpans is the same for the spans of a page of traces.
	MaxPageSpans int
	// MaxReadBytes bounds the documents of what must be answered whole, such as one trace.
	MaxReadBytes int64
	// MaxBesideBytes is up to how many bytes of documents a page is read together
	// with all that came in the same records; beyond it what its spans sum is read apart.
	MaxBesideBytes int64
	// MaxExamined bounds the spans whose documents are read to decide a filter
	// that the core rows cannot decide, for one page.
	MaxExamined int
}

// DefaultConfig suits a machine that does everything.
func DefaultConfig() Config {
	return Config{
		Topic:            "colonnade.spans.v1",
		QueryTimeout:     15 * time.Second,
		QueryMemoryBytes: 1 << 30,
		WaitTimeout:      2 * time.Second,
		MaxPageBytes:     64 << 20,
		MaxPageSpans:     50_000,
		MaxReadBytes:     512 << 20,
		MaxBesideBytes:   4 << 20,
		MaxExamined:      20_000,
	}
}

// Validate tells every field that makes no sense.
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
	positive("max_beside_bytes", c.MaxBesideBytes)
	positive("max_examined", int64(c.MaxExamined))
	if c.MaxReadBytes < c.MaxPageBytes {
		errs = append(errs, errors.New("traces: max_read_bytes must not be below max_page_bytes"))
	}
	return errors.Join(errs...)
}
