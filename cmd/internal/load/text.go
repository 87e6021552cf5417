package load

import (
	"math/rand/v2"
	"strings"
	"time"
)

// writer invents runs.
type writer struct {
	rand  *rand.Rand
	scale float64
	tag   string
	words []string
}

const (
	kindInternal = 1
	kindServer   = 2
	kindClient   = 3
)

// models are those that agent runs call, evaluators those whose judgments annotations
// are. Readers ask for spans of one of them.
func models() []string { return []string{"gpt-4o", "gpt-4o-mini", "gpt-4.1-mini", "o4-mini"} }

func evaluators() []string {
	return []string{"helpfulness", "groundedness", "toxicity", "human-feedback"}
}

// run is one agent run of 5 to 40 spans: a workflow, an agent, and turns of
// chat and tools in it. Each chat call carries the history so far, up to what
// a window holds, as chat products do.
func (w *writer) run() template {
	application := w.pick("support-agent", "research-agent", "sales-copilot", "code-reviewer", "travel-planner")
	references := map[string]string{"application": application, "application_variant": application + ".v" + w.pick("1", "2", "3")}
	question := w.text(120, 500)
	model := w.pick(models()...)
	history := []any{message("system", w.text(300, 500)), message("user", question)}
	clock := w.between(2*time.Millisecond, 20*time.Millisecond)
	spans := []spanText{
		{name: application, spanType: "workflow", kind: kindServer, parent: -1, application: application, references: references, inputs: map[string]any{"question": question}},
		{name: "agent-loop", spanType: "agent", kind: kindInternal, parent: 0, start: clock, inputs: map[string]any{"question": question, "max_turns": 20}},
	}
	for count := 5 + w.rand.IntN(18) + w.rand.IntN(19); len(spans) < count; {
		answer := w.text(150, 900)
		start := clock
		clock += w.between(300*time.Millisecond, 3*time.Second)
		window := w.window(history)
		size := len(canonical(window))
		spans = append(spans, spanText{
			name: "chat " + model, spanType: "chat", kind: kindClient, parent: 1, start: start, end: clock, model: model,
			inputs: map[string]any{"prompt": window}, outputs: map[string]any{"completion": []any{message("assistant", answer)}},
			parameters: map[string]any{"model": model, "temperature": 0.2, "max_tokens": 1024},
			prompt:     size / 4, answer: len(answer) / 4,
		})
		history = append(history, message("assistant", answer))
		for calls := w.rand.IntN(3); calls > 0 && len(spans) < count; calls-- {
			tool := w.pick("search_orders", "get_customer", "query_database", "fetch_page", "run_code", "send_email")
			start, clock = clock, clock+w.between(20*time.Millisecond, 400*time.Millisecond)
			span := spanText{
				name: tool, spanType: "tool", kind: kindInternal, parent: 1, start: start, end: clock,
				inputs: map[string]any{"arguments": map[string]any{"query": w.text(30, 120), "limit": 10}},
			}
			result := w.text(300, 1200)
			if w.rand.IntN(20) == 0 {
				result = "the tool did not answer within 30 s"
				span.failure = result
			}
			span.outputs = map[string]any{"result": result}
			spans = append(spans, span)
			history = append(history, message("tool", result))
		}
	}
	clock += int64(time.Millisecond)
	final := w.text(200, 800)
	spans[1].end, spans[1].outputs = clock, map[string]any{"answer": final}
	clock += int64(time.Millisecond)
	spans[0].end, spans[0].outputs = clock, map[string]any{"answer": final}
	return encodeTrace(w.tag, spans)
}

// annotation is a judgment on a run: a score and its reason.
func (w *writer) annotation() template {
	evaluator := w.pick(evaluators()...)
	took := w.between(time.Millisecond, 2*time.Second)
	return encodeTrace(w.tag, []spanText{{
		name: evaluator, spanType: "task", kind: kindInternal, parent: -1, end: took, application: "evaluator", linkName: "invocation",
		references: map[string]string{"evaluator": evaluator},
		inputs:     map[string]any{"criteria": w.text(100, 300)},
		outputs:    map[string]any{"score": float64(w.rand.IntN(101)) / 100, "success": w.rand.IntN(4) > 0, "reasoning": w.text(100, 500)},
	}})
}

func message(role, content string) map[string]any {
	return map[string]any{"role": role, "content": content}
}

// window is the system message and as many of the last messages as 3 KB hold.
func (w *writer) window(history []any) []any {
	budget := int(3000 * w.scale)
	from := len(history)
	for from > 1 {
		size := len(canonical(history[from-1]))
		if budget < size {
			break
		}
		budget -= size
		from--
	}
	return append([]any{history[0]}, history[from:]...)
}

func (w *writer) pick(of ...string) string { return of[w.rand.IntN(len(of))] }

func (w *writer) between(lo, hi time.Duration) int64 {
	return int64(lo) + w.rand.Int64N(int64(hi-lo))
}

// text is prose of about so many bytes before scaling: common words are
// frequent, numbers and names occur, so that it compresses as prose does.
func (w *writer) text(lo, hi int) string {
	size := max(int(float64(lo+w.rand.IntN(hi-lo))*w.scale), 8)
	var b strings.Builder
	for b.Len() < size {
		// Squaring the chance makes the first words of the list the frequent ones.
		x := w.rand.Float64()
		switch word := w.words[int(x*x*float64(len(w.words)))]; w.rand.IntN(24) {
		case 0:
			b.WriteString(strings.ToUpper(word[:1]) + word[1:] + "-" + decimal(w.rand.IntN(1_000_000)))
		case 1:
			b.WriteString(word + ".")
		case 2:
			b.WriteString(word + ",")
		default:
			b.WriteString(word)
		}
		b.WriteByte(' ')
	}
	return b.String()[:size]
}

func decimal(n int) string {
	b := make([]byte, 6)
	putDecimal(b, uint64(n)) //nolint:gosec // not negative
	return string(b)
}

const vocabulary = `the to of and a in is that for it you with on as are this be your we our from have can order not will
customer please account was an by or has if at but they which all there when one about more so their been would what were
time product any number also may support after into only payment other team delivery should some could them than then its
these new first service use see because how know data request issue help check address invoice refund details return item
shipping date status available information system however order's confirm policy between contact results based answer
following question provide question's recent include need update before during process change within current email over
example since cost again every under price month without price's access value current's while result report search option
together review different several source another problem section likely version context summary document customer's reply
shows evidence schedule contract analysis region store inventory budget forecast quarter region's warehouse carrier tracking
estimate approval manager compliance threshold latency throughput migration rollback incident severity resolution escalate
calendar itinerary departure arrival reservation passenger luggage currency exchange balance statement transaction merchant
authentication permission credential repository commit branch deploy regression coverage benchmark exception stack function
parameter variable interface schema partition replica consumer producer cluster retention compaction checkpoint snapshot`
