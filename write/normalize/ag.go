package normalize

import (
	"maps"
	"slices"
	"strings"

	"colonnade/domain/jsonvalue"
	"colonnade/domain/semconv"
	"colonnade/domain/trace"
	"colonnade/write/semconv/convert"
)

// fitMembers conforms the members of ag in place. Source: contract §1.4, §1.5.
func (w *fitting) fitMembers(ag map[string]any) {
	w.fitUnsupported(ag)
	w.fitType(ag)
	w.fitData(ag)
	w.fitMetrics(ag)
	w.fitReferences(ag)
	w.fitObject(ag, semconv.Exception)
	w.fitWhole(ag, semconv.Flags, labels)
	w.fitWhole(ag, semconv.Tags, labels)
	w.fitWhole(ag, semconv.Selector, texts)
	w.fitIdentity(ag, semconv.Session)
	w.fitIdentity(ag, semconv.User)
	w.fitUnknown(ag)
}

// fitUnsupported takes over what an earlier fit parked, below what this one
// has parked so far.
func (w *fitting) fitUnsupported(ag map[string]any) {
	value, there := ag[semconv.Unsupported]
	if !there {
		return
	}
	delete(ag, semconv.Unsupported)
	parked := w.unsupported
	object, ok := value.(map[string]any)
	if !ok {
		if value != nil {
			w.park(value, "_unsupported")
		}
		return
	}
	w.unsupported = object
	for _, k := range slices.Sorted(maps.Keys(parked)) {
		w.park(parked[k], k)
	}
}

// fitType sets the types of span and trace from what the client declared, or
// else from what a convention found. Source: contract §0 rows 7 and 13.
func (w *fitting) fitType(ag map[string]any) {
	types := w.fitObject(ag, semconv.Type)
	if types == nil {
		types = make(map[string]any, 2)
		ag[semconv.Type] = types
	}
	declared := spanType(types[semconv.TypeNode])
	if declared != 0 {
		delete(types, semconv.TypeNode)
	}
	if span := spanType(types[semconv.TypeSpan]); span != 0 {
		delete(types, semconv.TypeSpan)
		if declared == 0 {
			declared = span
		}
	}
	name, _ := types[semconv.TypeTrace].(string)
	if t, ok := trace.ParseType(name); ok {
		delete(types, semconv.TypeTrace)
		if t != trace.Unknown {
			w.span.Type = t
		}
	}
	w.parkAll(types, semconv.Type)
	if declared == 0 {
		declared = w.translated
	}
	if w.span.SpanType = declared; declared != 0 {
		types[semconv.TypeSpan] = declared.String()
	}
	if w.span.Type != 0 {
		types[semconv.TypeTrace] = w.span.Type.String()
	}
}

func spanType(value any) trace.SpanType {
	name, _ := value.(string)
	t, _ := trace.ParseSpanType(name)
	return t
}

// fitData conforms ag.data, after ag.meta has given its configuration to it.
func (w *fitting) fitData(ag map[string]any) {
	data := w.fitObject(ag, semconv.Data)
	if meta := w.fitObject(ag, semconv.Meta); meta != nil {
		data = w.fitConfiguration(ag, meta, data)
	}
	for _, k := range []string{semconv.Inputs, semconv.Parameters, semconv.Internals} {
		w.fitDocument(data, k)
	}
	if output, there := data[semconv.Outputs]; there {
		if output = unwrapOutput(output); output == nil {
			delete(data, semconv.Outputs)
		} else {
			data[semconv.Outputs] = output
		}
	}
	w.parkUnknown(data, func(k string) bool {
		switch k {
		case semconv.Inputs, semconv.Outputs, semconv.Parameters, semconv.Internals:
			return true
		default:
			return false
		}
	}, semconv.Data)
}

// fitConfiguration moves ag.meta.configuration to ag.data.parameters where
// there are none. Source: contract §1.4.
func (w *fitting) fitConfiguration(ag, meta, data map[string]any) map[string]any {
	configuration, there := meta[semconv.Configuration]
	if !there {
		return data
	}
	delete(meta, semconv.Configuration)
	if len(meta) == 0 {
		delete(ag, semconv.Meta)
	}
	if parameters := data[semconv.Parameters]; parameters != nil {
		if !equal(parameters, configuration) {
			w.park(configuration, semconv.Meta, semconv.Configuration)
		}
		return data
	}
	if configuration == nil {
		return data
	}
	if data == nil {
		data = make(map[string]any, 1)
		ag[semconv.Data] = data
	}
	data[semconv.Parameters] = configuration
	return data
}

