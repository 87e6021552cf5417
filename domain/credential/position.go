package credential

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"colonnade/domain"
)

// Positions encrypts the tokens of writes for clients. A token names positions of the log, and
// all projects share the log: a client that could read them would see how much others write.
type Positions struct{ key []byte }

const (
	minPositionsKey = 16
	positionsFormat = 1
	saltBytes       = 16
	// MaxTokens is how many tokens a header may hold, joined by commas.
	MaxTokens = 16
)

// NewPositions returns the cipher for the key of an installation.
func NewPositions(key []byte) (Positions, error) {
	if len(key) < minPositionsKey {
		return Positions{}, fmt.Errorf("credential: the key of tokens has %d bytes, fewer than %d", len(key), minPositionsKey)
	}
	return Positions{key}, nil
}

// aead returns the cipher of one token. Each token has a key of its own, derived with its
// salt, so that a nonce of zeros is used once: there are more tokens than random nonces of
// AES-GCM are safe for.
func (p Positions) aead(salt []byte) (cipher.AEAD, []byte, error) {
	key, err := hkdf.Key(sha256.New, p.key, salt, "colonnade token v1", 32)
	if err != nil {
		return nil, nil, fmt.Errorf("credential: deriving the key of a token: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, nil, fmt.Errorf("credential: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, nil, fmt.Errorf("credential: %w", err)
	}
	return aead, make([]byte, aead.NonceSize()), nil
}

// Encrypt returns the text of a token for a client; that of an empty token is empty.
func (p Positions) Encrypt(random io.Reader, t domain.Token) (string, error) {
	if len(t) == 0 {
		return "", nil
	}
	out := make([]byte, 1+saltBytes, 128)
	out[0] = positionsFormat
	if _, err := io.ReadFull(random, out[1:]); err != nil {
		return "", fmt.Errorf("credential: making a salt: %w", err)
	}
	aead, nonce, err := p.aead(out[1:])
	if err != nil {
		return "", err
	}
	var plain []byte
	for _, position := range t {
		plain = binary.AppendUvarint(plain, uint64(position.Partition)) //nolint:gosec // a partition is not negative
		plain = binary.AppendUvarint(plain, uint64(position.Offset))    //nolint:gosec // an offset is not negative
	}
	return base64.RawURLEncoding.EncodeToString(aead.Seal(out, nonce, plain, nil)), nil
}

// Decrypt returns the token of a header: the latest position of each partition that its texts
// name. Any text that this installation has not encrypted is Rejected.
func (p Positions) Decrypt(header string) (domain.Token, error) {
	if strings.TrimSpace(header) == "" {
		return nil, nil
	}
	texts := strings.Split(header, ",")
	if len(texts) > MaxTokens {
		return nil, domain.E(domain.Rejected, "%s holds more than %d tokens.", domain.TokenHeader, MaxTokens)
	}
	var t domain.Token
	for _, text := range texts {
		plain, err := p.open(strings.TrimSpace(text))
		if err != nil {
			return nil, domain.Wrap(domain.Rejected, err, "%s is no token that this installation has sent.", domain.TokenHeader)
		}
		for len(plain) > 0 {
			partition, n := binary.Uvarint(plain)
			offset, m := binary.Uvarint(plain[max(n, 0):])
			if n <= 0 || m <= 0 {
				return nil, domain.E(domain.Rejected, "%s is no token that this installation has sent.", domain.TokenHeader)
			}
			plain = plain[n+m:]
			t = t.Add(domain.Position{Partition: int32(partition), Offset: int64(offset)}) //nolint:gosec // as Encrypt has written them
		}
	}
	return t, nil
}

func (p Positions) open(text string) ([]byte, error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("credential: %w", err)
	}
	if len(raw) < 1+saltBytes || raw[0] != positionsFormat {
		return nil, fmt.Errorf("credential: a token of %d bytes and another format", len(raw))
	}
	aead, nonce, err := p.aead(raw[1 : 1+saltBytes])
	if err != nil {
		return nil, err
	}
	return aead.Open(nil, nonce, raw[1+saltBytes:], nil)
}
