package invoke

import (
	"maps"

	"colonnade/domain/catalog"
	"colonnade/write/invoke/evaluators"
	"colonnade/write/invoke/handler"
)

// handlers is the table of what can be run, by key and version of the URI;
// keys are unique over kinds, as the addresses of the runtime ask for.
func (i *Invoke) handlers() map[string]handler.Handler {
	all := map[string]handler.Handler{}
	maps.Copy(all, i.models.Handlers())
	maps.Copy(all, i.hooks.Handlers())
	maps.Copy(all, evaluators.New(i.sandbox, i.models.Embed, i.deps.Now).Handlers())
	return all
}

// handler finds the one of a URI.
func (i *Invoke) handler(u catalog.URI) (handler.Handler, bool) {
	h, ok := i.table[u.Key+":"+u.Version]
	return h, ok
}
