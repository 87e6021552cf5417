package stream

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// options are what all clients of one configuration share.
func options(cfg Config, log *slog.Logger) ([]kgo.Opt, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(cfg.Brokers...),
		kgo.ClientID(cfg.ClientID),
		kgo.WithLogger(clientLog{log}),
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
type clientLog struct{ log *slog.Logger }

// Level is the least severe level the client formats at all.
func (clientLog) Level() kgo.LogLevel { return kgo.LogLevelWarn }

// Log is the client's entry, with its text as an attribute.
func (l clientLog) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	severity := slog.LevelWarn
	if level == kgo.LogLevelError {
		severity = slog.LevelError
	}
	attrs := make([]slog.Attr, 0, 1+len(keyvals)/2)
	attrs = append(attrs, slog.String("event", msg))
	for i := 0; i+1 < len(keyvals); i += 2 {
		attrs = append(attrs, slog.Any(fmt.Sprint(keyvals[i]), keyvals[i+1]))
	}
	l.log.LogAttrs(context.Background(), severity, "kafka client", attrs...)
}
