package normalize

import (
	"errors"
	"fmt"
	"sync"
	"time"
	"unsafe"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/write/cost"
	"colonnade/write/otlp/wire"
)

// Meta is what a record says of all its spans.
type Meta struct {
	// Source is the door the record came through: otlp, json, simple.
	Source string
	// ReceivedAt becomes CreatedAt, and stands in for times that a span lacks.
	ReceivedAt time.Time
	// User becomes CreatedBy; zero means unknown.
	User uuid.UUID
}

// Refusal is one span that cannot be kept. Its ids are zero where they could
// not be read.
type Refusal struct {
	TraceID trace.TraceID
	SpanID  trace.SpanID
	Name    string
	// Reason is a sentence for the one who sent the span.
	Reason string
}

// Normalizer makes canonical spans of records. It is safe for concurrent use.
type Normalizer struct {
	prices  *cost.Prices
	metrics metrics
	scratch sync.Pool
}

// New makes a Normalizer with the price table of the release; its metrics go to
// registerer. It fails only on a table or a registration that is wrong.
func New(cfg cost.Config, registerer prometheus.Registerer) (*Normalizer, error) {
	prices, err := cost.LoadPrices(cfg)
	if err != nil {
		return nil, fmt.Errorf("fit: load prices: %w", err)
	}
	f := &Normalizer{prices: prices, metrics: newMetrics()}
	if err := errors.Join(f.metrics.register(registerer), registerer.Register(prices.Collector())); err != nil {
		return nil, fmt.Errorf("fit: register metrics: %w", err)
	}
	f.scratch.New = func() any { return new(fitting) }
	return f, nil
}

// Spans gives the spans of a record's value (OTLP TracesData) in the order of
// the wire, and those it refused. An error means that the record as a whole
// cannot be read; it is Rejected, and so permanent. Trace types and what is
// promoted across spans are Trace's to complete: it must see all spans of a
// trace that a batch holds. Inputs, outputs and internals may be Documents. Resource maps and hashes are shared between spans and
// are not to be changed. Strings of the spans share value's memory: nobody may
// write to it any more, and who keeps one for long copies it.
func (f *Normalizer) Spans(meta Meta, value []byte) ([]trace.Span, []Refusal, error) {
	var spans []trace.Span
	var refused []Refusal
	w, _ := f.scratch.Get().(*fitting)
	defer f.scratch.Put(w)
	w.begin(f, meta)
	defer w.end()
	data := unsafe.String(unsafe.SliceData(value), len(value)) //nolint:gosec // never written to again, see above
	n, err := wire.Count(data)
	if err == nil {
		spans = make([]trace.Span, 0, n)
		err = wire.Walk(data, func(resource, scope, data string) error {
			at := len(spans)
			spans = spans[:at+1]
			if err := w.fit(&spans[at], resource, scope, data); err != nil {
				refused = append(refused, w.refusal(err))
				spans[at] = trace.Span{}
				spans = spans[:at]
			}
			return nil
		})
	}
	if err != nil {
		return nil, nil, fmt.Errorf("fit: read record: %w", err)
	}
	f.metrics.count(len(spans), len(refused))
	return spans, refused, nil
}

// refusal names the span that is being fitted as far as it was read.
func (w *fitting) refusal(err error) Refusal {
	r := Refusal{Name: w.raw.Name, Reason: err.Error()}
	if len(w.raw.TraceID) == len(r.TraceID) {
		copy(r.TraceID[:], w.raw.TraceID)
	}
	if len(w.raw.SpanID) == len(r.SpanID) {
		copy(r.SpanID[:], w.raw.SpanID)
	}
	return r
}

func rejected(format string, args ...any) error { return domain.E(domain.Rejected, format, args...) }
