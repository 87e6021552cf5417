package entity

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"colonnade/domain"
)

// Refs name a revision by any of the three levels of its lineage.
type Refs struct{ Artifact, Variant, Revision domain.Reference }

// IsZero tells whether nothing is named.
func (r Refs) IsZero() bool { return r == Refs{} }

// At is the reference of one level.
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

// Target is one decided look-up of a revision.
type Target struct {
	// Level is what Ref names: an artifact means its default variant, the oldest
	// live one; a variant means its latest live revision, or Version.
	Level Level
	// Ref holds an id, a slug, or both, which must then agree.
	Ref domain.Reference
	// Version is empty for the latest. It is decimal or it matches nothing.
	Version string
}

// Number is the version as a number; false when there is none of that name.
func (t Target) Number() (version int, ok bool) {
	n, err := strconv.ParseInt(t.Version, 10, 32)
	return int(n), err == nil && n >= 0 && strconv.FormatInt(n, 10) == t.Version
}

func names(ref domain.Reference) bool { return ref.ID != uuid.Nil || ref.Slug != "" }

func (f Family) reject(format string, args ...any) error {
	return domain.E(domain.Rejected, format, args...)
}

// Plan decides what to look up. References that name nothing are Rejected.
// Source: contract §5.3.
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

// version is the one version that the references ask for.
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

// Check refuses references that contradict the revision they led to. Source: contract §5.3.
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

// Entities is what an environment holds under one key: references by name,
// such as application, application_variant, application_revision.
type Entities map[string]domain.Reference

// Pick takes this family's references out of an environment's entry. A
// workflow may stand there under the name of the family it was deployed as.
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

// Store is where Retrieve looks. Both wings have one: the read side over the
// pool, the write side inside its transaction.
type Store interface {
	// Find gives the revision that a target names; false when there is none.
	Find(ctx context.Context, f Family, t Target) (Revision, bool, error)
	// Deployed gives an environment revision's entry under a key; false when there is none.
	Deployed(ctx context.Context, environment *Revision, key string) (Entities, bool, error)
}

// Retrieval asks for a revision: directly, through an environment, or both.
type Retrieval struct {
	Family      Family
	Refs        Refs
	Environment Refs
	// Key selects within the environment; empty means {artifact slug}.revision.
	Key string
}

// Retrieved is what was found, and the way to it.
type Retrieved struct {
	// Revision is nil when direct references name nothing that exists.
	Revision *Revision
	// Environment is the environment's revision that was looked into; nil when none was.
	Environment *Revision
	// Key is the key that was looked under.
	Key string
}

// DeployKey is the key under which an artifact is deployed when none is given. Source: interface.md §2.10.
func DeployKey(artifactSlug string) string { return artifactSlug + ".revision" }

// Retrieve follows the decision table of contract §5.3. What direct references
// do not find is no error; what an environment does not have is NotFound.
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

// key is the given one or that of the artifact which the direct references lead to.
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

// FindEnvironment gives the environment revision that references name; NotFound when there is none.
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
