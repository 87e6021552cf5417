// Package credential is what an API key and a short-lived service credential
// look like: how they are made, read and compared. Here: forms, digests,
// signatures. Not here: who holds one (read/access) and who makes one
// (write/registry/accounts); nothing in this package knows a store or a clock.
package credential

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
)

const (
	prefixLen = 8
	secretLen = 64
	alphabet  = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
)

// Key is an API key: a prefix that may be shown, and a secret that is shown
// once. Its text form is the two joined by a dot. Source: contract §7.
type Key struct {
	// Prefix is 8 alphanumerics; it names the key in lists and logs.
	Prefix string
	secret string
}

// NewKey makes a key from the reader's randomness; crypto/rand.Reader in production.
func NewKey(random io.Reader) (Key, error) {
	secret := make([]byte, secretLen/2)
	if _, err := io.ReadFull(random, secret); err != nil {
		return Key{}, fmt.Errorf("credential: reading randomness: %w", err)
	}
	prefix := make([]byte, 0, prefixLen)
	one := make([]byte, 1)
	for len(prefix) < prefixLen {
		if _, err := io.ReadFull(random, one); err != nil {
			return Key{}, fmt.Errorf("credential: reading randomness: %w", err)
		}
		// Bytes beyond the last whole multiple are drawn again: each letter is equally likely.
		if int(one[0]) < 256-256%len(alphabet) {
			prefix = append(prefix, alphabet[int(one[0])%len(alphabet)])
		}
	}
	return Key{Prefix: string(prefix), secret: hex.EncodeToString(secret)}, nil
}

// ParseKey reads the text form; false for anything that is not one.
func ParseKey(s string) (Key, bool) {
	prefix, secret, ok := strings.Cut(s, ".")
	if !ok || len(prefix) != prefixLen || len(secret) != secretLen {
		return Key{}, false
	}
	for i := range len(prefix) {
		if strings.IndexByte(alphabet, prefix[i]) < 0 {
			return Key{}, false
		}
	}
	if _, err := hex.DecodeString(secret); err != nil {
		return Key{}, false
	}
	return Key{Prefix: prefix, secret: strings.ToLower(secret)}, true
}

// Reveal is the key as its owner keeps it. Never log it.
func (k Key) Reveal() string { return k.Prefix + "." + k.secret }

// String shows the prefix alone, so that a key printed by mistake tells no secret.
func (k Key) String() string { return k.Prefix + ".***" }

// GoString is String: "%#v" tells no more than "%v".
func (k Key) GoString() string { return k.String() }

// Digest is the SHA-256 of the secret, the only form that is stored.
func (k Key) Digest() []byte {
	d := sha256.Sum256([]byte(k.secret))
	return d[:]
}

// Matches compares with a stored digest in a time that does not depend on where they differ.
func (k Key) Matches(digest []byte) bool {
	return subtle.ConstantTimeCompare(k.Digest(), digest) == 1
}

// Random is the source that production passes to NewKey.
func Random() io.Reader { return rand.Reader }
