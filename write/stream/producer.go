package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"colonnade/domain"
)

// Producer writes records to Kafka. It is safe for concurrent use and connects on first
// use, so that receivers can start before the broker does.
type Producer struct {
	cfg     Config
	log     *slog.Logger
	now     func() time.Time
	metrics producerMetrics
	admin   *kgo.Client

	// preparing holds the one caller that prepares the topics; the others wait until their
	// contexts end.
	preparing chan struct{}
	// prepared reports that the topics are those that client was made for.
	prepared atomic.Bool
	// client is nil until the topics first existed.
	client atomic.Pointer[kgo.Client]
	// topics are those that client was made for; preparing guards it.
	topics Topics
	// limit is the largest message that the topic accepts, as far as it is known; promised
	// the largest value that MaxValueBytes ever returned.
	limit, promised atomic.Int64
}

// NewProducer returns a producer; nothing is sent until it is used.
func NewProducer(cfg Config, now func() time.Time, log *slog.Logger, reg prometheus.Registerer) (*Producer, error) {
	log = log.With(slog.String("component", "stream"))
	opts, err := ClientOptions(cfg, now, log)
	if err != nil {
		return nil, err
	}
	admin, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("stream: make a client: %w", err)
	}
	p := &Producer{cfg: cfg, log: log, now: now, metrics: newProducerMetrics(reg), admin: admin, preparing: make(chan struct{}, 1)}
	p.limit.Store(int64(cfg.MaxRecordBytes + envelopeBytes))
	return p, nil
}

// MaxValueBytes returns the largest Value that Publish accepts. The first call asks the
// broker, for at most RetryAfter. The limit shrinks when the topic is created again with a
// smaller one, and may shrink after a call that the broker did not answer.
func (p *Producer) MaxValueBytes(ctx context.Context) int {
	if p.client.Load() == nil {
		ctx, cancel := context.WithTimeout(ctx, min(p.cfg.RetryAfter, p.cfg.PublishTimeout))
		defer cancel()
		_, _ = p.prepare(ctx) // Publish returns the error
	}
	largest := maxValueBytes(int(p.limit.Load()))
	for before := p.promised.Load(); before < int64(largest) && !p.promised.CompareAndSwap(before, int64(largest)); {
		before = p.promised.Load()
	}
	return largest
}

// Publish writes the records and returns once the broker has made all of them durable. The
// token names the last offset in every partition that has one of them.
//
// After an error the caller must treat no record as accepted, although some may be in the
// topic or still get there. The records of a second attempt follow them and replace them;
// the sink leaves out those that are equal. Until then an edit of several records may be
// visible in part.
//
// Errors are TooLarge for a record over MaxValueBytes and otherwise Unavailable with
// RetryAfter, also for a record that MaxValueBytes allowed before the limit shrank: the same
// request then makes smaller records.
func (p *Producer) Publish(ctx context.Context, records []Record) (domain.Token, error) {
	return p.publish(ctx, records, func(r *Record) (*kgo.Record, error) {
		if err := p.fits(r); err != nil {
			return nil, err
		}
		return encode(r, p.cfg.Topic)
	})
}

// errShrunk reports a record that was made when the topic accepted larger ones.
var errShrunk = errors.New("stream: the topic accepts smaller records than before")

func (p *Producer) fits(r *Record) error {
	switch n := len(r.Value); {
	case n <= maxValueBytes(int(p.limit.Load())):
		return nil
	case int64(n) <= p.promised.Load():
		return fmt.Errorf("%w: %d bytes", errShrunk, n)
	default:
		return fmt.Errorf("stream: a value of %d bytes: %w", n, kerr.MessageTooLarge)
	}
}

