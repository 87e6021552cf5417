package credential

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
)

const tokenBytes = 32

// Token is the secret of a browser session or of a one-time link: 256 random bits.
type Token struct{ secret string }

// NewToken creates a token from the reader's randomness; crypto/rand.Reader in production.
func NewToken(random io.Reader) (Token, error) {
	secret := make([]byte, tokenBytes)
	if _, err := io.ReadFull(random, secret); err != nil {
		return Token{}, fmt.Errorf("credential: reading randomness: %w", err)
	}
	return Token{base64.RawURLEncoding.EncodeToString(secret)}, nil
}

// ParseToken parses the text form; it returns false for any other text.
func ParseToken(s string) (Token, bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(s)
	return Token{s}, err == nil && len(raw) == tokenBytes
}

// Reveal returns the token as its holder keeps it. Never log it.
func (t Token) Reveal() string { return t.secret }

// String hides the token, so that one printed by mistake tells no secret.
func (t Token) String() string { return "***" }

// GoString is String: "%#v" tells no more than "%v".
func (t Token) GoString() string { return t.String() }

// Digest returns the SHA-256 of the token, the only form that is stored.
func (t Token) Digest() []byte {
	d := sha256.Sum256([]byte(t.secret))
	return d[:]
}
