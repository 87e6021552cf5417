package entities

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
	"colonnade/domain/catalog"
	"colonnade/domain/entity"
	"colonnade/domain/request"
	"colonnade/domain/testset"
	"colonnade/write/registry"
	"colonnade/write/registry/testcases"
)

// CommitRequest asks for a new revision of a variant.
type CommitRequest struct {
	registry.RecordFields
	Variant uuid.UUID
	// Named is a revision whose variant is meant where Variant is not given.
	Named uuid.UUID
	// Artifact must be the variant's; the zero UUID is not checked.
	Artifact uuid.UUID
	Message  *string
	// Data is the new data as read by ReadData; nil makes a placeholder, or with
	// a Delta the data that the delta makes of the latest revision's.
	Data entity.Document
	// References are an environment's data; Data is then empty, not nil.
	References map[string]entity.Entities
	Delta      *entity.Delta
	// EnvironmentDelta is the delta of an environment.
	EnvironmentDelta *EnvironmentDelta
	// Testset is a testset's data, TestsetDelta its delta; View says how much of
	// it the committed revision shows.
	Testset      *testset.Data
	TestsetDelta *testset.Delta
	View         testset.View
	// Base is the revision that the caller has seen as the latest; the zero UUID
	// is not checked, another than the latest is a Conflict.
	Base uuid.UUID
	// Initial refuses a variant that already has revisions.
	Initial bool
}

// EnvironmentDelta changes what an environment refers to.
type EnvironmentDelta struct {
	Set    map[string]entity.Entities
	Remove []string
	// resolved tells that the references in Set are complete already.
	resolved bool
}

// errNone ends a transaction that has nothing to do because its object is not there.
var errNone = errors.New("registry: no such thing")

// Commit makes the variant's next revision. Nil means that there is no such
// variant. Commits on one variant wait for each other: versions have no gaps
// and none is lost. Source: contract §5.2.
func (r *Registry) Commit(ctx context.Context, caller domain.Principal, f entity.Family, q CommitRequest) (*entity.Revision, error) {
	var made *entity.Revision
	err := r.db.Transact(ctx, "committing "+f.Name+" revision", func(tx pgx.Tx) (err error) {
		s := within(tx, caller.Project)
		if made, err = r.commit(ctx, s, caller, f, q); err != nil {
			return err
		}
		return r.showAs(ctx, s.lookup, f, made, q.View)
	})
	if errors.Is(err, errNone) {
		return nil, nil //nolint:nilnil // an unknown variant is an answer (contract §5.2)
	}
	return made, err
}

func (r *Registry) commit(ctx context.Context, s finder, caller domain.Principal, f entity.Family, q CommitRequest) (*entity.Revision, error) {
	if q.Variant == uuid.Nil && q.Named != uuid.Nil {
		named, ok, err := s.Find(ctx, f, entity.Target{Level: entity.LevelRevision, Ref: domain.Reference{ID: q.Named}})
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, errNone
		}
		q.Variant = named.VariantID
	}
	v, version, err := s.nextVersion(ctx, f, q.Variant)
	if err != nil {
		return nil, err
	}
	if err := allowCommit(caller, f, q, v, version); err != nil {
		return nil, err
	}
	revision, err := r.draftRevision(caller, f, q, v, version)
	if err != nil {
		return nil, err
	}
	switch f.Kind {
	case entity.Environment:
		err = s.commitEnvironment(ctx, q, revision)
	case entity.Testset:
		err = s.commitTestset(ctx, q, revision)
	default:
		err = r.commitData(ctx, s, f, q, revision)
	}
	if err != nil {
		return nil, err
	}
	revision.Flags = revisionFlags(f, revision.Data, v.ArtifactFlags, q.Flags)
	if err := r.db.CheckQuota(ctx, s.tx, caller.Project); err != nil {
		return nil, err
	}
	return revision, insertRevision(ctx, s.tx, caller.Project, revision)
}

