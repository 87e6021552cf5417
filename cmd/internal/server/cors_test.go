package server_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/cmd/internal/server"
	"colonnade/domain"
)

// pages has routes of each kind, and keys that are the names of their purposes.
func pages(t *testing.T, origins []string, reads bool) fixture {
	t.Helper()
	s := newServer(t, func(cfg *server.Config, deps *server.Deps) {
		cfg.CORSOrigins, cfg.CORSReads = origins, reads
		deps.PublicURL = "https://traces.example.com"
		deps.Authenticate = func(_ context.Context, header string) (domain.Principal, error) {
			purpose, ok := strings.CutPrefix(header, "ApiKey ")
			if !ok {
				return domain.Principal{}, domain.E(domain.Unauthenticated, "Unauthorized")
			}
			return domain.Principal{Project: domain.ProjectID(uuid.Max), Role: "owner", Purpose: domain.Purpose(purpose)}, nil
		}
	})
	s.Handle(domain.Operation{Method: http.MethodPost, Path: "/v1/traces", Permission: domain.AddSpans}, says("taken"))
	s.Handle(domain.Operation{Method: http.MethodPost, Path: "/spans/query", Permission: domain.ViewSpans}, says("spans"))
	s.Handle(get("/traces/:id", domain.ViewSpans), says("trace"))
	s.Handle(get("/keys/", domain.ViewKeys), says("keys"))
	return s
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	const app = "https://app.example.com"
	tests := []struct {
		name, origin, method, path string
		origins                    []string
		reads                      bool
		status                     int
	}{
		{"nothing configured", app, "POST", "/v1/traces", nil, false, 405},
		{"another origin", "https://evil.example.com", "POST", "/v1/traces", []string{app}, false, 405},
		{"ingest", app, "POST", "/v1/traces", []string{app}, false, 204},
		{"ingest below /api", app, "POST", "/api/v1/traces/", []string{app}, false, 204},
		{"every page", "http://localhost:3000", "POST", "/v1/traces", []string{"*"}, false, 204},
		{"no read", app, "POST", "/spans/query", []string{app}, false, 405},
		{"no read with a parameter", app, "GET", "/traces/1", []string{app}, false, 405},
		{"reads", app, "POST", "/spans/query", []string{app}, true, 204},
		{"reads with a parameter", app, "GET", "/traces/1", []string{app}, true, 204},
		{"keys are never read", app, "GET", "/keys", []string{app}, true, 405},
		{"another method", app, "DELETE", "/v1/traces", []string{app}, true, 405},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := pages(t, tt.origins, tt.reads)
			w := s.do(http.MethodOptions, tt.path, "", nil, "Origin", tt.origin, "Access-Control-Request-Method", tt.method, "Access-Control-Request-Headers", "authorization,content-type")
			require.Equal(t, tt.status, w.Code)
			if tt.status != http.StatusNoContent {
				require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"))
				return
			}
			require.Empty(t, w.Body.String())
			require.Equal(t, tt.origin, w.Header().Get("Access-Control-Allow-Origin"))
			require.Equal(t, tt.method, w.Header().Get("Access-Control-Allow-Methods"))
			require.Equal(t, "authorization,content-type", w.Header().Get("Access-Control-Allow-Headers"))
			require.Equal(t, "Origin", w.Header().Get("Vary"))
			require.Empty(t, w.Header().Get("Access-Control-Allow-Credentials"))
		})
	}
}

func TestPagesOfOtherOrigins(t *testing.T) {
	t.Parallel()
	const app = "https://app.example.com"
	tests := []struct {
		name, origin, method, path, credential string
		reads                                  bool
		status                                 int
		shown                                  bool
	}{
		{"ingest by a key for it", app, "POST", "/v1/traces", "ApiKey ingest", false, 200, true},
		{"a key that can do everything", app, "POST", "/v1/traces", "ApiKey full", false, 403, true},
		{"no key", app, "POST", "/v1/traces", "", false, 401, true},
		{"no such route", app, "POST", "/no/such", "ApiKey ingest", false, 404, true},
		{"reads are off", app, "POST", "/spans/query", "ApiKey read", false, 200, false},
		{"reads by a key for it", app, "POST", "/spans/query", "ApiKey read", true, 200, true},
		{"reads by a key for ingest", app, "GET", "/traces/1", "ApiKey ingest", true, 403, true},
		{"another origin", "https://evil.example.com", "POST", "/v1/traces", "ApiKey full", false, 200, false},
		{"a program", "", "POST", "/v1/traces", "ApiKey full", false, 200, false},
		{"the console itself", "http://example.com", "POST", "/spans/query", "ApiKey full", true, 200, false},
		{"the console behind a proxy", "https://traces.example.com", "POST", "/spans/query", "ApiKey full", true, 200, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := pages(t, []string{app, "http://example.com", "https://traces.example.com"}, tt.reads)
			w := s.do(tt.method, tt.path, tt.credential, nil, "Origin", tt.origin)
			require.Equal(t, tt.status, w.Code, w.Body)
			require.Contains(t, w.Header().Values("Vary"), "Origin")
			if !tt.shown {
				require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"))
				return
			}
			require.Equal(t, app, w.Header().Get("Access-Control-Allow-Origin"))
			require.Equal(t, domain.TokenHeader, w.Header().Get("Access-Control-Expose-Headers"))
			require.Empty(t, w.Header().Get("Access-Control-Allow-Credentials"))
		})
	}
}

func TestOriginsAreOrigins(t *testing.T) {
	t.Parallel()
	for origin, valid := range map[string]bool{
		"https://app.example.com": true, "http://localhost:3000": true, "*": true,
		"app.example.com": false, "https://app.example.com/": false, "https://*.example.com/x": false, "": false, "null": false, "file://x": false,
	} {
		cfg := server.DefaultConfig()
		cfg.CORSOrigins = []string{origin}
		require.Equal(t, valid, cfg.Validate() == nil, origin)
	}
}