// Dead writes consumed records to the dead-letter topic, each exactly as it was consumed
// (also one that could not be decoded), with headers for the reason and its position.
func (p *Producer) Dead(ctx context.Context, records []Record, reason string) error {
	_, err := p.publish(ctx, records, func(r *Record) (*kgo.Record, error) {
		k, err := envelope(r, p.cfg.DeadTopic())
		if err != nil {
			return nil, err
		}
		k.Headers = append(k.Headers,
			kgo.RecordHeader{Key: HeaderDeadReason, Value: []byte(bounded(reason))},
			kgo.RecordHeader{Key: headerDeadPartition, Value: strconv.AppendInt(nil, int64(r.Partition), 10)},
			kgo.RecordHeader{Key: headerDeadOffset, Value: strconv.AppendInt(nil, r.Offset, 10)})
		return k, nil
	})
	return err
}

// bounded cuts a reason, so that it fits into envelopeBytes.
func bounded(reason string) string {
	const maxBytes = 512
	if len(reason) > maxBytes {
		return reason[:maxBytes]
	}
	return reason
}

// envelope returns a record as it was consumed, with its own key and headers.
func envelope(r *Record, topic string) (*kgo.Record, error) {
	if r.Raw == nil {
		return encode(r, topic)
	}
	k := &kgo.Record{Topic: topic, Key: r.Raw.Key, Value: r.Value}
	for _, h := range r.Raw.Headers {
		if h.Key != HeaderDeadReason && h.Key != headerDeadPartition && h.Key != headerDeadOffset {
			k.Headers = append(k.Headers, kgo.RecordHeader(h))
		}
	}
	return k, nil
}

func (p *Producer) publish(ctx context.Context, records []Record, encode func(*Record) (*kgo.Record, error)) (domain.Token, error) {
	if len(records) == 0 {
		return nil, nil
	}
	start := p.now()
	ctx, cancel := context.WithTimeout(ctx, p.cfg.PublishTimeout)
	defer cancel()
	client, err := p.prepare(ctx)
	if err != nil {
		return nil, p.failed(err)
	}
	made := make([]*kgo.Record, len(records))
	for i := range records { // all of them before the first is sent
		if made[i], err = encode(&records[i]); err != nil {
			return nil, p.failed(err)
		}
	}
	call := newCall(len(records))
	for _, k := range made {
		client.Produce(ctx, k, call.done)
	}
	select {
	case <-call.finished:
	case <-ctx.Done():
		// The client keeps the records that the broker may already have, and cancels the others.
		return nil, p.failed(context.Cause(ctx))
	}
	if call.err != nil {
		return nil, p.failed(call.err)
	}
	p.metrics.seconds.Observe(p.now().Sub(start).Seconds())
	for i := range records {
		p.metrics.records.WithLabelValues(string(records[i].Operation)).Inc()
		p.metrics.bytes.Add(float64(len(records[i].Value)))
	}
	return call.token, nil
}

// call collects the results of one Publish.
type call struct {
	mu       sync.Mutex
	left     int
	err      error
	token    domain.Token
	finished chan struct{}
}

func newCall(n int) *call { return &call{left: n, finished: make(chan struct{})} }

func (c *call) done(k *kgo.Record, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.err = errors.Join(c.err, err)
	} else {
		c.token = c.token.Add(domain.Position{Partition: k.Partition, Offset: k.Offset})
	}
	if c.left--; c.left == 0 {
		close(c.finished)
	}
}

