package accounts

import (
	"io"
	"net/http"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
	"colonnade/domain/request"
	"colonnade/write/api"
	"colonnade/write/secrets"
)

// MountSecrets mounts the commands on what a project lends to its invocations.
func MountSecrets(r api.Router, v *secrets.Vault) {
	s := secretRoutes{vault: v}
	op := domain.Operation{Permission: domain.EditSecrets, Tag: "secrets", Path: "/secrets/:name"}
	op.Method, op.Request, op.Response = http.MethodPut, secretRequest{}, secretReply{}
	op.Summary = "Store a secret: a provider's key under the provider's name, the key that signs requests under \"hook\", values of headers with the hosts that may receive them."
	r.Handle(op, s.put)
	op.Method, op.Request, op.Response = http.MethodDelete, nil, secretCount{}
	op.Summary = "Delete a secret."
	r.Handle(op, s.remove)
}

type secretRoutes struct{ vault *secrets.Vault }

type secretRequest struct {
	Secret struct {
		Value       string `json:"value" request:"required"`
		Description string `json:"description"`
		// Hosts may receive the value in a header of a webhook, each as host or host:port; without
		// a port it is 443.
		Hosts []string `json:"hosts"`
	} `json:"secret" request:"required"`
}

// secretReply describes a stored secret without its value, which no route returns.
type secretReply struct {
	Count  int            `json:"count"`
	Secret secrets.Stored `json:"secret"`
}

type secretCount struct {
	Count int `json:"count"`
}

func (s secretRoutes) put(c *gin.Context) error {
	data, err := io.ReadAll(c.Request.Body)
	if err != nil {
		return err
	}
	var b secretRequest
	if err := request.Decode(data, &b); err != nil {
		return hidden(err)
	}
	stored, err := s.vault.Put(c.Request.Context(), api.Caller(c), secrets.Secret{
		Name: c.Param("name"), Description: b.Secret.Description, Value: b.Secret.Value, Hosts: b.Secret.Hosts,
	})
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, secretReply{Count: 1, Secret: stored})
	return nil
}

func (s secretRoutes) remove(c *gin.Context) error {
	found, err := s.vault.Delete(c.Request.Context(), api.Caller(c), c.Param("name"))
	if err != nil {
		return err
	}
	count := 0
	if found {
		count = 1
	}
	c.PureJSON(http.StatusOK, secretCount{Count: count})
	return nil
}

// hidden leaves what was sent out of the error about it: it may be a secret,
// and replies are logged on their way.
func hidden(err error) error {
	e, ok := err.(*domain.Error) //nolint:errorlint // request.Decode gives it unwrapped
	if !ok {
		return err
	}
	for n := range e.Fields {
		e.Fields[n].Input = nil
	}
	return e
}
