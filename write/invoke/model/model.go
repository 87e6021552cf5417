package model

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"

	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
	"colonnade/write/invoke/handler"
)

var (
	errModelTimeout  = errors.New("invoke: the model is out of time")
	errReplyTooLarge = errors.New("invoke: the model's reply is too large")
)

// ask is one call to a model.
type ask struct {
	// config is what the prompt says about the model: its name, sampling, tools, response format.
	config map[string]any
	// messages are as the provider gets them.
	messages []any
	// emit gets the pieces of a streamed reply as they come; nil asks for the whole.
	emit func(piece map[string]any) error
}

// answer is the reply of a model.
type answer struct {
	// message is the assistant's, in the form of the chat completions API.
	message map[string]any
	// pieces is how many were emitted: then there is no way back.
	pieces int
	finish string
	model  string
	id     string
	usage  usage
}

type usage struct {
	prompt, completion, total, cached, reasoning int64
	known                                        bool
}

// notSent are members of a prompt's configuration of a model that are ours, or decided here.
func notSent(name string) bool {
	switch name {
	case "model", "messages", "stream", "stream_options", "n", "template_format", "input_keys":
		return true
	default:
		return false
	}
}

// call asks a model once, below a span of its own.
func (i *Client) call(ctx context.Context, c *handler.Call, a ask) (answer, error) {
	name, _ := a.config["model"].(string)
	provider, model := i.cfg.split(name)
	span, err := c.Span.Child("chat "+model, trace.Chat)
	if err != nil {
		return answer{}, err
	}
	body := map[string]any{"model": model, "messages": a.messages}
	for name, value := range a.config {
		if value != nil && !notSent(name) {
			body[name] = value
		}
	}
	describeAsk(span, provider, model, body)
	out, err := i.send(ctx, c, provider, body, a.emit)
	describeAnswer(span, &out)
	span.End(err)
	outcome := "ok"
	if err != nil {
		outcome = "failed"
	}
	i.calls.WithLabelValues(provider, outcome).Inc()
	return out, err
}

func (i *Client) send(ctx context.Context, c *handler.Call, provider string, body map[string]any, emit func(map[string]any) error) (answer, error) {
	address, key, err := i.credentials(ctx, c, provider)
	if err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, i.cfg.Timeout, errModelTimeout)
	defer cancel()
	completions := openai.NewChatCompletionService(i.options(address, key)...)
	var out answer
	if emit == nil {
		out, err = whole(ctx, completions, body)
	} else {
		out, err = streamed(ctx, completions, body, emit)
	}
	if left, ok := errors.AsType[*listenerError](err); ok {
		return out, left.err
	}
	if err != nil {
		return out, modelError(ctx, provider, key, err)
	}
	return out, nil
}

// options of the official client. Retrying is the prompt's decision, not the client's.
func (i *Client) options(address, key string) []option.RequestOption {
	return []option.RequestOption{
		option.WithBaseURL(strings.TrimSuffix(address, "/") + "/"), option.WithAPIKey(key), option.WithMaxRetries(0),
		option.WithHTTPClient(bounded{i.http, i.cfg.MaxReplyBytes}),
	}
}

// bounded is an HTTP client whose replies end at a number of bytes.
type bounded struct {
	client *http.Client
	most   int64
}

// Do sends a request.
func (b bounded) Do(r *http.Request) (*http.Response, error) {
	resp, err := b.client.Do(r) //nolint:gosec // the address is one of the operator's table
	if err == nil {
		resp.Body = &limitedBody{ReadCloser: resp.Body, left: b.most}
	}
	return resp, err
}

type limitedBody struct {
	io.ReadCloser
	left int64
}

// Read fails beyond the limit, where io.LimitReader would end in silence.
func (l *limitedBody) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errReplyTooLarge
	}
	if int64(len(p)) > l.left {
		p = p[:l.left]
	}
	n, err := l.ReadCloser.Read(p)
	l.left -= int64(n)
	return n, err
}

func params(body map[string]any) openai.ChatCompletionNewParams {
	return param.Override[openai.ChatCompletionNewParams](json.RawMessage(jsonvalue.Append(nil, body)))
}

// whole waits for the whole reply.
func whole(ctx context.Context, s openai.ChatCompletionService, body map[string]any) (answer, error) {
	reply, err := s.New(ctx, params(body))
	if err != nil {
		return answer{}, err
	}
	out := answer{model: reply.Model, id: reply.ID}
	out.usage.take(reply.Usage)
	if len(reply.Choices) == 0 {
		return out, errors.New("the reply holds no choice")
	}
	out.finish = reply.Choices[0].FinishReason
	parsed, err := jsonvalue.ParseString(reply.Choices[0].Message.RawJSON())
	if err != nil {
		return out, errors.New("the reply holds no message")
	}
	out.message = withoutNulls(handler.Object(parsed))
	return out, nil
}

// withoutNulls drops what providers say by null: that it is not there.
func withoutNulls(message map[string]any) map[string]any {
	maps.DeleteFunc(message, func(name string, value any) bool { return value == nil && name != "content" })
	if list, ok := message["annotations"].([]any); ok && len(list) == 0 {
		delete(message, "annotations")
	}
	return message
}

// listenerError is a stream that ended because nobody listens to it any more.
type listenerError struct{ err error }

// Error is for logs.
func (l *listenerError) Error() string { return "invoke: the listener left: " + l.err.Error() }

// Unwrap gives the cause.
func (l *listenerError) Unwrap() error { return l.err }

// streamed hands on the pieces of a reply as they come and puts them together.
func streamed(ctx context.Context, s openai.ChatCompletionService, body map[string]any, emit func(map[string]any) error) (answer, error) {
	body = maps.Clone(body)
	body["stream_options"] = map[string]any{"include_usage": true}
	stream := s.NewStreaming(ctx, params(body))
	defer func() { _ = stream.Close() }() // the reply was read, or its error is the one that counts
	var out answer
	var parts assembly
	for stream.Next() {
		chunk := stream.Current()
		out.model, out.id = chunk.Model, chunk.ID
		if chunk.JSON.Usage.Valid() {
			out.usage.take(chunk.Usage)
		}
		if len(chunk.Choices) == 0 {
			continue
		}
		choice := chunk.Choices[0]
		if choice.FinishReason != "" {
			out.finish = choice.FinishReason
		}
		piece := parts.add(choice.Delta)
		if len(piece) == 0 {
			continue
		}
		if err := emit(piece); err != nil {
			out.message = parts.message()
			return out, &listenerError{err}
		}
		out.pieces++
	}
	out.message = parts.message()
	if err := stream.Err(); err != nil {
		return out, err
	}
	if out.finish == "" {
		// A connection that is cut between two events looks like an end.
		return out, io.ErrUnexpectedEOF
	}
	return out, nil
}

func (u *usage) take(from openai.CompletionUsage) {
	if from.PromptTokens == 0 && from.CompletionTokens == 0 && from.TotalTokens == 0 {
		return
	}
	*u = usage{
		prompt: from.PromptTokens, completion: from.CompletionTokens, total: from.TotalTokens,
		cached: from.PromptTokensDetails.CachedTokens, reasoning: from.CompletionTokensDetails.ReasoningTokens, known: true,
	}
}
