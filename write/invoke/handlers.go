package invoke

import (
	"maps"

	"colonnade/domain/catalog"
)

// Version is that of the request and the reply. Source: contract §6.
const Version = "2025.07.14"

// handlers is the table of what can be run, by key and version of the URI;
// keys are unique over kinds, as the addresses of the runtime ask for.
func (i *Invoke) handlers() map[string]Handler {
	all := map[string]Handler{
		"completion:v0":               i.completion,
		"chat:v0":                     i.chat,
		"llm:v0":                      i.llm,
		"hook:v0":                     i.hook,
		"auto_ai_critique:v0":         i.critique,
		"auto_semantic_similarity:v0": i.semantic,
		"auto_webhook_test:v0":        i.webhook,
	}
	maps.Copy(all, i.local())
	return all
}

// handler finds the one of a URI.
func (i *Invoke) handler(u catalog.URI) (Handler, bool) {
	h, ok := i.table[u.Key+":"+u.Version]
	return h, ok
}
