package semconv

import (
	"strings"

	"colonnade/write/semconv/convert"
)

// translateLangSmith reads what LangSmith's OpenTelemetry mode adds to the
// gen_ai conventions. Its kind of a span wins over their operation names, which
// it also gives to spans that are none. Source: contract §0 row 41.
func translateLangSmith(o *Overlay) {
	for i := range o.sorted {
		key, ok := strings.CutPrefix(o.sorted[i].Key, "langsmith.")
		if !ok {
			continue
		}
		value := o.sorted[i].Value
		switch key {
		case "span.kind":
			o.kind(value, rankKind)
		case "metadata.session_id", "metadata.thread_id", "metadata.conversation_id":
			o.identify("ag.session.id", value)
			o.put("ag.meta."+key, value)
		case "metadata.user_id":
			o.identify("ag.user.id", value)
			o.put("ag.meta."+key, value)
		case "span.tags":
			tags, ok := convert.Compound(value).(string)
			if !ok {
				o.tag(value)
				continue
			}
			for tag := range strings.SplitSeq(tags, ",") {
				o.tag(strings.TrimSpace(tag))
			}
		default:
			o.putMetadata(key, "metadata.", value)
		}
	}
}
