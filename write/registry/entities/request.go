package entities

import (
	"strings"

	"colonnade/domain/catalog"
	"colonnade/domain/entity"
	"colonnade/domain/request"
)

// ReadData reads a revision's data of a family of workflows or queries: the
// others have forms of their own. What is wrong with it is recorded in the form.
func ReadData(f entity.Family, o *request.Object) entity.Document {
	if f.Kind == entity.Workflow {
		return catalog.ReadData(o)
	}
	return catalog.ReadQuery(o)
}

// ReadReferences reads an environment's data: {references: {key: {entity:
// reference}}}, and nothing else. Source: contract §5.6.
func ReadReferences(o *request.Object) map[string]entity.Entities {
	held := readKeys(o, "references")
	o.FailUnknown()
	if held == nil {
		held = map[string]entity.Entities{}
	}
	return held
}

// ReadEnvironmentDelta reads {set: {key: {entity: reference}}, remove: [key]}.
// The keys of set may also stand below "references".
func ReadEnvironmentDelta(o *request.Object) *EnvironmentDelta {
	d := &EnvironmentDelta{Remove: o.Strings("remove")}
	for i, path := range d.Remove {
		d.Remove[i] = strings.TrimPrefix(path, "references.")
	}
	if set := o.Object("set"); set != nil && len(set.Names()) == 1 && set.Names()[0] == "references" {
		d.Set = readKeys(set, "references")
	} else {
		d.Set = readKeys(o, "set")
	}
	if len(d.Set) == 0 && len(d.Remove) == 0 {
		o.Fail("missing", "A delta needs set or remove", nil)
	}
	o.FailUnknown()
	return d
}

func readKeys(o *request.Object, member string) map[string]entity.Entities {
	keys := o.Object(member)
	if keys == nil {
		return nil
	}
	held := map[string]entity.Entities{}
	for _, key := range keys.Names() {
		if key == "" || len(key) > maxKey {
			keys.Fail("string_too_long", "A key has between 1 and 1024 bytes", nil, key)
		}
		entry := keys.Object(key)
		entities := entity.Entities{}
		for _, f := range entity.Families() {
			for _, l := range [...]entity.Level{entity.LevelArtifact, entity.LevelVariant, entity.LevelRevision} {
				if ref := entity.ReadReference(entry, f.Member(l)); !ref.IsZero() {
					entities[f.Member(l)] = ref
				}
			}
		}
		entry.FailUnknown()
		held[key] = entities
	}
	return held
}
