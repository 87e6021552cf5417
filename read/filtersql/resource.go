package filtersql

import (
	"slices"

	"colonnade/domain/filter"
	"colonnade/domain/jsonvalue"
	"colonnade/read/filtersql/searchtext"
	"colonnade/read/sqltext"
)

// resourceOrScope compiles a test of the resource or the scope, which are payloads;
// only the name of the service has a column.
func resourceOrScope(e filter.Attribute) pair {
	if e.Of == filter.Scope {
		return between(resourceSuperset("scope", e), sqltext.Constant(false))
	}
	if words, ok := equals(e); ok && e.Path == "service.name" {
		service := sqltext.Among("service", onlyStrings(words))
		// Any other value than a string, and the string "", are in the payload only.
		if len(onlyStrings(words)) == len(words) && !slices.Contains(words, any("")) {
			if _, member := e.Test.(filter.Member); !member {
				return between(service, sqltext.Constant(false)).with([][]string{onlyStrings(words)})
			}
			return between(sqltext.Or(service, sqltext.Expr("service = ''")), sqltext.Constant(false))
		}
	}
	return between(resourceSuperset("resource", e), sqltext.Constant(false))
}

func resourceSuperset(name string, e filter.Attribute) sqltext.Node {
	keys := jsonvalue.SplitPath(e.Path)
	var texts []string
	if last := keys[len(keys)-1]; !isIndex(last) {
		texts = append(texts, string(append(jsonvalue.AppendString(nil, last), ':')))
	}
	switch t := e.Test.(type) {
	case filter.Equal:
		texts = append(texts, searchtext.InValue(t.Value)...)
	case filter.Contains:
		texts = append(texts, searchtext.InValue(t.Value)...)
	case filter.Pattern:
		return sqltext.And(inPayloads([]string{name}, texts), patternPayload([]string{name}, t))
	default: // ranges and lists leave no text that must occur
	}
	return inPayloads([]string{name}, texts)
}
