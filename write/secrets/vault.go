// Package secrets keeps what a project lends to its invocations: keys of model
// providers, the key that signs requests to hooks, values of their headers.
// They are encrypted with a key of the configuration before they reach Postgres.
// The keys of model providers are returned to clients that may view secrets, so
// that applications which run elsewhere call the models; no other value is.
//
// Callers: write/api, which stores and lists them, and write/invoke, which uses them.
package secrets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"colonnade/domain"
	"colonnade/domain/credential"
	"colonnade/domain/entity"
	"colonnade/domain/request"
	"colonnade/migrations/postgres"
)

// Config holds the keys that encrypt the secrets.
type Config struct {
	// EncryptionKey encrypts the secrets: 32 characters or more, the same in all
	// processes. With an empty key no secret can be stored.
	EncryptionKey string
	// PreviousEncryptionKey decrypts the secrets that were stored before EncryptionKey
	// was changed.
	PreviousEncryptionKey string
	// CacheTTL is how long a decrypted secret stays in memory. A change made in
	// another process is visible after this time at the latest.
	CacheTTL time.Duration
}

// DefaultConfig returns a configuration without a key: no secret can be stored.
func DefaultConfig() Config { return Config{CacheTTL: 5 * time.Second} }

const leastKey = 32

// Validate returns an error that names every field that cannot work.
func (c Config) Validate() error {
	var errs []error
	for name, key := range map[string]string{"encryption_key": c.EncryptionKey, "previous_encryption_key": c.PreviousEncryptionKey} {
		if key != "" && len(key) < leastKey {
			errs = append(errs, fmt.Errorf("%s: must be at least %d characters, such as the output of openssl rand -hex 32", name, leastKey))
		}
	}
	if c.CacheTTL < 0 {
		errs = append(errs, errors.New("cache_ttl: must not be negative"))
	}
	return errors.Join(errs...)
}

// Deps are what the room needs from outside.
type Deps struct {
	Pool   *pgxpool.Pool
	Now    func() time.Time
	Random io.Reader
}

// Vault keeps secrets. It is safe for concurrent use.
type Vault struct {
	cfg   Config
	deps  Deps
	seals seals

	mu    sync.Mutex
	known map[place]opened
}

// place is where a secret stands.
type place struct {
	project domain.ProjectID
	name    string
}

// opened is a secret as it was a moment ago; ok is false where there was none.
type opened struct {
	secret credential.Secret
	ok     bool
	at     time.Time
}

// New makes an inert room.
func New(cfg Config, deps Deps) (*Vault, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("secrets: %w", err)
	}
	s, err := newSeals(cfg.EncryptionKey, cfg.PreviousEncryptionKey)
	if err != nil {
		return nil, err
	}
	return &Vault{cfg: cfg, deps: deps, seals: s, known: map[place]opened{}}, nil
}

// Bounds of a secret.
const (
	maxName  = 128
	maxValue = 16 << 10
	// maxSecrets a project, so that a list of them is one page.
	maxSecrets = 1000
	// maxHosts bounds the hosts of one secret.
	maxHosts = 32
	// minSent is the length from which a value that is sent in a header is long enough to be
	// recognized in what the host replies.
	minSent = 8
	// maxKnown bounds the cache; it is emptied when it is full.
	maxKnown = 4096
)

// Secret is what is stored.
type Secret struct {
	Name, Description, Value string
	// Hosts may receive the value in a header, each as host or host:port.
	Hosts []string
}

// Stored tells about a secret, but not what it is.
type Stored struct {
	Name        string    `json:"name"`
	Description string    `json:"description,omitempty"`
	Hosts       []string  `json:"hosts"`
	CreatedAt   time.Time `json:"created_at"`
	// UpdatedAt is nil until the first change.
	UpdatedAt *time.Time `json:"updated_at,omitempty"`
}

