package message_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"colonnade/domain/jsonvalue"
	"colonnade/write/semconv/message"
)

// TestCanonical has one conversation in the shapes of several APIs; each row is
// JSON as sent and JSON as it is stored.
func TestCanonical(t *testing.T) {
	t.Parallel()
	const call = `[{"role":"assistant","tool_calls":[{"function":{"arguments":{"a":1},"name":"f"},"id":"c1","type":"function"}]}]`
	for _, tt := range []struct{ name, in, want string }{
		{"OpenAI", `[{"role":"user","content":"hi"}]`, `[{"content":"hi","role":"user"}]`},
		{"OpenAI, a call", `[{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}]`, `[{"role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"f"},"id":"c1","type":"function"}]}]`},
		{"text in parts", `[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]`, `[{"content":"a b","role":"user"}]`},
		{"an image", `[{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"u"}}]}]`, `[{"content":[{"text":"see","type":"text"},{"image_url":{"url":"u"},"type":"image_url"}],"role":"user"}]`},
		{"Anthropic, an image", `[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA"}}]}]`, `[{"content":[{"image_url":{"url":"data:image/png;base64,AA"},"type":"image_url"}],"role":"user"}]`},
		{"OpenInference, an image", `[{"role":"user","contents":[{"message_content":{"type":"image","image":{"image":{"url":"u"}}}}]}]`, `[{"content":[{"image_url":{"url":"u"},"type":"image_url"}],"role":"user"}]`},
		{"Anthropic, a call", `[{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{"a":1}}]}]`, call},
		{"Bedrock, a call", `[{"role":"assistant","content":[{"toolUse":{"toolUseId":"c1","name":"f","input":{"a":1}}}]}]`, call},
		{"OpenLLMetry, a call", `[{"role":"assistant","tool_calls":[{"id":"c1","name":"f","arguments":{"a":1}}]}]`, call},
		{"AI SDK, a call", `[{"role":"assistant","content":[{"type":"tool-call","toolCallId":"c1","toolName":"f","input":{"a":1}}]}]`, call},
		{"GenAI, a call", `[{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"f","arguments":{"a":1}}]}]`, call},
		{"Responses, a call", `[{"type":"function_call","call_id":"c1","name":"f","arguments":{"a":1}}]`, call},
		{"Gemini", `[{"role":"model","parts":[{"text":"a"},{"functionCall":{"name":"f","args":{"a":1}}}]}]`, `[{"content":"a","role":"assistant","tool_calls":[{"function":{"arguments":{"a":1},"name":"f"},"type":"function"}]}]`},
		{"an answer of a tool", `[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"42"}]}]}]`, `[{"content":"42","role":"tool","tool_call_id":"c1"}]`},
		{"thinking", `[{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"}]}]`, `[{"content":"a","role":"assistant","thinking":"hm"}]`},
		{"LangChain", `[[{"type":"human","content":"hi"}]]`, `[{"content":"hi","role":"user"}]`},
		{"a choice", `[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"a"}}]`, `[{"content":"a","finish_reason":"stop","role":"assistant"}]`},
		{"content as JSON text of blocks", `[{"role":"user","content":"[{\"text\":\"a\"}]"}]`, `[{"content":"a","role":"user"}]`},
		{"content that is other JSON stays", `[{"role":"user","content":"{\"a\":1}"}]`, `[{"content":"{\"a\":1}","role":"user"}]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sent, err := jsonvalue.Parse([]byte(tt.in))
			require.NoError(t, err)
			got, ok := message.Canonical(sent)
			require.True(t, ok)
			require.Empty(t, cmp.Diff(tt.want, string(jsonvalue.Append(nil, got))))
			before, err := jsonvalue.Parse([]byte(tt.in))
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(before, sent), "what was sent is changed")
			again, ok := message.Canonical(got)
			require.True(t, ok)
			require.Empty(t, cmp.Diff(got, again), "the stored shape is no longer one")
		})
	}
	for _, none := range []any{nil, "plain", "{}", []any{}, []any{int64(1)}, map[string]any{"input": "q"}} {
		_, ok := message.Canonical(none)
		require.False(t, ok, none)
	}
}

// FuzzCanonical shows that no JSON makes it fail, and that it changes nothing that was sent.
func FuzzCanonical(f *testing.F) {
	f.Add(`[{"role":"user","content":[{"type":"text","text":1},{"toolUse":1},null]}]`)
	f.Add(`[{"message":{"role":"a"},"kwargs":{}},{"type":"function_call_output"}]`)
	f.Fuzz(func(t *testing.T, text string) {
		sent, err := jsonvalue.Parse([]byte(text))
		if err != nil {
			return
		}
		before := string(jsonvalue.Append(nil, sent))
		message.Canonical(sent)
		require.Equal(t, before, string(jsonvalue.Append(nil, sent)))
	})
}
