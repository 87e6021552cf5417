package secrets

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
)

// Revealed is a stored secret with its value; Value is empty where no key of the
// deployment decrypts it.
type Revealed struct {
	Stored
	Value string
}

// ID returns the id of a secret for clients that do not name it. It follows from the project
// and the name, so that a secret which is stored again keeps it.
func ID(project domain.ProjectID, name string) uuid.UUID {
	return uuid.NewSHA1(uuid.UUID(project), []byte("secret:"+name))
}

// List returns the secrets of a project with their values, ascending by name.
func (v *Vault) List(ctx context.Context, project domain.ProjectID) ([]Revealed, error) {
	rows, err := v.deps.Pool.Query(ctx, `
SELECT name, description, hosts, created_at, updated_at, encrypted
FROM secrets
WHERE project_id = $1
ORDER BY name
LIMIT $2`, uuid.UUID(project), maxSecrets)
	if err != nil {
		return nil, classify(err, "listing secrets")
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r Revealed, err error) {
		var encrypted []byte
		if err := row.Scan(&r.Name, &r.Description, &r.Hosts, &r.CreatedAt, &r.UpdatedAt, &encrypted); err != nil {
			return r, err
		}
		if value, err := v.seals.open(place{project, r.Name}, r.Hosts, encrypted); err == nil {
			r.Value = value
		}
		return r, nil
	})
	if err != nil {
		return nil, classify(err, "listing secrets")
	}
	return found, nil
}

// Find returns the secret of a name or an id; ok is false where the project has none.
func (v *Vault) Find(ctx context.Context, project domain.ProjectID, nameOrID string) (r Revealed, ok bool, err error) {
	all, err := v.List(ctx, project)
	if err != nil {
		return r, false, err
	}
	id, notID := uuid.Parse(nameOrID)
	for _, s := range all {
		if s.Name == nameOrID || notID == nil && ID(project, s.Name) == id {
			return s, true, nil
		}
	}
	return r, false, nil
}
