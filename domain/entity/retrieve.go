package entity

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"colonnade/domain"
)

// Refs name a revision by any of its three levels.
type Refs struct{ Artifact, Variant, Revision domain.Reference }

// IsZero reports whether no level is named.
func (r Refs) IsZero() bool { return r == Refs{} }

// At returns the reference of one level.
func (r *Refs) At(l Level) *domain.Reference {
	switch l {
	case LevelVariant:
		return &r.Variant
	case LevelRevision:
		return &r.Revision
	default:
		return &r.Artifact
	}
}

// Target is one resolved look-up of a revision.
type Target struct {
	// Level is the level of Ref: an artifact stands for its default variant, the oldest live one;
	// a variant stands for its latest live revision, or for Version.
	Level Level
	// Ref has an id, a slug, or both, which must then agree.
	Ref domain.Reference
	// Version is empty for the latest revision. One that is not decimal matches nothing.
	Version string
}

// ByID reports whether the target is one revision by its id. Such a revision is found whatever
// the role of its workflow is; a role restricts lists and look-ups by slug.
func (t Target) ByID() bool { return t.Level == LevelRevision && t.Ref.ID != uuid.Nil }

// Number returns the version as a number; ok is false if it is not one.
func (t Target) Number() (version int, ok bool) {
	n, err := strconv.ParseInt(t.Version, 10, 32)
	return int(n), err == nil && n >= 0 && strconv.FormatInt(n, 10) == t.Version
}

func names(ref domain.Reference) bool { return ref.ID != uuid.Nil || ref.Slug != "" }

func (f Family) reject(format string, args ...any) error {
	return domain.E(domain.Rejected, format, args...)
}

// Plan returns the look-up for the references. References that name nothing are Rejected.
func (f Family) Plan(refs Refs) (Target, error) {
	version, err := f.version(refs)
	if err != nil {
		return Target{}, err
	}
	switch {
	case names(refs.Revision):
		return Target{Level: LevelRevision, Ref: refs.Revision, Version: version}, nil
	case names(refs.Variant):
		return Target{Level: LevelVariant, Ref: refs.Variant, Version: version}, nil
	case refs.Variant.Version != "":
		return Target{}, f.reject("%s_ref.version alone names no variant: provide its id or slug.", f.variant())
	case names(refs.Artifact):
		return Target{Level: LevelArtifact, Ref: refs.Artifact, Version: version}, nil
	case refs.Artifact.Version != "":
		return Target{}, f.reject("%s_ref.version alone names no %s: provide its id or slug.", f.artifact(), f.Name)
	case refs.Revision.Version != "":
		return Target{}, f.reject("%s_ref.version needs %s_ref or %s_ref beside it.", f.revision(), f.variant(), f.artifact())
	default:
		return Target{}, f.nothing()
	}
}

func (f Family) nothing() error {
	return f.reject("Provide %s refs or environment refs with key to retrieve %s revision.", f.Name, article(f.Name))
}

