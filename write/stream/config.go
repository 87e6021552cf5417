package stream

import (
	"crypto/tls"
	"errors"
	"fmt"
	"time"
)

// Config says where the log is and how much of it may be in memory.
type Config struct {
	// Brokers are the seed addresses, host:port.
	Brokers []string
	// Topic holds the spans; dead records go to Topic followed by ".dead".
	Topic string
	// Group is the consumer group whose commits are the sink's progress.
	Group string
	// ClientID names this process in the broker's logs.
	ClientID string
	// Partitions is how many the topic gets when it is created. More sinks than
	// partitions leave sinks idle; growing it later moves traces to other partitions.
	Partitions int32
	// ReplicationFactor of created topics; -1 means the broker's default.
	ReplicationFactor int16
	// Retention and DeadRetention of created topics; zero means the broker's default.
	Retention, DeadRetention time.Duration
	// MaxRecordBytes bounds one record. The topic is created with a message
	// limit to match; an existing topic with a smaller limit lowers it.
	MaxRecordBytes int
	// Compression of produced batches: none, lz4, snappy, zstd or gzip.
	Compression string
	// Linger is how long a partition waits for more records before a batch is sent.
	Linger time.Duration
	// MaxBufferedBytes bounds what producing may hold in memory.
	MaxBufferedBytes int
	// PublishTimeout bounds how long Publish waits for the broker.
	PublishTimeout time.Duration
	// RetryAfter is what a caller is told when the broker does not answer.
	RetryAfter time.Duration
	// PartitionBufferBytes is how much memory records of a partition take that are
	// read ahead of its worker; a partition that holds more is paused.
	PartitionBufferBytes int
	// SessionTimeout is after how long a silent consumer loses its partitions.
	SessionTimeout time.Duration
	// TLS is used for all connections; nil means plain text.
	TLS *tls.Config
	// SASL credentials; an empty Mechanism means none.
	SASL SASL
}

// SASL is how the client proves who it is.
type SASL struct {
	// Mechanism is plain, scram-sha-256 or scram-sha-512.
	Mechanism          string
	Username, Password string
}

// DefaultConfig is for a broker on this machine.
func DefaultConfig() Config {
	return Config{
		Brokers:              []string{"127.0.0.1:9092"},
		Topic:                "colonnade.spans.v1",
		Group:                "colonnade.sink",
		ClientID:             "colonnade",
		Partitions:           4,
		ReplicationFactor:    -1,
		MaxRecordBytes:       16 << 20,
		Compression:          "none", // on one machine compressing costs more than it saves; lz4 or zstd across a network
		Linger:               3 * time.Millisecond,
		MaxBufferedBytes:     256 << 20,
		PublishTimeout:       10 * time.Second,
		RetryAfter:           2 * time.Second,
		PartitionBufferBytes: 32 << 20,
		SessionTimeout:       15 * time.Second,
	}
}

// DeadTopic is where records go that cannot be processed.
func (c Config) DeadTopic() string { return c.Topic + ".dead" }

// redriveGroup is the consumer group whose commits are how far the dead topic was redriven.
func (c Config) redriveGroup() string { return c.Group + ".redrive" }

// Validate tells every field that cannot work.
func (c Config) Validate() error {
	var errs []error
	bad := func(field, why string) { errs = append(errs, fmt.Errorf("stream: %s %s", field, why)) }
	if len(c.Brokers) == 0 {
		bad("brokers", "are missing")
	}
	if c.Topic == "" {
		bad("topic", "is empty")
	}
	if c.Group == "" {
		bad("group", "is empty")
	}
	if c.Partitions < 1 {
		bad("partitions", "must be at least 1")
	}
	if c.MaxRecordBytes < 4<<10 || c.MaxRecordBytes > 1<<30 {
		bad("max record bytes", "must be between 4 KiB and 1 GiB")
	}
	if c.MaxBufferedBytes < c.MaxRecordBytes+envelopeBytes {
		bad("max buffered bytes", "must exceed max record bytes")
	}
	if c.PublishTimeout <= 0 {
		bad("publish timeout", "must be positive")
	}
	if c.PartitionBufferBytes < 1 {
		bad("partition buffer bytes", "must be positive")
	}
	if c.SessionTimeout <= 0 {
		bad("session timeout", "must be positive")
	}
	if _, err := compression(c.Compression); err != nil {
		errs = append(errs, err)
	}
	if _, err := mechanism(c.SASL); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
