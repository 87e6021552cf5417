// Package ingest is the use case of taking spans in: it says whose they are and
// when they came, groups them by trace, publishes one record for each trace and
// answers with a receipt. It ends at the broker's acknowledgement; nothing of a
// span is interpreted here.
//
// Edits and deletes take the same road. Some of them must look before they
// write: Stored does, with statements of its own, since the wings share no code.
//
// Not here: protocols (write/otlp, write/api), the bytes of records (write/otlp/wire),
// the log (write/stream). Callers: every door through which spans come, edits
// and deletes included. Source: design §3, contract §0 row 1.
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

// Config bounds what taking in may cost.
type Config struct {
	// MaxInFlightBytes bounds the bodies and records in memory at a time, over all doors.
	MaxInFlightBytes int64
	// RecordBytes is about how large a record of several spans gets.
	RecordBytes int
	// EditRecordBytes is the same for edits. It is larger: an edit in one record
	// takes effect at once, and wholly or not at all.
	EditRecordBytes int
	// MaxRecordsBytes bounds the records of one request, together. They repeat
	// what spans share: a large resource goes into the record of each trace.
	MaxRecordsBytes int
	// MaxRowsBytes bounds what the spans of one request come to in the store, each
	// with its resource and scope.
	MaxRowsBytes int
	// MaxRejections is how many refused spans of one request are recorded one by
	// one; the others are only counted.
	MaxRejections int
	// RetryAfter is what a caller is told when too much is in flight.
	RetryAfter time.Duration
}

// DefaultConfig takes four bodies of the greatest size at a time.
func DefaultConfig() Config {
	return Config{MaxInFlightBytes: 512 << 20, RecordBytes: 1 << 20, EditRecordBytes: 8 << 20, MaxRecordsBytes: 128 << 20, MaxRowsBytes: 1 << 30, MaxRejections: 1000, RetryAfter: time.Second}
}

// Validate tells what cannot work.
func (c Config) Validate() error {
	if c.MaxInFlightBytes <= 0 || c.RecordBytes <= 0 || c.EditRecordBytes <= 0 || c.MaxRecordsBytes <= 0 || c.MaxRowsBytes <= 0 || c.MaxRejections <= 0 {
		return errors.New("ingest: max in-flight bytes, record bytes, max records bytes, max rows bytes and max rejections must be positive")
	}
	return nil
}

// Ingest takes spans in. It is safe for concurrent use.
type Ingest struct {
	cfg      Config
	producer *stream.Producer
	now      func() time.Time
	log      *slog.Logger
	metrics  metrics
	budget   *Budget
	batches  sync.Pool
}

// New makes the use case over a producer.
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

// Budget is what the doors draw on while they read bodies.
func (i *Ingest) Budget() *Budget { return i.budget }

// Receipt tells a caller what became of a request. Source: interface.md §2.8.
type Receipt struct {
	// Count is how many spans the broker holds; Links name them, in the order of the request.
	Count int
	Links []Link
	// Token is where they stand in the log.
	Token domain.Token
	// ReceivedAt is the moment that the store will name for them; zero where nothing was published.
	ReceivedAt time.Time
	// Rejected are the spans that were refused, without their bytes.
	Rejected wire.Refusals
	// parted tells that an edit of a trace came to several records: see Edit.
	parted bool
}

// Link names an accepted span.
type Link struct {
	TraceID trace.TraceID `json:"trace_id"`
	SpanID  trace.SpanID  `json:"span_id"`
}

// OTLP takes the spans of an ExportTraceServiceRequest or TracesData message in.
// refused are spans that the door found bad before; nil for none. body must not change until
// it returns.
//
// The error is Rejected for a body that cannot be read and when every span was
// refused (the receipt then says why), TooLarge, or Unavailable: then nothing is
// accepted and the caller should send the whole request again.
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
	// The records are about as large as the body they are made from.
	if err := i.budget.Acquire(int64(len(body))); err != nil {
		return Receipt{}, err
	}
	defer i.budget.Release(int64(len(body)))
	batch, _ := i.batches.Get().(*wire.Batch)
	defer i.batches.Put(batch)
	if err := batch.Scan(body); err != nil {
		return Receipt{}, err
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

// split cuts the request's spans into records and tells what they come to. A
// body of megabytes, most of them one resource, may hold a hundred thousand
// traces: what that makes is refused before it is made.
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

// records makes one record for each trace, or several where a trace is large.
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
			f.Raw = "" // a receipt must not keep the body alive
			r.Rejected.Add(f)
		}
	}
	r.Rejected.Count = refused.Count + batch.Refused.Count
	return r
}

// rejections adds a record for each refused span, up to a bound, and one that
// counts the others.
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
