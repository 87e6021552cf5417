package semconv

import (
	"maps"
	"slices"
	"strings"

	"colonnade/write/semconv/convert"
)

// translateLangfuse reads what the Langfuse SDKs (versions 3 to 5) write.
// Their kinds of usage are disjoint where they were set by hand: input is
// without what was read from a cache. Source: contract §0 row 41.
func translateLangfuse(o *Overlay) {
	f := &o.facts
	level := ""
	for i := range o.sorted {
		key, ok := strings.CutPrefix(o.sorted[i].Key, "langfuse.")
		if !ok {
			continue
		}
		value := o.sorted[i].Value
		switch key {
		case "observation.type":
			o.kind(value, rankConvention)
		case "observation.input":
			f.input.read(value)
		case "observation.output":
			f.output.read(value)
		case "trace.input":
			if f.input.whole == nil && len(f.input.messages) == 0 {
				f.input.read(value)
			}
		case "trace.output":
			if f.output.whole == nil && len(f.output.messages) == 0 {
				f.output.read(value)
			}
		case "observation.model.name", "observation.model":
			o.askedModel(value)
		case "observation.model.parameters":
			parameters, _ := convert.Parsed(value).(map[string]any)
			for _, k := range slices.Sorted(maps.Keys(parameters)) {
				o.put("ag.meta.request."+k, parameters[k])
			}
		case "observation.usage_details":
			o.langfuseUsage(value)
		case "observation.cost_details":
			details, _ := convert.Parsed(value).(map[string]any)
			for _, k := range slices.Sorted(maps.Keys(details)) {
				o.costs(costKind(k), details[k])
			}
		case "observation.level":
			level, _ = value.(string)
			o.put("ag.meta.level", value)
		case "observation.status_message":
			if level == "ERROR" { // the level sorts before the message
				f.failure, _ = value.(string)
			}
			o.put("ag.meta.status_message", value)
		case "observation.completion_start_time", "observation.prompt.name", "observation.prompt.version":
			o.put("ag.meta."+strings.TrimPrefix(key, "observation."), value)
		case "trace.name":
			o.put("ag.meta.trace.name", value)
		case "trace.tags", "tags":
			o.tag(value)
			o.put("ag.meta.tags", convert.Compound(value))
		case "environment", "release", "version":
			o.put("ag.meta."+key, value)
		case "session.id":
			o.identify("ag.session.id", value)
		case "user.id":
			o.identify("ag.user.id", value)
		case "observation.metadata", "trace.metadata":
			o.put("ag.meta.metadata", convert.Compound(value))
		default:
			_ = o.putMetadata(key, "observation.metadata.", convert.Compound(value)) ||
				o.putMetadata(key, "trace.metadata.", convert.Compound(value))
		}
	}
	if level == "ERROR" && f.failure == "" {
		f.failure = level
	}
}

func (o *Overlay) langfuseUsage(value any) {
	object, ok := convert.Parsed(value).(map[string]any)
	if !ok {
		return
	}
	if object["input"] != nil {
		o.facts.disjoint = true
	}
	o.usage(object)
}
