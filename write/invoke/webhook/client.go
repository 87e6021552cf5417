// Package webhook holds the handlers that call an address of the user's choice: hook,
// which passes a request on to the URL of a revision, and auto_webhook_test, which
// lets that address judge outputs. Requests are signed (webhook.go); secrets of the
// project are sent to the hosts that they name (header.go); private
// networks are refused at the moment of connecting, after names are resolved
// (dial.go). write/invoke runs the handlers.
package webhook

import (
	"net/http"
	"time"

	"colonnade/write/invoke/handler"
)

// Client calls webhooks. It is safe for concurrent use.
type Client struct {
	cfg      Config
	http     *http.Client
	secret   handler.Secret
	provider func(name string) bool
	now      func() time.Time
}

// New returns a client. provider reports whether a secret of this name is the key of a
// provider of models, which no header may hold.
func New(cfg Config, secret handler.Secret, provider func(name string) bool, now func() time.Time) *Client {
	return &Client{cfg: cfg, http: cfg.client(), secret: secret, provider: provider, now: now}
}

// Handlers returns the handlers by key and version.
func (i *Client) Handlers() map[string]handler.Handler {
	return map[string]handler.Handler{"hook:v0": i.hook, "auto_webhook_test:v0": i.webhook}
}

// Close closes idle connections.
func (i *Client) Close() { i.http.CloseIdleConnections() }
