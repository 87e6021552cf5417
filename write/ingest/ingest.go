// Package ingest publishes spans: it adds the project and the time of receipt, groups spans
// by trace, publishes one record for each trace and returns a receipt after Kafka has
// acknowledged the records. It does not interpret spans.
//
// Edits and deletes are records as well. Some of them read the stored trace first: Stored
// does so with statements of its own, because the write side imports no package of the read
// side.
//
// write/otlp and write/api handle protocols, write/otlp/wire encodes records, write/stream
// produces them. Source: deploy/docs/api.md, receipts.
package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/write/otlp/wire"
	"colonnade/write/stream"
)

// Config bounds the memory and the records of requests.
type Config struct {
	// MaxInFlightBytes bounds the bodies and records in memory at a time, over all endpoints.
	MaxInFlightBytes int64
	// RecordBytes is the approximate size of a record of several spans.
	RecordBytes int
	// EditRecordBytes is the same for edits. It is larger because an edit in one record is
	// atomic.
	EditRecordBytes int
	// MaxRecordsBytes bounds the total size of the records of one request. Each record repeats
	// the resource of its spans.
	MaxRecordsBytes int
	// MaxRowsBytes bounds the total size of the rows of one request in ClickHouse; each row has
	// its resource and scope.
	MaxRowsBytes int
	// MaxRejections is the number of refused spans of one request that are recorded one by one;
	// the others are counted.
	MaxRejections int
	// RetryAfter is the delay that a caller is asked for when the budget is exceeded.
	RetryAfter time.Duration
}

// DefaultConfig returns limits for four concurrent bodies of the maximum size.
func DefaultConfig() Config {
	return Config{MaxInFlightBytes: 512 << 20, RecordBytes: 1 << 20, EditRecordBytes: 8 << 20, MaxRecordsBytes: 128 << 20, MaxRowsBytes: 1 << 30, MaxRejections: 1000, RetryAfter: time.Second}
}

// Validate returns an error that names every invalid field.
func (c Config) Validate() error {
	if c.MaxInFlightBytes <= 0 || c.RecordBytes <= 0 || c.EditRecordBytes <= 0 || c.MaxRecordsBytes <= 0 || c.MaxRowsBytes <= 0 || c.MaxRejections <= 0 {
		return errors.New("ingest: max in-flight bytes, record bytes, max records bytes, max rows bytes and max rejections must be positive")
	}
	return nil
}

// Ingest publishes spans. It is safe for concurrent use.
type Ingest struct {
	cfg      Config
	producer *stream.Producer
	now      func() time.Time
	log      *slog.Logger
	metrics  metrics
	budget   *Budget
	batches  sync.Pool
	// admit refuses spans of a project beyond its limits; nil admits all.
	admit func(project domain.ProjectID, spans, bytes int) error
}

// New returns an Ingest that publishes through a producer.
func New(cfg Config, producer *stream.Producer, now func() time.Time, log *slog.Logger, reg prometheus.Registerer) (*Ingest, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	m := newMetrics(reg)
	return &Ingest{
		cfg: cfg, producer: producer, now: now, log: log.With(slog.String("component", "ingest")), metrics: m,
		budget:  &Budget{most: cfg.MaxInFlightBytes, retryAfter: cfg.RetryAfter, gauge: m.inFlight},
		batches: sync.Pool{New: func() any { return new(wire.Batch) }},
	}, nil
}

// Budget returns the budget from which endpoints reserve memory while they read bodies.
func (i *Ingest) Budget() *Budget { return i.budget }

// Admit sets the function that refuses spans of a project beyond its limits, before they are
// published. It receives how many spans a request has and the bytes of its body. The caller
// uses it before the first request.
func (i *Ingest) Admit(admit func(project domain.ProjectID, spans, bytes int) error) { i.admit = admit }

// Receipt is the result of a request. Source: interface.md §2.8.
type Receipt struct {
	// Count is the number of spans that Kafka acknowledged; Links name them in the order of the request.
	Count int
	Links []Link
	// Token holds their positions in Kafka.
	Token domain.Token
	// ReceivedAt is their created_at in ClickHouse; zero where nothing was published.
	ReceivedAt time.Time
	// Rejected lists the refused spans without their bytes.
	Rejected wire.Refusals
	// parted marks an edit of several records: see Edit.
	parted bool
}

