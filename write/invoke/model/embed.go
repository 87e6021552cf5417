package model

import (
	"context"
	"errors"

	"github.com/openai/openai-go/v3"

	"colonnade/domain/trace"
	"colonnade/write/invoke/handler"
)

// Embed asks for the embeddings of texts, below a span of its own.
func (i *Client) Embed(ctx context.Context, c *handler.Call, name string, texts []string) ([][]float64, error) {
	provider, model := i.cfg.split(name)
	span, err := c.Span.Child("embeddings "+model, trace.Embedding)
	if err != nil {
		return nil, err
	}
	span.Set(map[string]any{
		"operation": map[string]any{"name": "embeddings"}, "provider": map[string]any{"name": provider}, "system": provider,
		"request": map[string]any{"model": model},
	}, "gen_ai")
	span.Set(map[string]any{"embeddings": handler.Canonical(toAny(texts))}, "ag", "data", "inputs")
	span.Set(map[string]any{"model": model}, "ag", "data", "parameters")
	span.Set(provider, "ag", "meta", "provider", "name")
	vectors, tokens, err := i.sendEmbed(ctx, c, provider, model, texts)
	if tokens > 0 {
		span.Set(map[string]any{"prompt": tokens, "total": tokens}, "ag", "metrics", "tokens", "incremental")
		span.Set(tokens, "gen_ai", "usage", "input_tokens")
	}
	span.End(err)
	return vectors, err
}

func toAny(texts []string) []any {
	out := make([]any, len(texts))
	for n, text := range texts {
		out[n] = text
	}
	return out
}

func (i *Client) sendEmbed(ctx context.Context, c *handler.Call, provider, model string, texts []string) ([][]float64, int64, error) {
	address, key, err := i.credentials(ctx, c, provider)
	if err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, i.cfg.Timeout, errModelTimeout)
	defer cancel()
	service := openai.NewEmbeddingService(i.options(address, key)...)
	reply, err := service.New(ctx, openai.EmbeddingNewParams{
		Model: model, Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: texts},
	})
	if err == nil && len(reply.Data) != len(texts) {
		err = errors.New("the reply holds too few embeddings")
	}
	if err != nil {
		return nil, 0, modelError(ctx, provider, key, err)
	}
	vectors := make([][]float64, len(texts))
	for n := range reply.Data {
		vectors[n] = reply.Data[n].Embedding
	}
	return vectors, reply.Usage.PromptTokens, nil
}
