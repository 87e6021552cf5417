// Package api holds what the packages of HTTP endpoints below it share: the
// Router they mount operations on, the memory budget of request bodies, the
// decoding of ids, bodies, references and links, and the replies of one shape.
// Endpoints themselves are in the packages spans, simpletraces, entities,
// evaluations, accounts and invoke; each mounts its operations on the router of
// cmd/internal/server, which authenticates the caller, checks permissions and
// renders the errors that handlers return.
package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
	"colonnade/write/ingest"
)

// Router mounts handlers; cmd/internal/server implements it.
type Router interface {
	Handle(op domain.Operation, h func(*gin.Context) error)
}

// Caller returns the principal of the request; its project is that of the credential.
func Caller(c *gin.Context) domain.Principal { return domain.PrincipalFrom(c.Request.Context()) }

// Reply writes 200 with a count and one record under member; a nil record is a count of zero.
func Reply(c *gin.Context, member string, record map[string]any) error {
	if record == nil {
		c.PureJSON(http.StatusOK, gin.H{"count": 0})
		return nil
	}
	named := map[string]any{}
	for _, name := range []string{"id", "slug", "version"} {
		if value, ok := record[name]; ok {
			named[name] = value
		}
	}
	domain.NoteTarget(c.Request.Context(), member, named)
	c.PureJSON(http.StatusOK, gin.H{"count": 1, member: record})
	return nil
}

// InvocationStatus is the status of one invocation within a reply. Source: contract §6.
type InvocationStatus struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Type    string `json:"type,omitempty"`
}

// SetToken sets the header from which a later read learns which writes it must
// wait for; a receipt without a token sets nothing. Source: contract §1.
func SetToken(c *gin.Context, receipt ingest.Receipt) {
	if token := receipt.Token.String(); token != "" {
		c.Header(domain.TokenHeader, token)
	}
}

// Outline returns the spans of the turn's trace as they are stored, after the
// writes named by the caller's token header are visible.
func Outline(c *gin.Context, turn *ingest.Turn) (*ingest.Outline, error) {
	token, err := domain.ParseToken(c.GetHeader(domain.TokenHeader))
	if err != nil {
		return nil, err
	}
	return turn.Outline(c.Request.Context(), token)
}