// Link names an accepted span.
type Link struct {
	TraceID trace.TraceID `json:"trace_id"`
	SpanID  trace.SpanID  `json:"span_id"`
}

// OTLP publishes the spans of an ExportTraceServiceRequest or TracesData message. refused
// holds the spans that the receiver refused, nil for none. body must not change until it
// returns.
//
// The error is Rejected for a body that cannot be read, and where every span was refused
// (the receipt has the reasons); TooLarge; or Unavailable, where no span is accepted and the
// caller should send the whole request again.
func (i *Ingest) OTLP(ctx context.Context, source, body string, refused *wire.Refusals) (Receipt, error) {
	return i.take(ctx, source, request{op: stream.Upsert}, body, refused)
}

func (i *Ingest) caller(ctx context.Context) (domain.Principal, error) {
	p := domain.PrincipalFrom(ctx)
	if p.Project.IsZero() {
		return p, domain.E(domain.Unauthenticated, "Unauthorized")
	}
	return p, nil
}

func (i *Ingest) record(p domain.Principal, source string, op stream.Operation, id trace.TraceID) stream.Record {
	return stream.Record{Project: p.Project, User: p.User, Trace: id, Source: source, Operation: op, ReceivedAt: i.now().UTC()}
}

func (i *Ingest) take(ctx context.Context, source string, what request, body string, refused *wire.Refusals) (Receipt, error) {
	start := i.now()
	if refused == nil {
		refused = &wire.Refusals{}
	}
	caller, err := i.caller(ctx)
	if err != nil {
		return Receipt{}, err
	}
	// The records are about as large as their body.
	if err := i.budget.Acquire(int64(len(body))); err != nil {
		return Receipt{}, err
	}
	defer i.budget.Release(int64(len(body)))
	batch, _ := i.batches.Get().(*wire.Batch)
	defer i.batches.Put(batch)
	if err := batch.Scan(body); err != nil {
		return Receipt{}, err
	}
	if i.admit != nil && what.op != stream.Delete {
		if err := i.admit(caller.Project, len(batch.Spans), len(body)); err != nil {
			return Receipt{}, err
		}
	}
	parts, size, err := i.split(ctx, what, batch)
	if err != nil {
		return Receipt{}, err
	}
	if more := int64(size - len(body)); more > 0 {
		if err := i.budget.Acquire(more); err != nil {
			return Receipt{}, err
		}
		defer i.budget.Release(more)
	}
	receipt := i.receipt(batch, refused)
	if what.op == stream.Edit && len(parts) > 1 {
		what.some, receipt.parted = true, !what.some
	}
	records := i.records(caller, source, what, batch, parts, size)
	if what.op == stream.Edit && receipt.Rejected.Count > 0 {
		return Receipt{Rejected: receipt.Rejected}, domain.E(domain.Rejected, "%s", receipt.Message())
	}
	records = i.rejections(records, caller, source, batch, refused)
	if receipt.Token, err = i.producer.Publish(ctx, records); err != nil {
		i.metrics.spans.WithLabelValues(source, "failed").Add(float64(receipt.Count))
		return Receipt{}, err
	}
	if len(records) > 0 {
		receipt.ReceivedAt = records[0].ReceivedAt
	}
	i.metrics.spans.WithLabelValues(source, "accepted").Add(float64(receipt.Count))
	i.metrics.spans.WithLabelValues(source, "refused").Add(float64(receipt.Rejected.Count))
	i.metrics.bytes.WithLabelValues(source).Add(float64(len(body)))
	i.metrics.seconds.WithLabelValues(source).Observe(i.now().Sub(start).Seconds())
	if receipt.Count == 0 && receipt.Rejected.Count > 0 {
		return receipt, domain.E(domain.Rejected, "%s", receipt.Message())
	}
	return receipt, nil
}

