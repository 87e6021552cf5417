package secrets

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"colonnade/domain/credential"
)

// A sealed secret is: version, id of the key, nonce, AES-256-GCM of the value.
// Its project, name and hosts are authenticated but not in it: a row that is copied
// to another place, or gets other hosts, does not open.
const (
	sealVersion = 1
	keyIDBytes  = 4
	headBytes   = 1 + keyIDBytes
)

// seals are the keys in use: the first seals, all open.
type seals []sealKey

type sealKey struct {
	id   [keyIDBytes]byte
	aead cipher.AEAD
}

// newSeals derives a key of the right length from each text; empty ones are none.
func newSeals(texts ...string) (seals, error) {
	var s seals
	for _, text := range texts {
		if text == "" {
			continue
		}
		key, err := hkdf.Key(sha256.New, []byte(text), nil, "colonnade secrets v1", 32)
		if err != nil {
			return nil, fmt.Errorf("secrets: deriving a key: %w", err)
		}
		id, err := hkdf.Key(sha256.New, []byte(text), nil, "colonnade secrets v1 id", keyIDBytes)
		if err != nil {
			return nil, fmt.Errorf("secrets: naming a key: %w", err)
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, fmt.Errorf("secrets: %w", err)
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return nil, fmt.Errorf("secrets: %w", err)
		}
		s = append(s, sealKey{id: [keyIDBytes]byte(id), aead: aead})
	}
	return s, nil
}

// any tells whether there is a key to seal with.
func (s seals) any() bool { return len(s) > 0 }

func (s seals) seal(random io.Reader, at place, secret credential.Secret) ([]byte, error) {
	k := s[0]
	sealed := append([]byte{sealVersion}, k.id[:]...)
	nonce := make([]byte, k.aead.NonceSize())
	if _, err := io.ReadFull(random, nonce); err != nil {
		return nil, fmt.Errorf("secrets: making a nonce: %w", err)
	}
	return k.aead.Seal(append(sealed, nonce...), nonce, []byte(secret.Value), at.bound(secret.Hosts)), nil
}

var errSeal = errors.New("secrets: no key opens the secret")

func (s seals) open(at place, hosts []string, sealed []byte) (string, error) {
	for _, k := range s {
		if len(sealed) < headBytes+k.aead.NonceSize() || sealed[0] != sealVersion || [keyIDBytes]byte(sealed[1:headBytes]) != k.id {
			continue
		}
		nonce, text := sealed[headBytes:headBytes+k.aead.NonceSize()], sealed[headBytes+k.aead.NonceSize():]
		value, err := k.aead.Open(nil, nonce, text, at.bound(hosts))
		if err != nil {
			return "", errors.Join(errSeal, err)
		}
		return string(value), nil
	}
	return "", errSeal
}

// bound returns what an encrypted secret is bound to. Neither a name nor a host has a zero byte.
func (p place) bound(hosts []string) []byte {
	bound := append(p.project[:], p.name...)
	for _, host := range hosts {
		bound = append(append(bound, 0), host...)
	}
	return bound
}
