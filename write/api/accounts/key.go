package accounts

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
	"colonnade/domain/request"
	"colonnade/write/api"
	"colonnade/write/registry/accounts"
)

// MountKeys mounts making and revoking API keys. Source: contract §7.
func MountKeys(r api.Router, commands *accounts.Registry) {
	k := keys{registry: commands}
	r.Handle(domain.Operation{
		Method: http.MethodPost, Path: "/keys/", Permission: domain.EditKeys, Tag: "keys", Lazy: true,
		Summary: "Make an API key for the caller in this project; the reply shows it, once.", Request: keyRequest{}, Response: "",
	}, k.create)
	r.Handle(domain.Operation{
		Method: http.MethodDelete, Path: "/keys/:key_prefix", Permission: domain.EditKeys, Tag: "keys",
		Summary: "Revoke an API key of this project, of at most the caller's role.", Response: keyRevoked{},
	}, k.revoke)
	r.Handle(domain.Operation{
		Method: http.MethodPost, Path: "/keys/:key_prefix/rotate", Permission: domain.EditKeys, Tag: "keys", Lazy: true,
		Summary: "Make a key with the name, role and purpose of another one, which ends after overlap_seconds (default 86400). The reply shows the new key, once.",
		Request: keyRotation{}, Response: keyRotated{},
	}, k.rotate)
}

// keyRequest and keyRevoked are the bodies of the two, for the document; keyRequest is read member by member.
type (
	keyRequest struct {
		Name      string    `json:"name"`
		Role      string    `json:"role"`
		Purpose   string    `json:"purpose"`
		ExpiresAt time.Time `json:"expires_at"`
	}
	keyRotation struct {
		OverlapSeconds int `json:"overlap_seconds" minimum:"0" maximum:"2592000"`
	}
	keyRotated struct {
		Key string `json:"key"`
		// Previous is the prefix of the old key, which works until PreviousEndsAt.
		Previous       string    `json:"previous"`
		PreviousEndsAt time.Time `json:"previous_ends_at"`
	}
	keyRevoked struct {
		Message string `json:"message"`
	}
)

type keys struct{ registry *accounts.Registry }

func (k keys) create(c *gin.Context) error {
	caller := domain.PrincipalFrom(c.Request.Context())
	q := accounts.KeyRequest{Project: caller.Project, User: caller.User}
	raw, err := io.ReadAll(c.Request.Body)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(raw)) > 0 {
		body, err := request.ParseObject(raw)
		if err != nil {
			return err
		}
		q.Name = body.String("name")
		q.Role = body.Enum("role", domain.RoleOwner, domain.RoleAdmin, domain.RoleDeveloper, domain.RoleEditor, domain.RoleAnnotator, domain.RoleViewer)
		q.Purpose = domain.Purpose(body.Enum("purpose", domain.Purposes()...))
		if expires := body.Time("expires_at"); !expires.IsZero() {
			q.ExpiresAt = &expires
		}
		body.FailUnknown()
		if err := body.Err(); err != nil {
			return err
		}
	}
	// A key never holds more than the credential that made it, nor for longer.
	if q.Role == "" || domain.LesserRole(caller.Role, q.Role) != q.Role {
		q.Role = caller.Role
	}
	if end := caller.Expires; !end.IsZero() && (q.ExpiresAt == nil || q.ExpiresAt.After(end)) {
		q.ExpiresAt = &end
	}
	key, err := k.registry.CreateKey(c.Request.Context(), q)
	if err != nil {
		return err
	}
	domain.NoteTarget(c.Request.Context(), "key", map[string]any{"key_prefix": key.Prefix, "name": q.Name, "role": q.Role, "purpose": q.Purpose})
	c.JSON(http.StatusOK, key.Reveal())
	return nil
}

func (k keys) revoke(c *gin.Context) error {
	caller := domain.PrincipalFrom(c.Request.Context())
	if err := k.registry.RevokeKey(c.Request.Context(), caller, c.Param("key_prefix")); err != nil {
		return err
	}
	c.JSON(http.StatusOK, keyRevoked{Message: "API key deleted successfully"})
	return nil
}

// defaultOverlap is long enough to bring the new key to all clients in a working day.
const defaultOverlap = 24 * time.Hour

func (k keys) rotate(c *gin.Context) error {
	overlap := defaultOverlap
	raw, err := io.ReadAll(c.Request.Body)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(raw)) > 0 {
		body, err := request.ParseObject(raw)
		if err != nil {
			return err
		}
		if seconds := body.Int("overlap_seconds", 0); seconds != nil {
			if *seconds > int(accounts.MaxOverlap.Seconds()) {
				body.Fail("less_than_equal", fmt.Sprintf("Input should be less than or equal to %d", int(accounts.MaxOverlap.Seconds())), *seconds, "overlap_seconds")
			}
			overlap = time.Duration(*seconds) * time.Second
		}
		body.FailUnknown()
		if err := body.Err(); err != nil {
			return err
		}
	}
	prefix := c.Param("key_prefix")
	key, ends, err := k.registry.RotateKey(c.Request.Context(), domain.PrincipalFrom(c.Request.Context()), prefix, overlap)
	if err != nil {
		return err
	}
	domain.NoteTarget(c.Request.Context(), "key", map[string]any{"key_prefix": key.Prefix})
	c.JSON(http.StatusOK, keyRotated{Key: key.Reveal(), Previous: prefix, PreviousEndsAt: ends})
	return nil
}
