package demo

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// sender plays three products and the people and programs that score them.
type sender struct {
	tracer trace.Tracer
	rand   *rand.Rand
	// run marks the traces of this demo.
	run                 string
	spans, traces, runs int
	last                string
}

type product struct {
	name, model string
	questions   []string
	tools       []string
	failing     float64
}

func products() []product {
	return []product{
		{
			"support-agent", "gpt-4o-mini",
			[]string{"Where is my order 48213?", "I was charged twice in March.", "How do I return a damaged lamp?", "Please change my delivery address."},
			[]string{"search_orders", "get_customer", "create_refund"},
			0.05,
		},
		{
			"research-agent", "gpt-4o",
			[]string{"Compare the retention of columnar stores.", "Summarise last week's incident reports.", "Which regions grew fastest?"},
			[]string{"search_documents", "query_database", "fetch_page"},
			0.10,
		},
		{
			"travel-planner", "gpt-4.1-mini",
			[]string{"Three days in Lisbon with two children.", "Cheapest way from Oslo to Bergen on Friday?"},
			[]string{"search_flights", "search_hotels", "get_weather"},
			0.20,
		},
	}
}

// agentRun is a workflow with an agent that talks to a model and to tools, in turns.
func (s *sender) agentRun(ctx context.Context, at time.Time) {
	all := products()
	p := all[s.rand.IntN(len(all))]
	question := pick(s.rand, p.questions)
	session := []attribute.KeyValue{
		attribute.String("ag.session.id", "session-"+letters(s.rand, 6)), attribute.String("ag.user.id", pick(s.rand, []string{"ada", "grace", "edsger", "barbara", "tony"})),
		attribute.String("ag.tags.demo", s.run), attribute.String("ag.references.application.slug", p.name),
	}
	clock := at
	ctx, root := s.start(ctx, p.name, "workflow", trace.SpanKindServer, clock, session...)
	root.SetAttributes(document("ag.data.inputs", map[string]any{"question": question}))
	ctx, agent := s.start(ctx, "agent-loop", "agent", trace.SpanKindInternal, clock, session...)
	var failure error
	answer := ""
	for turn := 0; turn < 1+s.rand.IntN(4) && failure == nil; turn++ {
		if turn > 0 {
			clock, failure = s.tool(ctx, p, clock, session)
		}
		if failure == nil {
			clock, answer = s.chat(ctx, p, question, turn, clock, session)
		}
	}
	if failure != nil {
		agent.SetStatus(codes.Error, failure.Error())
		root.SetStatus(codes.Error, failure.Error())
	} else {
		root.SetAttributes(document("ag.data.outputs", map[string]any{"answer": answer}))
		root.SetStatus(codes.Ok, "")
	}
	agent.End(trace.WithTimestamp(clock))
	root.End(trace.WithTimestamp(clock))
	s.runs++
	s.traces++
	s.last = root.SpanContext().TraceID().String()
	if s.rand.Float64() < 0.6 {
		s.annotate(root.SpanContext(), failure != nil, clock.Add(time.Second))
	}
}

func (s *sender) chat(ctx context.Context, p product, question string, turn int, clock time.Time, session []attribute.KeyValue) (time.Time, string) {
	answer := pick(s.rand, []string{
		"I looked it up: everything is on its way and should arrive on Thursday.",
		"Here is what I found, with the sources at the end.",
		"That is possible. I have prepared two options for you to choose from.",
	})
	prompt, completion := 300+turn*450+s.rand.IntN(200), 40+s.rand.IntN(300)
	_, span := s.start(ctx, "chat "+p.model, "chat", trace.SpanKindClient, clock, session...)
	span.SetAttributes(
		document("ag.data.inputs", map[string]any{"prompt": []any{
			map[string]any{"role": "system", "content": "You are a careful assistant of " + p.name + "."},
			map[string]any{"role": "user", "content": question},
		}}),
		document("ag.data.outputs", map[string]any{"completion": []any{map[string]any{"role": "assistant", "content": answer}}}),
		document("ag.data.parameters", map[string]any{"model": p.model, "temperature": 0.2}),
		attribute.String("ag.meta.response.model", p.model),
		attribute.Int("ag.metrics.unit.tokens.prompt", prompt),
		attribute.Int("ag.metrics.unit.tokens.completion", completion),
		attribute.Int("ag.metrics.unit.tokens.total", prompt+completion),
	)
	clock = clock.Add(time.Duration(400+s.rand.IntN(2500)) * time.Millisecond)
	span.End(trace.WithTimestamp(clock))
	return clock, answer
}

func (s *sender) tool(ctx context.Context, p product, clock time.Time, session []attribute.KeyValue) (time.Time, error) {
	name := pick(s.rand, p.tools)
	_, span := s.start(ctx, name, "tool", trace.SpanKindInternal, clock, session...)
	span.SetAttributes(document("ag.data.inputs", map[string]any{"arguments": map[string]any{"limit": 5}}))
	clock = clock.Add(time.Duration(30+s.rand.IntN(400)) * time.Millisecond)
	var err error
	if s.rand.Float64() < p.failing {
		err = errors.New(name + ": the upstream did not answer within 30 s")
		span.RecordError(err, trace.WithTimestamp(clock))
		span.SetStatus(codes.Error, err.Error())
	} else {
		span.SetAttributes(document("ag.data.outputs", map[string]any{"rows": s.rand.IntN(20)}))
	}
	span.End(trace.WithTimestamp(clock))
	return clock, err
}

// annotate scores a run in a trace of its own, linked to the run's root.
func (s *sender) annotate(scored trace.SpanContext, failed bool, at time.Time) {
	evaluator := pick(s.rand, []string{"helpfulness", "correctness", "human-feedback"})
	score := 0.6 + 0.4*s.rand.Float64()
	if failed {
		score = 0.3 * s.rand.Float64()
	}
	link := trace.Link{SpanContext: scored, Attributes: []attribute.KeyValue{attribute.String("key", "invocation")}}
	_, span := s.tracer.Start(context.Background(), evaluator, trace.WithNewRoot(), trace.WithTimestamp(at), trace.WithLinks(link),
		trace.WithAttributes(
			attribute.String("ag.type.trace", "annotation"), attribute.String("ag.type.span", "task"), attribute.String("ag.tags.demo", s.run),
			attribute.String("ag.references.evaluator.slug", evaluator),
			document("ag.data.outputs", map[string]any{"score": float64(int(score*100)) / 100, "success": score > 0.5}),
		))
	span.End(trace.WithTimestamp(at.Add(80 * time.Millisecond)))
	s.spans++
	s.traces++
}

func (s *sender) start(ctx context.Context, name, kind string, spanKind trace.SpanKind, at time.Time, attributes ...attribute.KeyValue) (context.Context, trace.Span) {
	s.spans++
	//nolint:spancheck // the caller ends it, at the time that it invents
	return s.tracer.Start(ctx, name, trace.WithTimestamp(at), trace.WithSpanKind(spanKind),
		trace.WithAttributes(attribute.String("ag.type.span", kind)), trace.WithAttributes(attributes...))
}

// document is how a document travels in an attribute: OpenTelemetry's values are flat.
func document(key string, value map[string]any) attribute.KeyValue {
	raw, err := json.Marshal(value)
	if err != nil {
		return attribute.String(key, err.Error())
	}
	return attribute.String(key, "@ag.type=json:"+string(raw))
}

func pick(r *rand.Rand, of []string) string { return of[r.IntN(len(of))] }

const alphabet = "abcdefghijklmnopqrstuvwxyz"

func letters(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(alphabet[r.IntN(len(alphabet))])
	}
	return b.String()
}