// prepare returns the producing client once the topics exist. Its largest batch must fit the
// topic's limit, which only the broker knows, so that NewProducer cannot make it.
func (p *Producer) prepare(ctx context.Context) (*kgo.Client, error) {
	if p.prepared.Load() {
		return p.client.Load(), nil
	}
	select {
	case p.preparing <- struct{}{}:
		defer func() { <-p.preparing }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if p.prepared.Load() {
		return p.client.Load(), nil
	}
	topics, err := EnsureTopics(ctx, p.admin, p.cfg, p.log)
	if err != nil {
		return nil, err
	}
	client := p.client.Load()
	if client == nil || topics != p.topics {
		if client, err = p.replace(ctx, topics); err != nil {
			return nil, err
		}
	}
	p.prepared.Store(true)
	return client, nil
}

// replace makes a client for these topics and closes the former one. A client that only
// forgot the deleted topics would number its batches from zero under the same producer id: a
// topic that still exists would take them for repetitions, acknowledge them and drop them. A
// new client has a producer id of its own.
func (p *Producer) replace(ctx context.Context, topics Topics) (*kgo.Client, error) {
	client, err := p.connect(topics.limits)
	if err != nil {
		return nil, err
	}
	p.limit.Store(int64(topics.main)) // before the client, which is used with its limit
	if before := p.client.Swap(client); before != nil {
		before.Close() // calls that wait for it fail with Unavailable
	}
	if made := p.topics.mainID; made != topics.mainID && made != [16]byte{} {
		p.log.LogAttrs(ctx, slog.LevelError, "topic was created again, its records are lost", slog.String("topic", p.cfg.Topic))
		p.metrics.loss.Inc()
	}
	p.topics = topics
	return client, nil
}

func (p *Producer) connect(topics limits) (*kgo.Client, error) {
	opts, err := ClientOptions(p.cfg, p.now, p.log)
	if err != nil {
		return nil, err
	}
	codec, err := Compression(p.cfg.Compression)
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(append(opts,
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), // Kafka's own murmur2, so that any producer chooses the same partition for a trace
		kgo.ProducerBatchCompression(codec),
		kgo.ProducerLinger(p.cfg.Linger),
		kgo.ProducerBatchMaxBytesFn(topics.BatchBytes(p.cfg)),
		kgo.MaxBufferedBytes(p.cfg.MaxBufferedBytes),
		kgo.MaxBufferedRecords(1<<20), // MaxBufferedBytes is reached first
		// A record whose Publish has ended leaves the buffer, unless the broker may already
		// have it: to give that one up would break idempotence.
		kgo.RecordDeliveryTimeout(p.cfg.PublishTimeout),
		kgo.ProduceRequestTimeout(p.cfg.PublishTimeout),
		kgo.ProducerOnDataLossDetected(p.dataLost),
	)...)
	if err != nil {
		return nil, fmt.Errorf("stream: make a producing client: %w", err)
	}
	return client, nil
}

func (p *Producer) dataLost(topic string, partition int32) {
	p.metrics.loss.Inc()
	p.log.LogAttrs(context.Background(), slog.LevelError, "broker lost records that it had acknowledged",
		slog.String("topic", topic), slog.Int("partition", int(partition)))
}

// failed counts and classifies the error of a call.
func (p *Producer) failed(err error) error {
	classified := p.classify(err)
	p.metrics.failures.WithLabelValues(domain.KindOf(classified).String()).Inc()
	return classified
}

// classify returns the error for the caller: all but a record that is too large may be sent again.
func (p *Producer) classify(err error) error {
	switch {
	case errors.Is(err, kerr.MessageTooLarge):
		p.prepared.Store(false) // the limit may have changed: the next call asks
		return domain.Wrap(domain.TooLarge, err, "A span is larger than Kafka accepts.")
	case errors.Is(err, kerr.UnknownTopicOrPartition), errors.Is(err, kerr.UnknownTopicID):
		p.prepared.Store(false) // deleted, or not known to this broker yet: the next call asks
	}
	e := domain.Wrap(domain.Unavailable, err, "Kafka does not answer; send the same request again.")
	e.RetryAfter = p.cfg.RetryAfter
	return e
}

// Ready returns an error unless the broker answers and every partition has a leader.
func (p *Producer) Ready(ctx context.Context) error {
	if _, err := p.prepare(ctx); err != nil {
		return p.classify(err)
	}
	if _, err := ready(ctx, p.admin, p.cfg.Topic); err != nil {
		return p.classify(err)
	}
	return nil
}

// Close sends what is buffered, within the publish timeout, and disconnects.
func (p *Producer) Close() error {
	defer p.admin.Close()
	client := p.client.Load()
	if client == nil {
		return nil
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), p.cfg.PublishTimeout)
	defer cancel()
	if err := client.Flush(ctx); err != nil {
		return fmt.Errorf("stream: flush: %w", err)
	}
	return nil
}
