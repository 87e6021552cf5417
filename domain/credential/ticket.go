package credential

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// TicketLifetime is how long a service credential is good. Source: contract §7.
const TicketLifetime = 15 * time.Minute

// What may be wrong with a ticket; the words are those of the reply's "reason".
var (
	// ErrInvalidTicket is a ticket that we did not sign.
	ErrInvalidTicket = errors.New("invalid_token")
	// ErrExpiredTicket is one that we signed, too long ago.
	ErrExpiredTicket = errors.New("expired_signature")
)

// Ticket lets a service act for the holder of an API key for a few minutes.
// It names the key, so that a revoked key takes its tickets along.
type Ticket struct {
	Project uuid.UUID `json:"project_id"`
	User    uuid.UUID `json:"user_id"`
	// KeyPrefix is the key that the ticket was issued for; empty for one of a member, which is
	// always of a narrower Purpose.
	KeyPrefix string `json:"key_prefix"`
	// Purpose narrows what the key may do; Revision is the one that a hook may read.
	Purpose  string    `json:"purpose,omitempty"`
	Revision uuid.UUID `json:"revision_id,omitzero"`
	// Expires is in seconds since the epoch.
	Expires int64 `json:"exp"`
}

const ticketHeader = `{"alg":"HS256","typ":"JWT"}`

// Sign writes the ticket as a JWT (RFC 7519) with HS256.
func (t Ticket) Sign(secret []byte) (string, error) {
	claims, err := json.Marshal(t)
	if err != nil {
		return "", fmt.Errorf("credential: encoding a ticket: %w", err)
	}
	body := encode([]byte(ticketHeader)) + "." + encode(claims)
	return body + "." + encode(signature(body, secret)), nil
}

// ParseTicket reads a JWT that Sign made with the same secret. Any other
// algorithm is refused: the header is compared, not obeyed.
func ParseTicket(s string, secret []byte, now time.Time) (Ticket, error) {
	i := strings.LastIndexByte(s, '.')
	if i < 0 {
		return Ticket{}, ErrInvalidTicket
	}
	body := s[:i]
	sum, err := base64.RawURLEncoding.DecodeString(s[i+1:])
	if err != nil || !hmac.Equal(sum, signature(body, secret)) {
		return Ticket{}, ErrInvalidTicket
	}
	header, payload, ok := strings.Cut(body, ".")
	if !ok || header != encode([]byte(ticketHeader)) {
		return Ticket{}, ErrInvalidTicket
	}
	claims, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		return Ticket{}, ErrInvalidTicket
	}
	var t Ticket
	if err := json.Unmarshal(claims, &t); err != nil {
		return Ticket{}, ErrInvalidTicket
	}
	if now.Unix() >= t.Expires {
		return Ticket{}, ErrExpiredTicket
	}
	return t, nil
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func signature(body string, secret []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(body))
	return mac.Sum(nil)
}
