package invoke

import (
	"context"
	"errors"
	"math"

	"github.com/openai/openai-go/v3"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
)

// semantic compares the meaning of two texts by their embeddings
// (auto_semantic_similarity): the cosine of the angle between them.
func (i *Invoke) semantic(ctx context.Context, c *Call) (any, error) {
	key := "correct_answer"
	if given, ok := c.Parameters["correct_answer_key"].(string); ok && given != "" {
		key = given
	}
	right, ok := c.Inputs[key]
	if !ok {
		return nil, Fail(domain.Rejected, MissingInput, "Missing input: %s", key)
	}
	if c.Outputs == nil {
		return nil, Fail(domain.Rejected, MissingOutput, "Missing outputs")
	}
	threshold, err := thresholdOf(c.Parameters)
	if err != nil {
		return nil, err
	}
	model := "text-embedding-3-small"
	if given, ok := c.Parameters["embedding_model"].(string); ok && given != "" {
		model = given
	}
	vectors, err := i.embed(ctx, c, model, []string{textOf(c.Outputs), textOf(right)})
	if err != nil {
		return nil, err
	}
	score := cosine(vectors[0], vectors[1])
	return map[string]any{"score": score, "success": score >= threshold}, nil
}

// textOf is a text as it is, and any other value as JSON.
func textOf(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	return string(jsonvalue.Append(nil, value))
}

// embed asks for the embeddings of texts, below a span of its own.
func (i *Invoke) embed(ctx context.Context, c *Call, name string, texts []string) ([][]float64, error) {
	provider, model := i.cfg.Models.split(name)
	span, err := c.Span.Child("embeddings "+model, trace.Embedding)
	if err != nil {
		return nil, err
	}
	span.Set(map[string]any{
		"operation": map[string]any{"name": "embeddings"}, "provider": map[string]any{"name": provider}, "system": provider,
		"request": map[string]any{"model": model},
	}, "gen_ai")
	span.Set(map[string]any{"embeddings": Canonical(toAny(texts))}, "ag", "data", "inputs")
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

func (i *Invoke) sendEmbed(ctx context.Context, c *Call, provider, model string, texts []string) ([][]float64, int64, error) {
	address, key, err := i.credentials(ctx, c, provider)
	if err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, i.cfg.Models.Timeout, errModelTimeout)
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

func cosine(a, b []float64) float64 {
	var dot, aa, bb float64
	for n := range min(len(a), len(b)) {
		dot += a[n] * b[n]
		aa += a[n] * a[n]
		bb += b[n] * b[n]
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return dot / (math.Sqrt(aa) * math.Sqrt(bb))
}
