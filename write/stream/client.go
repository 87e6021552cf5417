package stream

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// ClientOptions returns what all Kafka clients of one configuration have in common. now is
// the clock by which repeated messages of the client are left out of the log.
func ClientOptions(cfg Config, now func() time.Time, log *slog.Logger) ([]kgo.Opt, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(cfg.Brokers...),
		kgo.ClientID(cfg.ClientID),
		kgo.WithLogger(newClientLog(log, now)),
		// A broker that restarts is found again within a second.
		kgo.RetryBackoffFn(func(failures int) time.Duration { return min(50*time.Millisecond<<min(failures, 8), time.Second) }),
	}
	if cfg.TLS != nil {
		opts = append(opts, kgo.DialTLSConfig(cfg.TLS))
	}
	m, err := mechanism(cfg.SASL)
	if err != nil {
		return nil, err
	}
	if m != nil {
		opts = append(opts, kgo.SASL(m))
	}
	return opts, nil
}

func mechanism(s SASL) (sasl.Mechanism, error) {
	switch s.Mechanism {
	case "":
		return nil, nil //nolint:nilnil // "no mechanism" is an answer, and the client takes none as nil
	case "plain":
		return plain.Auth{User: s.Username, Pass: s.Password}.AsMechanism(), nil
	case "scram-sha-256":
		return scram.Auth{User: s.Username, Pass: s.Password}.AsSha256Mechanism(), nil
	case "scram-sha-512":
		return scram.Auth{User: s.Username, Pass: s.Password}.AsSha512Mechanism(), nil
	default:
		return nil, fmt.Errorf("stream: unknown sasl mechanism %q", s.Mechanism)
	}
}

// Compression returns the codec of Config.Compression.
func Compression(name string) (kgo.CompressionCodec, error) {
	switch name {
	case "none":
		return kgo.NoCompression(), nil
	case "lz4":
		return kgo.Lz4Compression(), nil
	case "snappy":
		return kgo.SnappyCompression(), nil
	case "zstd":
		return kgo.ZstdCompression(), nil
	case "gzip":
		return kgo.GzipCompression(), nil
	default:
		return kgo.CompressionCodec{}, fmt.Errorf("stream: unknown compression %q", name)
	}
}

// clientLog logs the warnings and errors of the Kafka client.
type clientLog struct {
	log     *slog.Logger
	repeats *Repeats
}

func newClientLog(log *slog.Logger, now func() time.Time) kgo.Logger {
	return clientLog{log, NewRepeats(now)}
}

// Level returns the least severe level that the client formats.
func (clientLog) Level() kgo.LogLevel { return kgo.LogLevelWarn }

// Log logs a message of the client with its text as an attribute. Messages that differ only
// in counts of attempts are repetitions: while a broker is away, the client has one a second.
func (l clientLog) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	severity := slog.LevelWarn
	if level == kgo.LogLevelError {
		severity = slog.LevelError
	}
	what := []any{msg}
	attrs := make([]slog.Attr, 0, 2+len(keyvals)/2)
	attrs = append(attrs, slog.String("event", msg))
	for i := 0; i+1 < len(keyvals); i += 2 {
		attrs = append(attrs, slog.Any(fmt.Sprint(keyvals[i]), keyvals[i+1]))
		switch keyvals[i] {
		case "attempt", "backoff", "consecutive_errors":
		default: // a message about another partition, broker or topic is no repetition
			what = append(what, keyvals[i], keyvals[i+1])
		}
	}
	if before, ok := l.repeats.Allow(fmt.Sprintln(what...)); ok {
		l.log.LogAttrs(context.Background(), severity, "kafka client", append(attrs, slog.Int("not_logged_before", before))...)
	}
}

const (
	// repeatEvery is how often the same error is logged: a broker may answer each of many
	// fetches a second with it.
	repeatEvery = 5 * time.Second
	// maxRepeats bounds the memory of different errors.
	maxRepeats = 64
)

// Repeats keeps repeated errors out of the log. It is safe for concurrent use.
type Repeats struct {
	now  func() time.Time
	mu   sync.Mutex // guards last
	last map[string]*repeated
}

// repeated is when an error was last logged, and how often it occurred since.
type repeated struct {
	at    time.Time
	count int
}

// NewRepeats returns a Repeats that has seen no error.
func NewRepeats(now func() time.Time) *Repeats {
	return &Repeats{now: now, last: map[string]*repeated{}}
}

// Allow reports whether an error is to be logged now: at most once in five seconds. before is
// how many equal ones were not logged.
func (r *Repeats) Allow(text string) (before int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	last := r.last[text]
	switch {
	case last == nil:
		if len(r.last) >= maxRepeats {
			clear(r.last)
		}
		r.last[text] = &repeated{at: now}
		return 0, true
	case now.Sub(last.at) < repeatEvery:
		last.count++
		return 0, false
	default:
		before = last.count
		last.at, last.count = now, 0
		return before, true
	}
}
