package tracejson

import (
	"colonnade/domain/jsonvalue"
	"colonnade/domain/semconv"
	"colonnade/domain/trace/spanmetrics"
)

// ParseAttributes parses stored attributes as far as every reader needs them: ag.type,
// ag.references, and the numbers of ag.metrics that are summed (spanmetrics.Stored). Other objects and
// arrays directly below the root, ag and ag.data stay jsonvalue.Raw: they share the memory
// of text and are not checked, because most of a page is written again unchanged. An empty text is an
// empty tree; text that is not an object is Rejected.
func ParseAttributes(text string) (map[string]any, error) {
	if text == "" {
		return map[string]any{}, nil
	}
	return jsonvalue.ParseMembers(text, parseRootMember)
}

// ParseResource parses stored resource attributes; objects and arrays among them
// stay jsonvalue.Raw. An empty text is nil; text that is not an object is Rejected.
func ParseResource(text string) (map[string]any, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // an absent resource
	}
	return jsonvalue.ParseMembers(text, parseRaw)
}

func parseRaw(p *jsonvalue.Parser, _ string) (any, error) { return p.Raw() }

func parseRootMember(p *jsonvalue.Parser, key string) (any, error) {
	if key == semconv.Root && p.IsObject() {
		return p.Members(parseAgMember)
	}
	return p.Raw()
}

func parseAgMember(p *jsonvalue.Parser, key string) (any, error) {
	switch key {
	case semconv.Type, semconv.References:
		return p.Value()
	case semconv.Data:
		if p.IsObject() {
			return p.Members(parseRaw)
		}
	case semconv.Metrics:
		if p.IsObject() {
			return parseMetrics(p)
		}
		return p.Value()
	default:
	}
	return p.Raw()
}

func parseMetrics(p *jsonvalue.Parser) (any, error) {
	text, err := p.Text()
	if err != nil {
		return nil, err
	}
	if metrics, ok := spanmetrics.Parse(text); ok {
		return metrics, nil
	}
	return jsonvalue.ParseString(string(text))
}
