// Package entities holds the commands on versioned entities: applications,
// workflows, evaluators, environments, queries and testsets with their artifacts,
// variants and revisions. A command reads with its own SQL within its transaction,
// decides by the rules of domain/entity, and writes all or nothing: it creates,
// edits, archives, commits, forks and deploys. Every statement carries the project.
// It also retrieves revisions for commands that run them (write/invoke,
// write/evaluate); queries and pages are read/entities.
package entities

import (
	"context"
	"fmt"

	"colonnade/domain"
	"colonnade/domain/catalog"
	"colonnade/domain/entity"
	"colonnade/write/registry"
)

// Registry runs the commands on entities. It is safe for concurrent use.
type Registry struct {
	db          *registry.DB
	catalog     *catalog.Catalog
	servicesURL string
}

// New returns the commands on entities. servicesURL is where the built-in handlers
// are served, without a trailing slash: data.url of a revision is below it.
func New(db *registry.DB, servicesURL string) (*Registry, error) {
	c, err := catalog.New()
	if err != nil {
		return nil, fmt.Errorf("entities: %w", err)
	}
	return &Registry{db: db, catalog: c, servicesURL: servicesURL}, nil
}

// FindRevision returns the revision of a kind that a reference names; the bool
// reports whether there is one.
func (r *Registry) FindRevision(ctx context.Context, project domain.ProjectID, f entity.Family, ref domain.Reference) (entity.Revision, bool, error) {
	found, ok, err := lookup{r.db.Pool(), project}.Find(ctx, f, entity.Target{Level: entity.LevelRevision, Ref: ref})
	return found, ok, registry.Classify(err, "finding "+f.Name+" revision")
}
