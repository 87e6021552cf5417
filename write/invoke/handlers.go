package invoke

import (
	"maps"

	"colonnade/domain/catalog"
)

// handlers is the table of what can be run, by key and version of the URI;
// keys are unique over kinds, as the addresses of the runtime ask for.
func (i *Invoke) handlers() map[string]Handler {
	all := map[string]Handler{}
	maps.Copy(all, i.local())
	return all
}

// handler finds the one of a URI.
func (i *Invoke) handler(u catalog.URI) (Handler, bool) {
	h, ok := i.table[u.Key+":"+u.Version]
	return h, ok
}
