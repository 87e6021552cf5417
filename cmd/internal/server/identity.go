package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"maps"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"colonnade/domain"
)

// identify finds out who calls and whether they may, and puts them into the
// context. Source: contract §7, §10.
func (s *Server) identify(r *http.Request, reply http.Header, op domain.Operation) (context.Context, error) {
	ctx, permission := r.Context(), op.Permission
	switch permission {
	case domain.Public:
		return ctx, nil
	case domain.Admin:
		return ctx, s.checkAdmin(r.Header.Get("Authorization"))
	default:
	}
	// A key fixes the project; the parameter is ignored but for the two
	// spellings of "none", which clients send by mistake (contract §7).
	if project := r.URL.Query().Get("project_id"); project == "null" || project == uuid.Nil.String() {
		return nil, domain.E(domain.Unauthenticated, "Unauthorized")
	}
	principal, err := s.authenticate(r)
	if s.deps.RateHeaders != nil && principal.KeyPrefix != "" {
		maps.Copy(reply, s.deps.RateHeaders(principal.KeyPrefix))
	}
	if err != nil {
		return nil, err
	}
	if permission != domain.Authenticated && !s.deps.Allows(principal.Role, permission) {
		return nil, domain.E(domain.Forbidden, domain.NoAccess)
	}
	if !principal.Purpose.Allows(permission) && (!op.Hook || principal.Purpose != domain.PurposeHook) {
		return nil, principal.Check(permission)
	}
	if s.deps.Read != nil && strings.HasPrefix(string(permission), "view_") {
		if err := s.deps.Read(principal.Project); err != nil {
			return nil, err
		}
	}
	return domain.WithPrincipal(ctx, principal), nil
}

func (s *Server) checkAdmin(authorization string) error {
	if s.deps.AuthKey == "" {
		return errNoRoute
	}
	key, ok := strings.CutPrefix(authorization, "Access ")
	// Hashing makes the lengths equal, so that the comparison's time tells nothing.
	got, want := sha256.Sum256([]byte(strings.TrimSpace(key))), sha256.Sum256([]byte(s.deps.AuthKey))
	if !ok || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
		return domain.E(domain.Unauthenticated, "Unauthorized")
	}
	return nil
}
