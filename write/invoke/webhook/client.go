// Package webhook holds the handlers that call an address of the user's choice: hook,
// which passes a request on to the URL of a revision, and auto_webhook_test, which
// lets that address judge outputs. Requests are signed (webhook.go); secrets of the
// project are sent to the hosts that they name (header.go); private
// networks are refused at the moment of connecting, after names are resolved
// (dial.go). write/invoke runs the handlers.
package webhook

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/write/invoke/handler"
)

// Client calls webhooks. It is safe for concurrent use.
type Client struct {
	cfg  Config
	http *http.Client
	deps Deps
}

// Deps are what a client calls.
type Deps struct {
	Secret handler.Secret
	// Provider reports whether a secret of this name is the key of a provider of models, which
	// no header may hold.
	Provider func(name string) bool
	Tickets  Tickets
	Now      func() time.Time
}

// Tickets are the credentials of hooks. With the zero Tickets no hook gets one.
type Tickets struct {
	// Hosts get a ticket with the call; each is a host, with or without a port.
	Hosts []string
	// Sign returns the Authorization header with which a hook may add spans and read the revision
	// for the caller, for some minutes; empty where the service signs no tickets.
	Sign func(caller domain.Principal, revision uuid.UUID) (string, error)
}

func (t Tickets) covers(u *url.URL) bool {
	return t.Sign != nil && slices.ContainsFunc(t.Hosts, func(host string) bool {
		return strings.EqualFold(host, u.Host) || strings.EqualFold(host, u.Hostname())
	})
}

// New returns a client.
func New(cfg Config, deps Deps) *Client { return &Client{cfg: cfg, http: cfg.client(), deps: deps} }

// Handlers returns the handlers by key and version.
func (i *Client) Handlers() map[string]handler.Handler {
	return map[string]handler.Handler{"hook:v0": i.hook, "auto_webhook_test:v0": i.webhook}
}

// Close closes idle connections.
func (i *Client) Close() { i.http.CloseIdleConnections() }