const takeVersion = `
UPDATE variants v SET next_version = v.next_version + 1
FROM artifacts a
WHERE v.project_id = $1 AND v.kind = $2 AND v.id = $3 AND a.project_id = v.project_id AND a.id = v.artifact_id
RETURNING v.next_version - 1, v.slug, v.deleted_at, a.id, a.slug, a.flags`

// nextVersion takes the variant's next number, and with it the lock that holds
// other commits off until this one is done; a rollback gives the number back.
func (s finder) nextVersion(ctx context.Context, f entity.Family, variant uuid.UUID) (*entity.Variant, int, error) {
	v := entity.Variant{Record: entity.Record{ID: variant, Kind: f.Kind}}
	var version int
	err := s.tx.QueryRow(ctx, takeVersion, uuid.UUID(s.project), f.Kind, variant).
		Scan(&version, &v.Slug, &v.DeletedAt, &v.ArtifactID, &v.ArtifactSlug, &v.ArtifactFlags)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !f.Owns(v.ArtifactFlags) {
		return nil, 0, errNone
	}
	return &v, version, err
}

func allowCommit(caller domain.Principal, f entity.Family, q CommitRequest, v *entity.Variant, version int) error {
	switch {
	case q.Artifact != uuid.Nil && q.Artifact != v.ArtifactID:
		return domain.E(domain.Rejected, "%s_id=%s does not match the variant's %s id=%s.", f.Name, q.Artifact, f.Name, v.ArtifactID)
	case v.Archived():
		return &domain.Error{Kind: domain.Conflict, Message: "The variant is archived: unarchive it before committing to it."}
	case q.Initial && version > 0:
		return &domain.Error{Kind: domain.Conflict, Message: "The variant already has revisions: commit to it instead."}
	case version > 0 && q.says() == 0:
		return domain.E(domain.Rejected, "Provide either data or delta for a commit.")
	default:
		return mayChange(caller, f, v.ArtifactFlags)
	}
}

// says counts what a commit brings; only the first of a variant may bring nothing.
func (q CommitRequest) says() int {
	n := 0
	for _, given := range []bool{
		q.Data != nil, q.References != nil, q.Testset != nil, q.Delta != nil, q.EnvironmentDelta != nil, q.TestsetDelta != nil,
		q.Flags != nil, q.Tags != nil, q.Meta != nil,
	} {
		if given {
			n++
		}
	}
	return n
}

func (r *Registry) draftRevision(caller domain.Principal, f entity.Family, q CommitRequest, v *entity.Variant, version int) (*entity.Revision, error) {
	if q.Slug == "" {
		slug, err := entity.NewSlug(r.db.Random())
		if err != nil {
			return nil, err
		}
		q.Slug = slug
	} else if err := entity.CheckSlug(q.Slug, "body", f.Member(entity.LevelRevision), "slug"); err != nil {
		return nil, err
	}
	record, err := r.db.NewRecord(caller, f, q.RecordFields, uuid.Nil)
	if err != nil {
		return nil, err
	}
	return &entity.Revision{
		Record: record, ArtifactID: v.ArtifactID, ArtifactSlug: v.ArtifactSlug, ArtifactFlags: v.ArtifactFlags,
		VariantID: v.ID, VariantSlug: v.Slug, Version: version,
		AuthorID: caller.User, Date: record.CreatedAt, Message: q.Message, Data: q.Data,
	}, nil
}

