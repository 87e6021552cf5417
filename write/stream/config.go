package stream

import (
	"crypto/tls"
	"errors"
	"fmt"
	"time"
)

// Config holds the addresses of Kafka and bounds the memory of records.
type Config struct {
	// Brokers are the seed addresses, host:port.
	Brokers []string
	// Topic holds the spans. The dead-letter topic has its name followed by ".dead".
	Topic string
	// Group is the consumer group of the sink.
	Group string
	// ClientID names this process in the broker's logs.
	ClientID string
	// Partitions is the number of partitions of a created topic. Sinks beyond that
	// number stay idle; a later increase moves traces to other partitions.
	Partitions int32
	// ReplicationFactor of created topics; -1 means the broker's default.
	ReplicationFactor int16
	// Retention and DeadLetterRetention are those of created topics; zero means the
	// broker's default.
	Retention, DeadLetterRetention time.Duration
	// MaxRecordBytes bounds one record. The topic is created with a message
	// limit to match; an existing topic with a smaller limit lowers it.
	MaxRecordBytes int
	// Compression of produced batches: none, lz4, snappy, zstd or gzip.
	Compression string
	// Linger is how long a partition waits for more records before a batch is sent.
	Linger time.Duration
	// MaxBufferedBytes bounds the memory of records that the broker has not acknowledged.
	MaxBufferedBytes int
	// PublishTimeout bounds how long Publish waits for the broker.
	PublishTimeout time.Duration
	// RetryAfter is the Retry-After of an answer 503 when the broker does not respond.
	RetryAfter time.Duration
	// PartitionBufferBytes bounds the memory of records of one partition that wait for
	// its worker. Polling of a partition with more is paused.
	PartitionBufferBytes int
	// SessionTimeout is the time without a heartbeat after which a consumer loses its
	// partitions.
	SessionTimeout time.Duration
	// TLS is used for all connections to the brokers; nil means plain text.
	TLS *tls.Config
	// SASL credentials; an empty Mechanism means none.
	SASL SASL
}

// SASL holds the credentials for the brokers.
type SASL struct {
	// Mechanism is plain, scram-sha-256 or scram-sha-512.
	Mechanism string
	// Username and Password are the credentials of the mechanism.
	Username, Password string
}

// DefaultConfig returns the settings for a broker on this machine.
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

// DeadTopic returns the name of the dead-letter topic, for records that cannot be processed.
func (c Config) DeadTopic() string { return c.Topic + ".dead" }

// RedriveGroup returns the consumer group whose commits are how far the dead-letter topic was
// redriven.
func (c Config) RedriveGroup() string { return c.Group + ".redrive" }

// Validate returns an error that names every field that cannot work.
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
	if _, err := Compression(c.Compression); err != nil {
		errs = append(errs, err)
	}
	if _, err := mechanism(c.SASL); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