func article(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// version returns the one version that the references name.
func (f Family) version(refs Refs) (string, error) {
	version := ""
	for _, l := range [...]Level{LevelRevision, LevelVariant, LevelArtifact} {
		v := refs.At(l).Version
		if v != "" && version != "" && v != version {
			return "", f.reject("%s_ref.version=%s does not match version %s of the other reference.", f.Member(l), v, version)
		}
		if version == "" {
			version = v
		}
	}
	return version, nil
}

// Check rejects references that contradict the revision that they resolved to.
func (f Family) Check(refs Refs, r *Revision) error {
	for _, c := range []struct {
		level Level
		id    uuid.UUID
		slug  string
	}{{LevelArtifact, r.ArtifactID, r.ArtifactSlug}, {LevelVariant, r.VariantID, r.VariantSlug}, {LevelRevision, r.ID, r.Slug}} {
		ref := refs.At(c.level)
		member := f.Member(c.level)
		if ref.ID != uuid.Nil && ref.ID != c.id {
			return f.reject("%s_ref.id=%s does not match the retrieved %s id=%s.", member, ref.ID, member, c.id)
		}
		if ref.Slug != "" && ref.Slug != c.slug {
			return f.reject("%s_ref.slug=%s does not match the retrieved %s slug=%s.", member, ref.Slug, member, c.slug)
		}
		if ref.Version != "" && ref.Version != strconv.Itoa(r.Version) {
			return f.reject("%s_ref.version=%s does not match the retrieved version %d.", member, ref.Version, r.Version)
		}
	}
	return nil
}

// Entities is the entry of an environment under one key: references by name, such as application,
// application_variant, application_revision.
type Entities map[string]domain.Reference

// Pick returns the references of this family in an entry. A workflow may be there under the name
// of the family with which it was deployed.
func (f Family) Pick(e Entities) Refs {
	families := []string{f.Name}
	if f.Kind == Workflow {
		families = append(families, "workflow")
	}
	if f.Kind == Workflow && f.Role == "" {
		families = append(families, "application", "evaluator")
	}
	for _, name := range families {
		refs := Refs{Artifact: e[name], Variant: e[name+"_variant"], Revision: e[name+"_revision"]}
		if !refs.IsZero() {
			return refs
		}
	}
	return Refs{}
}

// Store finds revisions for Retrieve. The read side implements it over the pool, the write side
// inside its transaction.
type Store interface {
	// Find returns the revision of a target; false if there is none.
	Find(ctx context.Context, f Family, t Target) (Revision, bool, error)
	// Deployed returns the entry of an environment revision under a key; false if there is none.
	Deployed(ctx context.Context, environment *Revision, key string) (Entities, bool, error)
}

// Retrieval is a request for a revision: directly, through an environment, or both.
type Retrieval struct {
	Family      Family
	Refs        Refs
	Environment Refs
	// Key selects an entry of the environment; empty means {artifact slug}.revision.
	Key string
}

// Retrieved is the result of Retrieve, and how it was found.
type Retrieved struct {
	// Revision is nil if direct references name no existing revision.
	Revision *Revision
	// Environment is the environment revision that was read; nil if none was.
	Environment *Revision
	// Key is the key of the entry that was read.
	Key string
}

// DeployKey returns the default key of a deployed artifact. Source: interface.md §2.10.
func DeployKey(artifactSlug string) string { return artifactSlug + ".revision" }

// Retrieve resolves direct references, an environment, or both. Direct references that find
// nothing are not an error; an entry that the environment does not have is NotFound.
func Retrieve(ctx context.Context, s Store, q Retrieval) (Retrieved, error) {
	if q.Environment.IsZero() {
		if q.Key != "" {
			return Retrieved{}, q.Family.reject("A key selects within an environment: provide environment refs as well.")
		}
		return retrieveDirectly(ctx, s, q)
	}
	key, err := q.key(ctx, s)
	if err != nil {
		return Retrieved{}, err
	}
	environment, err := FindEnvironment(ctx, s, q.Environment)
	if err != nil {
		return Retrieved{}, err
	}
	entry, ok, err := s.Deployed(ctx, &environment, key)
	if err != nil {
		return Retrieved{}, err
	}
	deployed := q.Family.Pick(entry)
	if !ok || deployed.IsZero() {
		return Retrieved{}, domain.E(domain.NotFound, "Environment revision does not contain %s references for the requested key.", q.Family.Name)
	}
	target, err := q.Family.Plan(deployed)
	if err != nil {
		return Retrieved{}, fmt.Errorf("entity: environment %s holds references that name nothing: %w", environment.ID, err)
	}
	found, ok, err := s.Find(ctx, q.Family, target)
	if err != nil {
		return Retrieved{}, err
	}
	if !ok {
		return Retrieved{}, domain.E(domain.NotFound, "The %s revision that the environment refers to does not exist.", q.Family.Name)
	}
	if err := q.Family.Check(q.Refs, &found); err != nil {
		return Retrieved{}, err
	}
	return Retrieved{Revision: &found, Environment: &environment, Key: key}, nil
}

func retrieveDirectly(ctx context.Context, s Store, q Retrieval) (Retrieved, error) {
	target, err := q.Family.Plan(q.Refs)
	if err != nil {
		return Retrieved{}, err
	}
	found, ok, err := s.Find(ctx, q.Family, target)
	if err != nil || !ok {
		return Retrieved{}, err
	}
	if err := q.Family.Check(q.Refs, &found); err != nil {
		return Retrieved{}, err
	}
	return Retrieved{Revision: &found}, nil
}

// key returns the given key, or the one of the artifact that the direct references name.
func (q Retrieval) key(ctx context.Context, s Store) (string, error) {
	if q.Key != "" {
		return q.Key, nil
	}
	if q.Refs.Artifact.Slug != "" {
		return DeployKey(q.Refs.Artifact.Slug), nil
	}
	target, err := q.Family.Plan(q.Refs)
	if err != nil {
		return "", err
	}
	found, ok, err := s.Find(ctx, q.Family, target)
	if err != nil {
		return "", err
	}
	if !ok {
		return "", q.Family.nothing()
	}
	return DeployKey(found.ArtifactSlug), nil
}

// FindEnvironment returns the environment revision that references name; NotFound if there is
// none.
func FindEnvironment(ctx context.Context, s Store, refs Refs) (Revision, error) {
	f := Environments()
	target, err := f.Plan(refs)
	if err != nil {
		return Revision{}, err
	}
	found, ok, err := s.Find(ctx, f, target)
	if err != nil {
		return Revision{}, err
	}
	if !ok {
		return Revision{}, domain.E(domain.NotFound, "Environment revision not found.")
	}
	return found, f.Check(refs, &found)
}

// Given returns the references of a family under the names of their levels, as they were given.
func (f Family) Given(refs Refs) Entities {
	given := Entities{}
	for _, l := range [...]Level{LevelArtifact, LevelVariant, LevelRevision} {
		if ref := refs.At(l); !ref.IsZero() {
			given[f.Member(l)] = *ref
		}
	}
	return given
}
