package domain

import "github.com/google/uuid"

// Reference identifies an entity; any one of its fields is enough. The zero value identifies
// nothing. Source: interface.md §2.6.
type Reference struct {
	ID uuid.UUID `json:"id,omitzero"`
	// Slug is unique within the project.
	Slug string `json:"slug,omitempty"`
	// Version applies to revisions. It is a string on the wire, never a number.
	Version string `json:"version,omitempty"`
}

// IsZero reports whether the reference identifies nothing.
func (r Reference) IsZero() bool { return r == Reference{} }
