package normalize

import (
	"colonnade/domain/trace"
	conventions "colonnade/write/semconv"
)

// translate places what the conventions make of the span beside what the client sent.
func (w *fitting) translate() {
	scope := ""
	if w.library != nil {
		scope = w.library.Name
	}
	w.overlay.Translate(&w.raw, scope, w.f.metrics.fail)
	for source, entries := range w.overlay.Strongest() {
		var last trace.SpanType
		for _, e := range entries {
			if e.Key != conventions.NodeType {
				w.put(e.Key, e.Value, source)
			} else if t := spanType(e.Value); t != 0 {
				last = t
			}
		}
		if w.translated == 0 {
			w.translated = last
		}
	}
}
