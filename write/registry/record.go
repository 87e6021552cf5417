package registry

import (
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity"
)

// RecordFields are the fields of a record that a request sets; a nil field is not set.
type RecordFields struct {
	Slug              string
	Name, Description *string
	Flags, Tags, Meta entity.Document
}

// Empty reports whether the request sets no field but the slug.
func (f RecordFields) Empty() bool {
	return f.Name == nil && f.Description == nil && f.Flags == nil && f.Tags == nil && f.Meta == nil
}

// NewRecord returns a record of the kind, created now by the caller; the zero id
// means a new one.
func (d *DB) NewRecord(caller domain.Principal, f entity.Family, fields RecordFields, id uuid.UUID) (entity.Record, error) {
	if id == uuid.Nil {
		made, err := d.NewID()
		if err != nil {
			return entity.Record{}, err
		}
		id = made
	}
	return entity.Record{
		ID: id, Kind: f.Kind, Slug: fields.Slug, Name: fields.Name, Description: fields.Description,
		Flags: fields.Flags, Tags: fields.Tags, Meta: fields.Meta, CreatedAt: d.Now(), CreatedByID: caller.User,
	}, nil
}

// Touch sets when and by whom a record was last changed.
func (d *DB) Touch(caller domain.Principal, record *entity.Record) {
	now := d.Now()
	record.UpdatedAt, record.UpdatedByID = &now, &caller.User
}

// SetArchived archives a record, or makes it live again, and touches it.
func (d *DB) SetArchived(caller domain.Principal, record *entity.Record, archived bool) {
	d.Touch(caller, record)
	record.DeletedAt, record.DeletedByID = nil, nil
	if archived {
		record.DeletedAt, record.DeletedByID = record.UpdatedAt, record.UpdatedByID
	}
}

// CheckSameSlug refuses to change a slug, because traces and deployments refer to
// the stored one. An empty slug is not given.
func CheckSameSlug(given, stored string) error {
	if given == "" || given == stored {
		return nil
	}
	return domain.E(domain.Rejected, "A slug cannot be changed: this resource's is '%s'.", stored)
}

// SetField sets a field if the request sets it.
func SetField[T any](to **T, given *T) {
	if given != nil {
		*to = given
	}
}

// SetDocument sets a document if the request sets it.
func SetDocument(to *entity.Document, given entity.Document) {
	if given != nil {
		*to = given
	}
}