// commitData decides the data of a revision that is no environment's.
func (r *Registry) commitData(ctx context.Context, s finder, f entity.Family, q CommitRequest, revision *entity.Revision) error {
	if q.Delta != nil || q.Base != uuid.Nil {
		head, _, err := s.latest(ctx, f, revision.VariantID)
		if err != nil {
			return err
		}
		if err := checkBase(q.Base, head.ID); err != nil {
			return err
		}
		if q.Delta != nil {
			if revision.Data, err = q.Delta.Apply(head.Data); err != nil {
				return err
			}
			if err := checkData(f, revision.Data); err != nil {
				return err
			}
		}
		if f.Name == string(entity.Workflow) && entity.Same(r.complete(f, revision.Data), head.Data) {
			return commitConflict("no_change", "The commit changes nothing.", "Send the change that you intended, or keep the revision that you have.", head.ID)
		}
	}
	revision.Data = r.complete(f, revision.Data)
	return nil
}

// checkData reads data once more after a delta: what it made of valid data may not be valid.
func checkData(f entity.Family, data entity.Document) error {
	o := request.ObjectOf(data, "body", f.Member(entity.LevelRevision), "delta")
	ReadData(f, o)
	if err := o.Err(); err != nil {
		return err
	}
	return request.CheckStorable(map[string]any(data)) // what is too deep to be sent is too deep to be made
}

func (r *Registry) complete(f entity.Family, data entity.Document) entity.Document {
	if f.Kind == entity.Workflow && data != nil {
		return r.catalog.Complete(data, r.servicesURL)
	}
	return data
}

func checkBase(base, head uuid.UUID) error {
	if base == uuid.Nil || base == head {
		return nil
	}
	return commitConflict("revision_conflict", "The variant has a newer revision than the one that this commit builds on.",
		"Read the latest revision, apply your change to it, and commit with its id as base_revision_id.", head)
}

// commitConflict is the structured refusal of contract §5.2.
func commitConflict(code, message, next string, head uuid.UUID) error {
	return &domain.Error{Kind: domain.Conflict, Message: message, Detail: map[string]any{
		"code": code, "message": message, "retryable": false, "next_step": next,
		"details": map[string]any{"latest_revision_id": head},
	}}
}

func revisionFlags(f entity.Family, data, artifactFlags, given entity.Document) entity.Document {
	if f.Kind != entity.Workflow {
		return given
	}
	return catalog.Flags(data, artifactFlags, given)
}

func insertRevision(ctx context.Context, tx pgx.Tx, project domain.ProjectID, v *entity.Revision) error {
	data := v.Data
	if v.Kind == entity.Environment && data != nil {
		// The references live in their own table; the document only says that there are some.
		data = entity.Document{}
	}
	_, err := tx.Exec(ctx, `
INSERT INTO revisions (project_id, id, kind, artifact_id, variant_id, version, slug, name, description, flags, tags, meta, author_id, date, message, data, created_at, created_by_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`,
		uuid.UUID(project), v.ID, v.Kind, v.ArtifactID, v.VariantID, v.Version, v.Slug, v.Name, v.Description, v.Flags, v.Tags, v.Meta,
		v.AuthorID, v.Date, v.Message, data, v.CreatedAt, v.CreatedByID)
	if registry.Violates(err, "revisions_slug") {
		return entity.SlugConflict(v.Slug)
	}
	return err
}

// show completes a revision for a reply: the address of a built-in handler, an
// environment's references, a testset's testcases.
func (r *Registry) show(ctx context.Context, s lookup, f entity.Family, v *entity.Revision) error {
	return r.showAs(ctx, s, f, v, testset.View{})
}

// showAs is show with as much of a testset as is wanted.
func (r *Registry) showAs(ctx context.Context, s lookup, f entity.Family, v *entity.Revision, view testset.View) error {
	switch {
	case v.Data == nil:
		return nil
	case f.Kind == entity.Environment:
		held, err := s.references(ctx, v.VariantID, v.Version)
		if err != nil {
			return err
		}
		v.Data = entity.Document{"references": held}
		return nil
	case f.Kind == entity.Workflow:
		v.Data = catalog.WithURL(v.Data, r.servicesURL)
		return nil
	case f.Kind == entity.Testset:
		return testcases.Show(ctx, s.db, s.project, v, view)
	default:
		return nil
	}
}
