package trace

import (
	"colonnade/domain/jsonvalue"
	"colonnade/domain/semconv"
)

// Model returns the model's name from the attributes of any translated convention, or an
// empty string.
func (s *Span) Model() string {
	return first(s.Attributes,
		[]string{semconv.Root, semconv.Meta, "response", "model"},
		[]string{semconv.Root, semconv.Meta, "request", "model"},
		[]string{semconv.Root, semconv.Data, semconv.Parameters, "model"},
		[]string{semconv.Root, semconv.Data, semconv.Parameters, "prompt", "llm_config", "model"},
		[]string{"gen_ai", "response", "model"},
		[]string{"gen_ai", "request", "model"},
	)
}

// Provider returns the provider's name, as Model returns the model's.
func (s *Span) Provider() string {
	return first(s.Attributes,
		[]string{semconv.Root, semconv.Meta, "provider", "name"},
		[]string{semconv.Root, semconv.Meta, "provider"},
		[]string{semconv.Root, semconv.Meta, "system"},
		[]string{"gen_ai", "provider", "name"},
		[]string{"gen_ai", "system"},
	)
}

// Service returns the resource's service name, or an empty string.
func (s *Span) Service() string {
	if s.Resource == nil {
		return ""
	}
	if name, ok := s.Resource["service.name"].(string); ok {
		return name
	}
	return first(s.Resource, []string{"service", "name"})
}

// first returns the first non-empty string that one of the paths leads to.
func first(tree map[string]any, paths ...[]string) string {
	for _, path := range paths {
		if value, ok := jsonvalue.Lookup(tree, path); ok {
			if text, ok := value.(string); ok && text != "" {
				return text
			}
		}
	}
	return ""
}
