// Package model holds the handlers that call a language model: completion, chat, llm
// and auto_ai_critique. It reads the prompt of a revision (prompt.go), fills its
// templates, calls the provider through its OpenAI-compatible API (model.go,
// provider.go), whole or streamed, retries and falls back by the policies of the
// prompt (failure.go), and records each call as a span. Embeddings for evaluators
// are here too. write/invoke runs the handlers.
package model

import (
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"colonnade/write/invoke/handler"
	"colonnade/write/invoke/sandbox"
)

// Client calls models. It is safe for concurrent use.
type Client struct {
	cfg     Config
	sandbox *sandbox.Sandbox
	secret  handler.Secret
	http    *http.Client
	calls   *prometheus.CounterVec
}

// New returns a client; templates are rendered by the sandbox.
func New(cfg Config, templates *sandbox.Sandbox, secret handler.Secret, reg prometheus.Registerer) (*Client, error) {
	i := &Client{cfg: cfg, sandbox: templates, secret: secret, http: cfg.client(), calls: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "colonnade_invoke_model_calls_total", Help: "Requests to model providers, by provider and outcome.",
	}, []string{"provider", "outcome"})}
	if err := reg.Register(i.calls); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	return i, nil
}

// Handlers returns the handlers by key and version.
func (i *Client) Handlers() map[string]handler.Handler {
	return map[string]handler.Handler{
		"completion:v0":       i.completion,
		"chat:v0":             i.chat,
		"llm:v0":              i.llm,
		"auto_ai_critique:v0": i.critique,
	}
}

// Close closes idle connections.
func (i *Client) Close() { i.http.CloseIdleConnections() }