// split assigns the request's spans to records and returns their total size. A body whose
// megabytes are one resource may hold a hundred thousand traces: such a request is refused
// before its records are allocated.
func (i *Ingest) split(ctx context.Context, what request, batch *wire.Batch) (parts []wire.Part, size int, err error) {
	about := i.cfg.RecordBytes
	if what.op == stream.Edit {
		about = i.cfg.EditRecordBytes
	}
	parts = batch.Split(about, i.producer.MaxValueBytes(ctx))
	for _, part := range parts {
		if size += part.MaxBytes; size > i.cfg.MaxRecordsBytes {
			return nil, 0, domain.E(domain.TooLarge, "The spans of this request, each trace with its resource and scope, come to more than %d MiB. Send fewer traces at a time.", i.cfg.MaxRecordsBytes>>20)
		}
	}
	if batch.RowBytes() > i.cfg.MaxRowsBytes {
		return nil, 0, domain.E(domain.TooLarge, "The spans of this request, each with its resource and scope, come to more than %d MiB. Send fewer spans at a time.", i.cfg.MaxRowsBytes>>20)
	}
	return parts, size, nil
}

// records returns one record for each trace, or several for a large trace.
func (i *Ingest) records(p domain.Principal, source string, what request, batch *wire.Batch, parts []wire.Part, size int) []stream.Record {
	arena := make([]byte, size) // one allocation for all values of the request
	like := i.record(p, source, what.op, trace.TraceID{})
	if what.some {
		like.Headers = map[string]string{stream.HeaderScope: stream.ScopeSpans}
	}
	records := make([]stream.Record, 0, len(parts)+1)
	for _, part := range parts {
		r := like
		r.Trace = part.Trace
		r.Value = batch.Encode(arena[:part.MaxBytes:part.MaxBytes], part)
		arena = arena[part.MaxBytes:]
		records = append(records, r)
	}
	return records
}

func (i *Ingest) receipt(batch *wire.Batch, refused *wire.Refusals) Receipt {
	r := Receipt{Count: len(batch.Spans), Links: make([]Link, len(batch.Spans))}
	for n := range batch.Spans {
		r.Links[n] = Link{TraceID: batch.Spans[n].Trace, SpanID: batch.Spans[n].Span}
	}
	for _, list := range []*wire.Refusals{refused, &batch.Refused} {
		for _, f := range list.First {
			f.Raw = "" // a receipt must not keep the body in memory
			r.Rejected.Add(f)
		}
	}
	r.Rejected.Count = refused.Count + batch.Refused.Count
	return r
}

// rejections adds a record for each refused span up to MaxRejections, and one that counts
// the others.
func (i *Ingest) rejections(records []stream.Record, p domain.Principal, source string, batch *wire.Batch, refused *wire.Refusals) []stream.Record {
	kept := 0
	add := func(stage string, list []wire.Refusal) {
		list = list[:min(len(list), i.cfg.MaxRejections-kept)]
		for _, f := range list {
			records = append(records, i.rejection(p, source, stage, f))
		}
		kept += len(list)
	}
	add("json", refused.First)
	add("scan", batch.Refused.First)
	if more := refused.Count + batch.Refused.Count - kept; more > 0 {
		reason := fmt.Sprintf("%d more spans of the same request were refused", more)
		records = append(records, i.rejection(p, source, "scan", wire.Refusal{Reason: reason}))
	}
	return records
}

// Refuse records as rejected what had been accepted before.
func (i *Ingest) Refuse(ctx context.Context, source, stage string, refused []wire.Refusal) error {
	caller, err := i.caller(ctx)
	if err != nil {
		return err
	}
	records := make([]stream.Record, 0, len(refused))
	for _, f := range refused {
		records = append(records, i.rejection(caller, source, stage, f))
	}
	_, err = i.producer.Publish(ctx, records)
	return err
}

func (i *Ingest) rejection(p domain.Principal, source, stage string, f wire.Refusal) stream.Record {
	const mostRaw, mostName = 4 << 10, 256
	value := stream.Rejection{
		Stage: stage, Reason: f.Reason, SpanName: f.Name[:min(len(f.Name), mostName)],
		Raw: []byte(f.Raw[:min(len(f.Raw), mostRaw)]),
	}
	if !f.Trace.IsZero() {
		value.TraceID = f.Trace.String()
	}
	if !f.Span.IsZero() {
		value.SpanID = f.Span.String()
	}
	r := i.record(p, source, stream.Reject, f.Trace)
	r.Value, _ = json.Marshal(value) // strings and bytes always marshal
	return r
}
