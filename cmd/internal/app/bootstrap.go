package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"colonnade/domain/credential"
	"colonnade/write/registry/accounts"
)

// firstAccount is the address of the account that the first start creates.
const firstAccount = "admin@colonnade.local"

// firstKey is the key of the embedded mode's default project.
type firstKey struct {
	key  credential.Key
	path string
	// new means that this start created the key. revoked means
	// that a user has revoked it since.
	new, revoked bool
}

// bootstrap creates the default organization, workspace, project and API key of
// an embedded service. It writes the key to its file before it inserts it, so that
// a crash in between loses no key.
func (p *process) bootstrap(ctx context.Context, s *Service) (firstKey, error) {
	if !p.Embedded {
		return firstKey{}, nil
	}
	k := firstKey{path: p.cfg.KeyPath()}
	raw, err := os.ReadFile(k.path)
	switch {
	case err == nil && len(raw) > 0:
		key, ok := credential.ParseKey(strings.TrimSpace(string(raw)))
		if !ok {
			return k, fmt.Errorf("app: %s does not hold an API key: move it away and start again", k.path)
		}
		k.key = key
	case err == nil, errors.Is(err, fs.ErrNotExist):
		if k.key, err = credential.NewKey(credential.Random()); err != nil {
			return k, fmt.Errorf("app: %w", err)
		}
		if err := keep(k.path, k.key.Reveal()+"\n"); err != nil {
			return k, fmt.Errorf("app: keeping the API key: %w", err)
		}
		k.new = true
	default:
		return k, fmt.Errorf("app: reading the API key: %w", err)
	}
	account, created, err := s.Accounts.Bootstrap(ctx, accounts.AccountRequest{
		Email: firstAccount, Organization: "Default", CreateKey: true, Key: k.key, SeedDefaults: true,
	})
	k.new, k.revoked = k.new || created, account.Key == credential.Key{}
	return k, err
}

// ticketSecret returns the secret that signs service credentials: that of the
// configuration or, for an embedded service, one kept in its data directory.
// Several processes need a common one in their configuration.
func (p *process) ticketSecret() ([]byte, error) {
	if p.cfg.Access.TicketSecret != nil || !p.Embedded {
		return p.cfg.Access.TicketSecret, nil
	}
	return p.kept("ticket-secret")
}

// encryptionKey returns the key of the configuration that encrypts secrets, or the
// one that an embedded service keeps in its data directory.
func (p *process) encryptionKey() (string, error) {
	if p.cfg.Secrets.EncryptionKey != "" || !p.Embedded {
		return p.cfg.Secrets.EncryptionKey, nil
	}
	key, err := p.kept("encryption-key")
	return string(key), err
}

// kept returns the secret in a file of the data directory, which it creates when
// the file does not exist.
func (p *process) kept(name string) ([]byte, error) {
	path := p.cfg.DataPath(name)
	raw, err := os.ReadFile(path) //nolint:gosec // a path inside the data directory
	if err == nil && len(raw) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return raw, err
	}
	key, err := credential.NewKey(credential.Random())
	if err != nil {
		return nil, err
	}
	return []byte(key.Reveal()), keep(path, key.Reveal())
}

// keep writes a secret so that its file is complete or absent, even after a loss of
// power: secrets encrypted with a lost key cannot be decrypted.
func keep(path, secret string) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // readable by its owner only
	if err != nil {
		return err
	}
	_, err = file.WriteString(secret)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
