package convert

import (
	"math"
	"strconv"
	"strings"
)

// For gives a value the type that its attribute has in the schema, where
// it converts without loss: a number or boolean that came as text, the JSON text
// of a list or object, a number where an id is text. Anything else stays, and is
// parked where the schema refuses it. Source: contract §0 row 33.
func For(target string, value any) any {
	switch rest, _ := strings.CutPrefix(target, "ag."); {
	case strings.HasPrefix(rest, "metrics."):
		return Number(value)
	case rest == "session.id" || rest == "user.id":
		return Text(value)
	case strings.HasPrefix(rest, "meta."):
		return convertedMeta(rest[len("meta."):], value)
	default:
		return value
	}
}

func convertedMeta(key string, value any) any {
	switch key {
	case "request.temperature", "request.top_p", "request.top_k", "request.max_tokens", "request.presence_penalty", "request.frequency_penalty",
		"request.seed", "request.max_retries", "request.choice.count", "reranker.top_k", "embeddings.dimension.count", "request.n", "response.time_to_first_chunk":
		return Number(value)
	case "request.streaming":
		return Boolean(value)
	case "response.finish_reasons", "request.stop_sequences":
		return List(value)
	case "metadata", "system_instructions", "prompt_template.variables", "tool.json_schema", "request.headers":
		return Compound(value)
	default:
		return value
	}
}

// Number returns the number that a text is in full.
func Number(value any) any {
	s, ok := value.(string)
	if !ok {
		return value
	}
	s = strings.TrimSpace(s)
	if s == "" || len(s) > 32 || !strings.Contains("+-.0123456789", s[:1]) {
		return value
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) || strings.ContainsAny(s, "xXpP_") {
		return value
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f)
	}
	return f
}

// Boolean returns the boolean that a text spells, and any other value unchanged.
func Boolean(value any) any {
	s, ok := value.(string)
	if !ok {
		return value
	}
	switch strings.ToLower(s) {
	case "true":
		return true
	case "false":
		return false
	default:
		return value
	}
}

// Text returns an id as text. Only whole numbers convert without loss.
func Text(value any) any {
	if n, ok := value.(int64); ok {
		return strconv.FormatInt(n, 10)
	}
	return value
}

// List returns the list that JSON text has, or the list of the one text.
func List(value any) any {
	s, ok := value.(string)
	if !ok {
		return value
	}
	if l, ok := Parsed(s).([]any); ok {
		return l
	}
	return []any{s}
}

// Compound returns the object or list that JSON text has, and anything else as it is.
func Compound(value any) any {
	s, ok := value.(string)
	if !ok || !looksCompound(s) {
		return value
	}
	return Parsed(s)
}

// looksCompound reports whether a text begins as a JSON object or list does.
func looksCompound(s string) bool {
	s = strings.TrimLeft(s, " \t\r\n")
	return s != "" && (s[0] == '{' || s[0] == '[')
}