// Put stores a secret, in the place of an earlier one of that name.
func (v *Vault) Put(ctx context.Context, caller domain.Principal, s Secret) (Stored, error) {
	hosts, err := v.check(s)
	if err != nil {
		return Stored{}, err
	}
	sealed, err := v.seals.seal(v.deps.Random, place{caller.Project, s.Name}, credential.Secret{Value: s.Value, Hosts: hosts})
	if err != nil {
		return Stored{}, err
	}
	rows, err := v.deps.Pool.Query(ctx, `
INSERT INTO secrets (project_id, name, description, encrypted, hosts, created_at, created_by_id)
SELECT $1, $2, $3, $4, $5, $6, $7
WHERE (SELECT count(*) FROM secrets WHERE project_id = $1 AND name <> $2) < $8
ON CONFLICT (project_id, name) DO UPDATE
SET description = excluded.description, encrypted = excluded.encrypted, hosts = excluded.hosts, updated_at = excluded.created_at, updated_by_id = excluded.created_by_id
RETURNING name, description, hosts, created_at, updated_at`,
		uuid.UUID(caller.Project), s.Name, s.Description, sealed, hosts, v.deps.Now().UTC().Truncate(time.Microsecond), caller.User, maxSecrets)
	if err != nil {
		return Stored{}, classify(err, "storing a secret")
	}
	stored, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[Stored])
	if errors.Is(err, pgx.ErrNoRows) {
		return Stored{}, domain.E(domain.Conflict, "The project has %d secrets, as many as it may.", maxSecrets)
	}
	if err != nil {
		return Stored{}, classify(err, "storing a secret")
	}
	v.forget(place{caller.Project, s.Name})
	return stored, nil
}

// check returns the hosts of a secret in the form in which they are stored.
func (v *Vault) check(s Secret) ([]string, error) {
	if !v.seals.any() {
		return nil, domain.E(domain.Rejected, "This deployment stores no secrets: COLONNADE_SECRETS_ENCRYPTION_KEY is not set.")
	}
	if err := entity.CheckSlug(s.Name, "path", "name"); err != nil {
		return nil, err
	}
	if len(s.Name) > maxName || s.Value == "" || len(s.Value) > maxValue || len(s.Description) > maxValue || !utf8.ValidString(s.Value) {
		return nil, domain.E(domain.Rejected, "A secret has a name of at most %d bytes and a value of 1 to %d.", maxName, maxValue)
	}
	if len(s.Hosts) > maxHosts {
		return nil, domain.E(domain.Rejected, "A secret has at most %d hosts.", maxHosts)
	}
	if len(s.Hosts) > 0 && len(s.Value) < minSent {
		return nil, domain.E(domain.Rejected, "A secret with hosts has a value of at least %d bytes.", minSent)
	}
	hosts := []string{} // stored as an empty list, never as NULL
	for n, text := range s.Hosts {
		host, err := credential.ParseHost(text)
		if err != nil {
			return nil, request.Invalid("value_error", "Value error, "+err.Error(), text, "body", "secret", "hosts", n)
		}
		hosts = append(hosts, host)
	}
	return hosts, nil
}

// Delete removes a secret; false when there was none.
func (v *Vault) Delete(ctx context.Context, caller domain.Principal, name string) (bool, error) {
	tag, err := v.deps.Pool.Exec(ctx, `DELETE FROM secrets WHERE project_id = $1 AND name = $2`, uuid.UUID(caller.Project), name)
	if err != nil {
		return false, classify(err, "deleting a secret")
	}
	v.forget(place{caller.Project, name})
	return tag.RowsAffected() > 0, nil
}

// Open returns a secret; false when the project has none of that name. One that
// no key opens is an error: silence would use another's key.
func (v *Vault) Open(ctx context.Context, project domain.ProjectID, name string) (credential.Secret, bool, error) {
	if !v.seals.any() {
		return credential.Secret{}, false, nil
	}
	at := place{project, name}
	now := v.deps.Now()
	v.mu.Lock()
	if o, ok := v.known[at]; ok && now.Sub(o.at) < v.cfg.CacheTTL {
		v.mu.Unlock()
		return o.secret, o.ok, nil
	}
	v.mu.Unlock()
	o := opened{at: now}
	var sealed []byte
	err := v.deps.Pool.QueryRow(ctx, `SELECT encrypted, hosts FROM secrets WHERE project_id = $1 AND name = $2`, uuid.UUID(project), name).Scan(&sealed, &o.secret.Hosts)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
	case err != nil:
		return credential.Secret{}, false, classify(err, "reading a secret")
	default:
		if o.secret.Value, err = v.seals.open(at, o.secret.Hosts, sealed); err != nil {
			return credential.Secret{}, false, domain.Wrap(domain.Rejected, err, "The secret %q cannot be opened with the key of this deployment. Store it again.", name)
		}
		o.ok = true
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.known) >= maxKnown {
		clear(v.known)
	}
	v.known[at] = o
	return o.secret, o.ok, nil
}

func (v *Vault) forget(at place) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.known, at)
}

func classify(err error, doing string) error {
	wrapped := fmt.Errorf("secrets: %s: %w", doing, err)
	switch {
	case postgres.Unreachable(err):
		return domain.Wrap(domain.Unavailable, wrapped, "The store of secrets does not answer. Please try again.")
	case postgres.Unholdable(err):
		return domain.Wrap(domain.Rejected, wrapped, "The store of secrets cannot hold this text.")
	default:
		return wrapped
	}
}
