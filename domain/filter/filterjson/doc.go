// Package filterjson parses filters from their JSON wire form into the tree of package filter,
// which also has the meaning of each node. It folds the operators of the wire into
// few nodes and checks every value, so that the compiler of SQL and filter.Match need no
// checks. The bounds of a filter are here. Request handlers call it.
package filterjson
