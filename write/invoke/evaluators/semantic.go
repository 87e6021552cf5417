package evaluators

import (
	"context"
	"math"

	"colonnade/domain"
	"colonnade/write/invoke/handler"
)

// semantic compares the meaning of two texts by their embeddings
// (auto_semantic_similarity): the cosine of the angle between them.
func (i *Evaluators) semantic(ctx context.Context, c *handler.Call) (any, error) {
	key := "correct_answer"
	if given, ok := c.Parameters["correct_answer_key"].(string); ok && given != "" {
		key = given
	}
	right, ok := c.Inputs[key]
	if !ok {
		return nil, handler.Fail(domain.Rejected, handler.MissingInput, "Missing input: %s", key)
	}
	if c.Outputs == nil {
		return nil, handler.Fail(domain.Rejected, handler.MissingOutput, "Missing outputs")
	}
	threshold, err := handler.Threshold(c.Parameters)
	if err != nil {
		return nil, err
	}
	model := "text-embedding-3-small"
	if given, ok := c.Parameters["embedding_model"].(string); ok && given != "" {
		model = given
	}
	vectors, err := i.embed(ctx, c, model, []string{handler.TextOf(c.Outputs), handler.TextOf(right)})
	if err != nil {
		return nil, err
	}
	score := cosine(vectors[0], vectors[1])
	return map[string]any{"score": score, "success": score >= threshold}, nil
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
