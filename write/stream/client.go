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

// options are what all clients of one configuration share.
func options(cfg Config, now func() time.Time, log *slog.Logger) ([]kgo.Opt, error) {
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

func compression(name string) (kgo.CompressionCodec, error) {
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

// clientLog passes the Kafka client's warnings on; it says at most what an operator can act on.
type clientLog struct {
	log  *slog.Logger
	told *told
}

func newClientLog(log *slog.Logger, now func() time.Time) kgo.Logger {
	return clientLog{log, newTold(now)}
}

// Level is the least severe level the client formats at all.
func (clientLog) Level() kgo.LogLevel { return kgo.LogLevelWarn }

// Log is the client's entry, with its text as an attribute. One that was logged just
// before, but for counts of attempts, is not: while a broker is away the client says so
// every second.
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
		default: // its partition, broker or topic: another one is other news
			what = append(what, keyvals[i], keyvals[i+1])
		}
	}
	if before, ok := l.told.again(fmt.Sprintln(what...)); ok {
		l.log.LogAttrs(context.Background(), severity, "kafka client", append(attrs, slog.Int("not_logged_before", before))...)
	}
}

const (
	// tellEvery is how often the same error is logged: a broker may answer each of many fetches a second with it.
	tellEvery = 5 * time.Second
	// mostTold bounds the different errors that are remembered.
	mostTold = 64
)

// told are the errors that were logged lately, by what they say. All callers may share one.
type told struct {
	now  func() time.Time
	mu   sync.Mutex // guards last
	last map[string]*telling
}

// telling is when an error was last logged, and how often it came since.
type telling struct {
	at   time.Time
	more int
}

func newTold(now func() time.Time) *told { return &told{now: now, last: map[string]*telling{}} }

// again says whether an error is to be logged now, and how many of its like were not.
func (t *told) again(what string) (before int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	last := t.last[what]
	switch {
	case last == nil:
		if len(t.last) >= mostTold {
			clear(t.last)
		}
		t.last[what] = &telling{at: now}
		return 0, true
	case now.Sub(last.at) < tellEvery:
		last.more++
		return 0, false
	default:
		before = last.more
		last.at, last.more = now, 0
		return before, true
	}
}
