package server_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"colonnade/cmd/internal/server"
	"colonnade/domain"
	"colonnade/domain/credential"
)

// encrypted returns a token as the fixture's service sends it.
func encrypted(t *testing.T, plain string) string {
	t.Helper()
	token, err := domain.ParseToken(plain)
	require.NoError(t, err)
	p, err := credential.NewPositions([]byte(tokenKey))
	require.NoError(t, err)
	text, err := p.Encrypt(credential.Random(), token)
	require.NoError(t, err)
	return text
}

func decrypted(t *testing.T, text string) string {
	t.Helper()
	p, err := credential.NewPositions([]byte(tokenKey))
	require.NoError(t, err)
	token, err := p.Decrypt(text)
	require.NoError(t, err)
	return token.String()
}

// Handlers see positions, clients see none.
func TestTokensAreEncrypted(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	post := func(path string, answer func(*gin.Context) error) {
		s.Handle(domain.Operation{Method: http.MethodPost, Path: path, Permission: domain.EditSpans}, answer)
	}
	post("/body", func(c *gin.Context) error {
		c.Header(domain.TokenHeader, "0:5,1:2")
		c.JSON(http.StatusAccepted, gin.H{"seen": c.GetHeader(domain.TokenHeader)})
		return nil
	})
	post("/none", func(c *gin.Context) error {
		c.Header(domain.TokenHeader, "0:5,1:2")
		c.Status(http.StatusNoContent)
		return nil
	})
	post("/pending", func(c *gin.Context) error {
		c.Header(domain.TokenHeader+"-Pending", "1:2")
		c.String(http.StatusOK, "text")
		return nil
	})
	post("/stream", func(c *gin.Context) error {
		c.Header("Trailer", domain.TokenHeader)
		c.String(http.StatusOK, "first")
		c.Writer.Flush()
		c.Header(domain.TokenHeader, "0:5,1:2")
		return nil
	})
	for _, path := range []string{"/body", "/none"} {
		reply := s.do(http.MethodPost, path, "ApiKey editor", nil).Header().Get(domain.TokenHeader)
		require.NotContains(t, reply, ":")
		require.Equal(t, "0:5,1:2", decrypted(t, reply), path)
	}
	require.Equal(t, "1:2", decrypted(t, s.do(http.MethodPost, "/pending", "ApiKey editor", nil).Header().Get(domain.TokenHeader+"-Pending")))

	// Tokens are sent together, and a write answers with the token of all.
	w := s.do(http.MethodPost, "/body", "ApiKey editor", nil, domain.TokenHeader, encrypted(t, "0:7,3:1")+", "+encrypted(t, "0:6,2:2"))
	require.JSONEq(t, `{"seen":"0:7,2:2,3:1"}`, w.Body.String())
	require.Equal(t, "0:7,1:2,2:2,3:1", decrypted(t, w.Header().Get(domain.TokenHeader)))

	// Positions that a client makes up would tell it by the answer how far the log is.
	for _, in := range []string{"0:5", "0:0", "soon"} {
		w := s.do(http.MethodPost, "/body", "ApiKey editor", nil, domain.TokenHeader, in)
		require.Equal(t, http.StatusBadRequest, w.Code, in)
	}

	live := httptest.NewServer(s.Handler())
	defer live.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, live.URL+"/stream", nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "ApiKey editor")
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	_, err = io.ReadAll(res.Body)
	require.NoError(t, errors.Join(err, res.Body.Close()))
	require.Equal(t, "0:5,1:2", decrypted(t, res.Trailer.Get(domain.TokenHeader)))
}

// A write whose token cannot be encrypted is done all the same; a token that cannot be read is
// no reason to answer with what may be old.
func TestTokensWithoutTheirKey(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(_ *server.Config, d *server.Deps) {
		d.Tokens = func(context.Context) (credential.Positions, error) {
			return credential.Positions{}, domain.E(domain.Unavailable, "away")
		}
	})
	s.Handle(domain.Operation{Method: http.MethodPost, Path: "/write", Permission: domain.EditSpans}, func(c *gin.Context) error {
		c.Header(domain.TokenHeader, "0:5")
		c.Status(http.StatusAccepted)
		return nil
	})
	w := s.do(http.MethodPost, "/write", "ApiKey editor", nil)
	require.Equal(t, http.StatusAccepted, w.Code)
	require.Empty(t, w.Header().Get(domain.TokenHeader))
	require.Equal(t, http.StatusServiceUnavailable, s.do(http.MethodPost, "/write", "ApiKey editor", nil, domain.TokenHeader, encrypted(t, "0:5")).Code)
}