// fitDocument wants an object, or JSON text of one, and parks anything else as it was sent.
func (w *fitting) fitDocument(data map[string]any, key string) {
	value, there := data[key]
	if !there {
		return
	}
	if _, ok := value.(map[string]any); ok {
		return
	}
	switch v := value.(type) {
	case jsonvalue.Raw:
		if strings.HasPrefix(string(v), "{") {
			return
		}
		value = v.Value()
	case string:
		if object, ok := w.object(key, v); ok {
			data[key] = object
			return
		}
	}
	delete(data, key)
	if value != nil {
		w.park(value, semconv.Data, key)
	}
}

// defaultOutput is how a document begins whose first member is the default output.
const defaultOutput = `{"` + semconv.DefaultOutput + `":`

// unwrapOutput takes the value out of {"__default__": value}, also where it was wrapped twice.
func unwrapOutput(output any) any {
	if d, ok := output.(jsonvalue.Raw); ok {
		if !strings.HasPrefix(string(d), defaultOutput) {
			return output
		}
		output = d.Value()
	}
	for {
		object, ok := output.(map[string]any)
		if !ok || len(object) != 1 {
			return output
		}
		value, ok := object[semconv.DefaultOutput]
		if !ok {
			return output
		}
		output = value
	}
}

// fitObject gives a member that must be an object. A null goes, anything else
// is parked; both give nil.
func (w *fitting) fitObject(ag map[string]any, member string) map[string]any {
	value, there := ag[member]
	if !there {
		return nil
	}
	if object, ok := value.(map[string]any); ok {
		return object
	}
	delete(ag, member)
	if value != nil {
		w.park(value, member)
	}
	return nil
}

// fitWhole parks a member as a whole when one of its values is not allowed.
func (w *fitting) fitWhole(ag map[string]any, member string, allowed func(any) bool) {
	object := w.fitObject(ag, member)
	for _, v := range object {
		if !allowed(v) {
			delete(ag, member)
			w.park(object, member)
			return
		}
	}
}

func labels(v any) bool { return semconv.Label(v) }

func texts(v any) bool {
	_, ok := v.(string)
	return ok
}

// fitIdentity conforms ag.session and ag.user: an id that is a string, nothing else.
func (w *fitting) fitIdentity(ag map[string]any, member string) {
	object := w.fitObject(ag, member)
	if object == nil {
		return
	}
	id, there := object[semconv.ID]
	if _, ok := id.(string); there && !ok && id != nil {
		delete(ag, member)
		w.park(object, member)
		return
	}
	delete(object, semconv.ID)
	w.parkAll(object, member)
	if id == nil {
		delete(ag, member)
		return
	}
	object[semconv.ID] = id
}

// fitUnknown parks what is no member of ag.
func (w *fitting) fitUnknown(ag map[string]any) {
	w.parkUnknown(ag, semconv.Member)
}

// parkAll empties an object into ag.unsupported.
func (w *fitting) parkAll(object map[string]any, member string) {
	w.parkUnknown(object, func(string) bool { return false }, member)
}

// object reads the text of a JSON object. Parameters are looked into, for the model.
func (w *fitting) object(key, text string) (object any, ok bool) {
	switch {
	case compound(text) != '{': // sparing the parser what cannot be an object
		return nil, false
	case key != semconv.Parameters:
		object, ok = w.canonicalizer.Canonicalize(text, convert.MaxJSONDepth)
	default:
		object, ok = convert.ParseJSON(text)
	}
	return object, ok
}

// compound is what JSON text begins with if it may be an object or an array, else 0.
func compound(text string) byte {
	text = strings.TrimLeft(text, " \t\r\n")
	if text == "" || text[0] != '{' && text[0] != '[' {
		return 0
	}
	return text[0]
}

// opened is a value that can be looked into.
func opened(value any) any {
	if d, ok := value.(jsonvalue.Raw); ok {
		return d.Value()
	}
	return value
}
