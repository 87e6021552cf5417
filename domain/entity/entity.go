// Package entity is the lineage of everything that has history: an artifact
// has variants, a variant has immutable revisions. Applications, workflows,
// evaluators, environments and saved queries are families of one machine:
// what differs between them is data (Family). Here: records and their JSON
// form, slugs, references, the rules of retrieve, deltas and embeds; pure.
//
// Not here: what a revision's data means (domain/catalog), SQL (write/registry
// and read/entities, the callers), bodies (the api packages).
package entity

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"
)

// Document is a JSON object with exact numbers (json.Number). Nil means
// absent; an empty one is an empty object.
type Document map[string]any

// UnmarshalJSON keeps numbers as they are written.
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

// Record is what every artifact, variant and revision has. Source: contract §5.1.
type Record struct {
	ID   uuid.UUID
	Kind Kind
	Slug string
	// Name and Description are nil when never given.
	Name, Description *string
	Flags, Tags, Meta Document
	CreatedAt         time.Time
	// UpdatedAt is nil until the first change, DeletedAt unless archived.
	UpdatedAt, DeletedAt *time.Time
	CreatedByID          uuid.UUID
	UpdatedByID          *uuid.UUID
	DeletedByID          *uuid.UUID
}

// Archived tells whether queries hide the record.
func (r *Record) Archived() bool { return r.DeletedAt != nil }

func (r *Record) targets() []any {
	return []any{
		&r.ID, &r.Kind, &r.Slug, &r.Name, &r.Description, &r.Flags, &r.Tags, &r.Meta,
		&r.CreatedAt, &r.UpdatedAt, &r.DeletedAt, &r.CreatedByID, &r.UpdatedByID, &r.DeletedByID,
	}
}

// Artifact is the root of a lineage: an application, an environment, ...
type Artifact struct {
	Record
	// FolderID is where a person keeps it; nil means nowhere.
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

// Revision is an immutable commit on a variant: name, flags, tags and meta may
// be edited later, its data never.
type Revision struct {
	Record
	ArtifactID   uuid.UUID
	ArtifactSlug string
	// ArtifactFlags tell which families the lineage belongs to.
	ArtifactFlags Document
	VariantID     uuid.UUID
	VariantSlug   string
	// Version counts the earlier revisions of the variant; a string on the wire.
	Version  int
	AuthorID uuid.UUID
	Date     time.Time
	// Message is nil when the commit had none.
	Message *string
	// Data is nil for a placeholder. An environment's references are not in the
	// stored document; the registry puts them in.
	Data Document
}

// Targets are the addresses that a row in the order of schema.RevisionColumns is scanned into.
func (r *Revision) Targets() []any {
	return append(r.targets(),
		&r.ArtifactID, &r.ArtifactSlug, &r.ArtifactFlags, &r.VariantID, &r.VariantSlug, &r.Version, &r.AuthorID, &r.Date, &r.Message, &r.Data)
}

// Kind says which rows of the lineage tables a family owns: slugs are unique
// within a kind. Source: contract §5.1.
type Kind string

// The kinds.
const (
	Workflow    Kind = "workflow"
	Environment Kind = "environment"
	Query       Kind = "query"
	Testset     Kind = "testset"
)

// Scan reads a kind out of a store; any other word is an error.
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
