// Package entity has the versioned entities: an artifact has variants, a variant has immutable
// revisions. Applications, workflows, evaluators, environments, saved queries and testsets differ
// only in the data of their Family. Here are records and their JSON form, slugs, references, the
// rules of retrieve, deltas and embeds. The meaning of a revision's data is in domain/catalog, the
// schemas of bodies in entityschema, SQL in write/registry/entities and read/entities, which call
// this package.
package entity

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"
)

// Document is a JSON object whose numbers are json.Number. Nil means absent; an empty one is an
// empty object.
type Document map[string]any

// UnmarshalJSON parses an object and keeps numbers as they are written.
func (d *Document) UnmarshalJSON(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var m map[string]any
	if err := dec.Decode(&m); err != nil {
		return err
	}
	*d = m
	return nil
}

// Record has the members that every artifact, variant and revision has.
type Record struct {
	ID   uuid.UUID
	Kind Kind
	Slug string
	// Name and Description are nil if they were never given.
	Name, Description *string
	Flags, Tags, Meta Document
	CreatedAt         time.Time
	// UpdatedAt is nil until the first change, DeletedAt unless the record is archived.
	UpdatedAt, DeletedAt *time.Time
	CreatedByID          uuid.UUID
	UpdatedByID          *uuid.UUID
	DeletedByID          *uuid.UUID
}

// Archived reports whether queries omit the record.
func (r *Record) Archived() bool { return r.DeletedAt != nil }

func (r *Record) targets() []any {
	return []any{
		&r.ID, &r.Kind, &r.Slug, &r.Name, &r.Description, &r.Flags, &r.Tags, &r.Meta,
		&r.CreatedAt, &r.UpdatedAt, &r.DeletedAt, &r.CreatedByID, &r.UpdatedByID, &r.DeletedByID,
	}
}

// Artifact is an entity with its variants: an application, an environment, ...
type Artifact struct {
	Record
	// FolderID is the folder of the artifact; nil means none.
	FolderID *uuid.UUID
}

// Targets are the addresses that a row in the order of schema.ArtifactColumns is scanned into.
func (a *Artifact) Targets() []any { return append(a.targets(), &a.FolderID) }

// Variant is a line of development of an artifact.
type Variant struct {
	Record
	ArtifactID   uuid.UUID
	ArtifactSlug string
	// ArtifactFlags tell which families the lineage belongs to.
	ArtifactFlags Document
}

// Targets are the addresses that a row in the order of schema.VariantColumns is scanned into.
func (v *Variant) Targets() []any {
	return append(v.targets(), &v.ArtifactID, &v.ArtifactSlug, &v.ArtifactFlags)
}

// Revision is an immutable commit on a variant: its name, flags, tags and meta may be edited
// later, its data never.
type Revision struct {
	Record
	ArtifactID   uuid.UUID
	ArtifactSlug string
	// ArtifactFlags tell which families the lineage belongs to.
	ArtifactFlags Document
	VariantID     uuid.UUID
	VariantSlug   string
	// Version is the number of earlier revisions of the variant; a string on the wire.
	Version  int
	AuthorID uuid.UUID
	Date     time.Time
	// Message is nil if the commit had none.
	Message *string
	// Data is nil for a placeholder. The references of an environment are not in the stored
	// document; the registry adds them.
	Data Document
}

// Targets are the addresses that a row in the order of schema.RevisionColumns is scanned into.
func (r *Revision) Targets() []any {
	return append(r.targets(),
		&r.ArtifactID, &r.ArtifactSlug, &r.ArtifactFlags, &r.VariantID, &r.VariantSlug, &r.Version, &r.AuthorID, &r.Date, &r.Message, &r.Data)
}

// Kind is the kind of a record in the entity tables. Slugs are unique within a kind; a kind may
// have several families.
type Kind string

// The kinds.
const (
	Workflow    Kind = "workflow"
	Environment Kind = "environment"
	Query       Kind = "query"
	Testset     Kind = "testset"
)

// Scan parses a kind from Postgres; an unknown one is an error.
func (k *Kind) Scan(value any) error {
	s, ok := value.(string)
	if !ok {
		return errors.New("entity: a kind is a string")
	}
	switch Kind(s) {
	case Workflow, Environment, Query, Testset:
		*k = Kind(s)
		return nil
	default:
		return errors.New("entity: " + s + " is no kind")
	}
}
