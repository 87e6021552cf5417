// Package demo shows the main job: it sends realistic traces through the
// official OpenTelemetry SDK, as any instrumented product would, reads them
// back through the query API, and prints what it found. It uses nothing that
// a user of the service could not use.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"colonnade/cmd/internal/client"
	"colonnade/domain"
)

// Plan says where to and how much.
type Plan struct {
	BaseURL, Key string
	// KeyFile is the file that holds the key; empty means that the caller has it elsewhere. The
	// printed commands read it there, because the output may be a journal that others read.
	KeyFile string
	// Traces is the number of agent runs; about six in ten are scored by an annotation trace.
	Traces int
	// Over is how far back the runs began.
	Over time.Duration
	Seed uint64
}

// Run sends, queries and prints.
func Run(ctx context.Context, plan Plan, out io.Writer, now func() time.Time) error {
	began := now()
	written := &receipts{}
	provider, err := newProvider(ctx, plan, written)
	if err != nil {
		return err
	}
	s := &sender{
		tracer: provider.Tracer("colonnade.demo"),
		rand:   rand.New(rand.NewPCG(plan.Seed, 1)), //nolint:gosec // a show needs no secrets
		run:    fmt.Sprintf("demo-%d", began.UnixNano()),
	}
	_, _ = fmt.Fprintf(out, "Sending %d agent runs through the OpenTelemetry SDK to %s ...\n", plan.Traces, plan.BaseURL)
	for i := range plan.Traces {
		at := began.Add(-plan.Over + time.Duration(float64(plan.Over)*float64(i)/float64(plan.Traces)))
		s.agentRun(ctx, at)
	}
	if err := errors.Join(provider.ForceFlush(ctx), provider.Shutdown(ctx)); err != nil {
		return fmt.Errorf("demo: the exporter could not deliver: %w", err)
	}
	sent := now()
	_, _ = fmt.Fprintf(out, "%d spans in %d traces accepted after %.1f s.\n", s.spans, s.traces, sent.Sub(began).Seconds())

	c := client.New(plan.BaseURL, plan.Key)
	found, err := look(ctx, c, s.run, written.tokens.All(), now().Add(30*time.Second), now)
	if err != nil {
		return err
	}
	if found.runs != s.runs || found.annotations != s.traces-s.runs {
		return fmt.Errorf("demo: sent %d runs and %d annotations, found %d and %d", s.runs, s.traces-s.runs, found.runs, found.annotations)
	}
	_, _ = fmt.Fprintf(out, "All of them can be queried, %.2f s after the last receipt.\n\n", now().Sub(sent).Seconds())
	found.print(out)
	whereNext(out, plan, s.last)
	return nil
}

// newProvider is what an instrumented product sets up.
func newProvider(ctx context.Context, plan Plan, sent *receipts) (*sdktrace.TracerProvider, error) {
	exporter, err := otlptracehttp.New(ctx,
		otlptracehttp.WithEndpointURL(plan.BaseURL+"/api/otlp/v1/traces"),
		otlptracehttp.WithHeaders(map[string]string{"Authorization": "ApiKey " + plan.Key}),
		otlptracehttp.WithCompression(otlptracehttp.GzipCompression),
		otlptracehttp.WithHTTPClient(&http.Client{Transport: sent, Timeout: 30 * time.Second}),
	)
	if err != nil {
		return nil, fmt.Errorf("demo: making the exporter: %w", err)
	}
	return sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter, sdktrace.WithMaxQueueSize(1<<16), sdktrace.WithMaxExportBatchSize(512), sdktrace.WithBlocking()),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "colonnade-demo"))),
	), nil
}

// receipts collects the tokens of the replies to an exporter, so that the queries see
// everything that was sent.
type receipts struct{ tokens client.Tokens }

// RoundTrip passes a request on and keeps the token of its reply.
func (t *receipts) RoundTrip(r *http.Request) (*http.Response, error) {
	carried := t.tokens.Carry()
	if carried != "" {
		r = r.Clone(r.Context())
		r.Header.Set(domain.TokenHeader, carried)
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || res.Header.Get(domain.TokenHeader) == "" {
		t.tokens.Add(carried)
		return res, err
	}
	t.tokens.Add(res.Header.Get(domain.TokenHeader))
	return res, nil
}
