package normalize_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
	"colonnade/write/cost"
	"colonnade/write/normalize"
)

// TestWireOfSenders replays what real instrumentations sent: the bytes that
// deploy/senders/record.py recorded of one call that answers, one that fails, and one for
// embeddings. The costs are those of 176 tokens at 1.5e-7, 1024 cached ones at 7.5e-8 and 80
// at 6e-7, and of 12 tokens at 2e-8.
func TestWireOfSenders(t *testing.T) {
	t.Parallel()
	type want struct {
		typ      trace.SpanType
		errors   int64
		total    int64
		cost     float64
		question string
		answer   string
	}
	chat := want{typ: trace.Chat, total: 1280, cost: 0.0001512, question: "What is the weather in Lisbon?", answer: "It is sunny in Lisbon."}
	failed := want{typ: trace.Chat, errors: 1, question: "What is the weather in Lisbon?"}
	embedding := want{typ: trace.Embedding, total: 12, cost: 2.4e-7}
	asked := embedding // some show the text as a message
	asked.question = "Lisbon weather"
	for sender, embedding := range map[string]want{"openllmetry": asked, "openinference": embedding, "langfuse": embedding} {
		t.Run(sender, func(t *testing.T) {
			t.Parallel()
			files, err := filepath.Glob(filepath.Join("testdata", "senders", sender+"_*.binpb"))
			require.NoError(t, err)
			require.NotEmpty(t, files)
			n, err := normalize.New(cost.DefaultConfig(), prometheus.NewRegistry())
			require.NoError(t, err)
			var got []want
			for _, file := range files {
				data, err := os.ReadFile(file)
				require.NoError(t, err)
				spans, refused, err := n.Spans(normalize.Meta{ReceivedAt: received}, data)
				require.NoError(t, err)
				require.Empty(t, refused)
				for i := range spans {
					s := &spans[i]
					jsonvalue.Expand(s.Attributes)
					at := func(path ...string) any {
						v, _ := jsonvalue.Lookup(s.Attributes, append([]string{"ag"}, path...))
						return v
					}
					w := want{typ: s.SpanType}
					w.errors, _ = at("metrics", "errors", "incremental").(int64)
					w.total, _ = at("metrics", "tokens", "incremental", "total").(int64)
					w.cost, _ = at("metrics", "costs", "incremental", "total").(float64)
					w.question, w.answer = contentOf(at("data", "inputs", "prompt"), "user"), contentOf(at("data", "outputs", "completion"), "assistant")
					got = append(got, w)
				}
			}
			require.Len(t, got, 3)
			for i, w := range []want{chat, failed, embedding} {
				require.InDelta(t, w.cost, got[i].cost, 1e-12)
				got[i].cost = w.cost
				require.Equal(t, w, got[i])
			}
		})
	}
}

// contentOf returns the content of the last message of a role.
func contentOf(messages any, role string) (content string) {
	list, _ := messages.([]any)
	for _, m := range list {
		if message, ok := m.(object); ok && message["role"] == role {
			content, _ = message["content"].(string)
		}
	}
	return content
}
