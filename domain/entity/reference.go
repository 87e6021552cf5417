package entity

import (
	"colonnade/domain"
	"colonnade/domain/request"
)

// ReadReference decodes {id?, slug?, version?}; the zero Reference if the member is absent. An
// object that names nothing is an error.
func ReadReference(o *request.Object, member string) domain.Reference {
	ref := o.Object(member)
	if ref == nil {
		return domain.Reference{}
	}
	return readReference(ref)
}

func readReference(ref *request.Object) domain.Reference {
	r := domain.Reference{ID: ref.UUID("id"), Slug: ref.String("slug"), Version: ref.String("version")}
	if r.IsZero() && len(ref.Names()) == 0 {
		ref.Fail("missing", "A reference needs an id, a slug or a version", nil)
	}
	ref.FailUnknown()
	return r
}

// ReadReferences decodes a list of references.
func ReadReferences(o *request.Object, member string) []domain.Reference {
	given := o.Objects(member)
	if given == nil {
		return nil
	}
	refs := make([]domain.Reference, len(given))
	for i, e := range given {
		refs[i] = readReference(e)
	}
	return refs
}

// ReadRefs decodes the three references of a family: application_ref, application_variant_ref,
// application_revision_ref.
func (f Family) ReadRefs(o *request.Object) Refs {
	return Refs{
		Artifact: ReadReference(o, f.artifact()+"_ref"),
		Variant:  ReadReference(o, f.variant()+"_ref"),
		Revision: ReadReference(o, f.revision()+"_ref"),
	}
}

// ReadRetrieval decodes the members of a retrieve or deploy request.
func (f Family) ReadRetrieval(o *request.Object) Retrieval {
	q := Retrieval{Family: f, Refs: f.ReadRefs(o)}
	if f.Kind != Environment {
		q.Environment = Environments().ReadRefs(o)
	}
	q.Key = o.String("key")
	return q
}
