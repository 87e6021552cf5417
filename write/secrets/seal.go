package secrets

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
)

// A sealed secret is: version, id of the key, nonce, AES-256-GCM of the value.
// What it is bound to, project and name, is authenticated but not in it: a row
// copied to another place does not open.
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
			return nil, fmt.Errorf("vault: deriving a key: %w", err)
		}
		id, err := hkdf.Key(sha256.New, []byte(text), nil, "colonnade secrets v1 id", keyIDBytes)
		if err != nil {
			return nil, fmt.Errorf("vault: naming a key: %w", err)
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, fmt.Errorf("vault: %w", err)
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return nil, fmt.Errorf("vault: %w", err)
		}
		s = append(s, sealKey{id: [keyIDBytes]byte(id), aead: aead})
	}
	return s, nil
}

// any tells whether there is a key to seal with.
func (s seals) any() bool { return len(s) > 0 }

func (s seals) seal(random io.Reader, at place, value string) ([]byte, error) {
	k := s[0]
	sealed := append([]byte{sealVersion}, k.id[:]...)
	nonce := make([]byte, k.aead.NonceSize())
	if _, err := io.ReadFull(random, nonce); err != nil {
		return nil, fmt.Errorf("vault: making a nonce: %w", err)
	}
	return k.aead.Seal(append(sealed, nonce...), nonce, []byte(value), at.bound()), nil
}

var errSeal = errors.New("vault: no key opens the secret")

func (s seals) open(at place, sealed []byte) (string, error) {
	for _, k := range s {
		if len(sealed) < headBytes+k.aead.NonceSize() || sealed[0] != sealVersion || [keyIDBytes]byte(sealed[1:headBytes]) != k.id {
			continue
		}
		nonce, text := sealed[headBytes:headBytes+k.aead.NonceSize()], sealed[headBytes+k.aead.NonceSize():]
		value, err := k.aead.Open(nil, nonce, text, at.bound())
		if err != nil {
			return "", errors.Join(errSeal, err)
		}
		return string(value), nil
	}
	return "", errSeal
}

// bound is what a sealed secret belongs to.
func (p place) bound() []byte { return append(p.project[:], p.name...) }
