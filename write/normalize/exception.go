package normalize

import (
	"cmp"

	"colonnade/domain/semconv"
	"colonnade/domain/trace"
)

// describeFailure fills ag.exception of a span that failed: from its last
// exception event, else from error.type and what its status says. What is there
// already stands. Source: contract §0 row 39.
func describeFailure(w *fitting, ag map[string]any) {
	s := w.span
	if ag[semconv.Exception] != nil {
		return
	}
	found := map[string]any(nil)
	for i := range s.Events {
		if e := &s.Events[i]; e.Name == semconv.ExceptionEvent {
			found = describe(e.Attributes["exception.type"], e.Attributes["exception.message"], e.Attributes["exception.stacktrace"])
		}
	}
	failure := w.overlay.Failed()
	if found == nil && (s.Status == trace.StatusError || failure != "") {
		var kind any
		switch e := s.Attributes["error"].(type) {
		case map[string]any:
			kind = e["type"]
		}
		for i := range w.raw.Attributes { // also where error itself is an attribute
			if w.raw.Attributes[i].Key == "error.type" {
				kind = w.raw.Attributes[i].Value
			}
		}
		found = describe(kind, cmp.Or(s.StatusMessage, failure), nil)
	}
	if len(found) > 0 {
		ag[semconv.Exception] = found
	}
}

func describe(kind, message, stack any) map[string]any {
	object := make(map[string]any, 3)
	for _, m := range []struct {
		name  string
		value any
	}{{"type", kind}, {"message", message}, {"stacktrace", stack}} {
		if m.value != nil && m.value != "" {
			object[m.name] = m.value
		}
	}
	return object
}
