package api

import (
	"strings"

	"colonnade/domain/jsonvalue"
	"colonnade/domain/semconv"
	"colonnade/domain/trace"
)

// Tree returns the roots of a trace with their outputs unwrapped.
func Tree(spans []trace.Span) []*trace.Node {
	for i := range spans {
		Unwrapped(&spans[i])
	}
	return trace.BuildTree(spans)
}

// Unwrapped takes outputs out of {"__default__": outputs}, the form in which
// instrumented functions send what is no object. Source: contract §1.10.
func Unwrapped(s *trace.Span) *trace.Span {
	ag, _ := s.Attributes[semconv.Root].(map[string]any)
	data, _ := ag[semconv.Data].(map[string]any)
	value := data[semconv.Outputs]
	if d, unread := value.(jsonvalue.Raw); unread && strings.HasPrefix(string(d), `{"__default__":`) {
		value = d.Value()
	}
	outputs, _ := value.(map[string]any)
	if v, ok := outputs["__default__"]; ok && len(outputs) == 1 {
		data[semconv.Outputs] = v
	}
	return s
}
