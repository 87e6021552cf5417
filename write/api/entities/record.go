package entities

import (
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/request"
	"colonnade/write/registry"
)

// readDraft reads what every record has. Members that only the service sets
// may be there: clients send back what they got.
func readDraft(o *request.Object, f entity.Family) registry.RecordFields {
	d := registry.RecordFields{
		Slug: o.String("slug"), Name: o.StringPtr("name"), Description: o.StringPtr("description"),
		Flags: readFlags(o), Tags: entity.Document(o.Map("tags")), Meta: entity.Document(o.Map("meta")),
	}
	o.Ignore(f.Echoed()...)
	return d
}

// readFlags reads an object of booleans; null members are as good as absent.
func readFlags(o *request.Object) entity.Document {
	given := o.Object("flags")
	if given == nil {
		return nil
	}
	flags := entity.Document{}
	for _, name := range given.Names() {
		if b := given.Bool(name); b != nil {
			flags[name] = *b
		}
	}
	return flags
}

// readParent reads an ancestor's id under any of the names that replies give it.
func readParent(o *request.Object, f entity.Family, level string) uuid.UUID {
	names := []string{f.Name + level + "_id", "artifact_id", "workflow" + level + "_id"}
	if level != "" {
		names[1] = level[1:] + "_id"
	}
	id := o.UUID(o.OneOf(names...))
	o.Ignore(names...)
	return id
}

// readRecord reads the one record of a body under any of its member's names.
func readRecord(body *request.Object, members ...string) *request.Object {
	member := body.OneOf(members...)
	body.Require(member)
	record := body.Object(member)
	body.FailUnknown()
	return record
}

// checkID compares the id of an edited record with that of the path. Source: contract §5.1.
func checkID(record *request.Object, path uuid.UUID) error {
	if id := record.UUID("id"); id != path {
		return domain.E(domain.Rejected, "The id in the body does not match the id in the path: %s.", path)
	}
	return nil
}

// readRoles adds the roles that a workflow's record names beside its flags, as clients of the
// reference send them. Source: contract §0 row 62.
func readRoles(record *request.Object, f entity.Family, flags entity.Document) entity.Document {
	if f.Kind != entity.Workflow {
		return flags
	}
	for _, role := range []string{entity.FlagApplication, entity.FlagEvaluator, entity.FlagSnippet} {
		given := record.Bool(role)
		if given == nil {
			continue
		}
		if flags == nil {
			flags = entity.Document{}
		}
		flags[role] = *given
	}
	return flags
}
