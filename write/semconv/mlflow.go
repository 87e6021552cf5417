package semconv

import (
	"strings"

	"colonnade/write/semconv/convert"
)

// translateMLflow reads what MLflow writes by default; its values are JSON
// texts. Source: contract §0 row 41.
func translateMLflow(o *Overlay) {
	f := &o.facts
	for i := range o.sorted {
		key, ok := strings.CutPrefix(o.sorted[i].Key, "mlflow.")
		if !ok {
			continue
		}
		value := convert.Parsed(o.sorted[i].Value)
		switch key {
		case "spanType":
			o.kind(value, rankConvention)
		case "spanInputs":
			f.input.read(value)
		case "spanOutputs":
			f.output.read(value)
		case "llm.model":
			o.answerModel(value)
		case "llm.provider":
			o.put("ag.meta.provider.name", value)
		case "chat.tokenUsage":
			o.usage(value)
		case "llm.cost":
			if details, ok := value.(map[string]any); ok {
				for k, v := range details {
					o.costs(costKind(k), v)
				}
			}
		case "chat.tools":
			f.input.member("tools", value)
		case "trace.session", "trace.session_id":
			o.identify("ag.session.id", value)
		case "trace.user", "trace.user_id":
			o.identify("ag.user.id", value)
		}
	}
}
