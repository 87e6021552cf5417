package handler

import (
	"maps"
	"strings"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
)

// Passes is the verdict of those that only say yes or no.
func Passes(success bool) map[string]any { return map[string]any{"success": success} }

// Scores is the verdict of those that measure.
func Scores(score, threshold float64) map[string]any {
	return map[string]any{"score": score, "success": score >= threshold}
}

// ParseVerdict reads what a judge answered.
func ParseVerdict(value any, threshold float64) (any, error) {
	if text, ok := value.(string); ok {
		parsed, err := jsonvalue.ParseString(strings.TrimSpace(text))
		if err != nil {
			return nil, Fail(domain.Internal, InvalidOutputs, "The judge answered neither a number, nor true or false, nor an object: %.200q", text)
		}
		value = parsed
	}
	switch v := value.(type) {
	case bool:
		return map[string]any{"success": v}, nil
	case int64:
		return map[string]any{"score": float64(v), "success": float64(v) >= threshold}, nil
	case float64:
		return map[string]any{"score": v, "success": v >= threshold}, nil
	case map[string]any:
		return maps.Clone(v), nil
	default:
		return nil, Fail(domain.Internal, InvalidOutputs, "The judge answered neither a number, nor true or false, nor an object.")
	}
}

// Verdict reads an evaluator's outputs in their usual form; nil is what they do not say.
func Verdict(outputs any) (score *float64, success *bool) {
	verdict, _ := outputs.(map[string]any)
	if n, ok := Number(verdict["score"]); ok {
		score = &n
	}
	if yes, ok := verdict["success"].(bool); ok {
		success = &yes
	}
	return score, success
}
