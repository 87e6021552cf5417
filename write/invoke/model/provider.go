package model

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"colonnade/domain"
	"colonnade/write/invoke/handler"
)

// Config says which models there are and how long they may take.
type Config struct {
	// Providers is the table of OpenAI-compatible services, each as
	// name=base URL. A model is called "name/model". The key of a provider is
	// the project's secret of that name, or the variable NAME_API_KEY of the
	// service's environment; NAME_BASE_URL there moves a provider of the table.
	Providers []string
	// Default is the provider of models that name none.
	Default string
	// Timeout bounds one call to a model, a streamed one from first to last byte.
	Timeout time.Duration
	// MaxReplyBytes bounds what a model may answer.
	MaxReplyBytes int64

	// Keys and BaseURLs are by provider, from the service's environment: see FromEnvironment.
	Keys, BaseURLs map[string]string
}

const defaultProvider = "openai"

// DefaultConfig returns the settings of an unconfigured service: the well-known providers,
// and no keys.
func DefaultConfig() Config {
	return Config{
		Providers: []string{
			"openai=https://api.openai.com/v1",
			"anthropic=https://api.anthropic.com/v1",
			"gemini=https://generativelanguage.googleapis.com/v1beta/openai",
			"mistral=https://api.mistral.ai/v1",
			"groq=https://api.groq.com/openai/v1",
			"deepseek=https://api.deepseek.com/v1",
			"openrouter=https://openrouter.ai/api/v1",
			"together_ai=https://api.together.xyz/v1",
			"perplexity=https://api.perplexity.ai",
		},
		Default: defaultProvider, Timeout: 2 * time.Minute, MaxReplyBytes: 16 << 20,
	}
}

// FromEnvironment takes keys and addresses of the providers in the table out
// of variables such as OPENAI_API_KEY and OPENAI_BASE_URL.
func (m *Config) FromEnvironment(environ []string) {
	variables := map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		variables[name] = strings.TrimSpace(value)
	}
	m.Keys, m.BaseURLs = map[string]string{}, map[string]string{}
	for _, entry := range m.Providers {
		name, _, _ := strings.Cut(entry, "=")
		word := strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		if key := variables[word+"_API_KEY"]; key != "" {
			m.Keys[name] = key
		}
		if address := variables[word+"_BASE_URL"]; address != "" {
			m.BaseURLs[name] = address
		}
	}
}

// Validate returns an error that names every field that cannot work.
func (m Config) Validate() error {
	var errs []error
	for _, entry := range m.Providers {
		name, address, _ := strings.Cut(entry, "=")
		if given := m.BaseURLs[name]; given != "" {
			address = given
		}
		u, err := url.Parse(address)
		if name == "" || strings.ContainsAny(name, "/ ") || err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			errs = append(errs, fmt.Errorf("providers: %q is not name=base URL", entry))
		}
	}
	if _, ok := m.address(m.Default); !ok {
		errs = append(errs, fmt.Errorf("default: %q is no provider of the table", m.Default))
	}
	if m.Timeout <= 0 || m.MaxReplyBytes <= 0 {
		errs = append(errs, errors.New("timeout, max_reply_bytes: must be positive"))
	}
	return errors.Join(errs...)
}

// address is the base URL of a provider in the table.
func (m Config) address(provider string) (string, bool) {
	at := slices.IndexFunc(m.Providers, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return name == provider
	})
	if at < 0 {
		return "", false
	}
	if given := m.BaseURLs[provider]; given != "" {
		return given, true
	}
	_, address, _ := strings.Cut(m.Providers[at], "=")
	return address, true
}

// Has reports whether the table has a provider.
func (m Config) Has(provider string) bool {
	_, ok := m.address(provider)
	return ok
}

// split takes the provider off a model's name; what is in front of the first
// slash is one only if the table has it.
func (m Config) split(model string) (provider, name string) {
	if before, after, ok := strings.Cut(model, "/"); ok {
		if _, known := m.address(before); known {
			return before, after
		}
	}
	return m.Default, model
}

// client is shared by all calls: its connections are kept. A call is bounded
// by its context, not by the client.
func (m Config) client() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			ForceAttemptHTTP2:   true,
			MaxIdleConns:        512,
			MaxIdleConnsPerHost: 256,
			IdleConnTimeout:     90 * time.Second,
			TLSHandshakeTimeout: 10 * time.Second,
			ReadBufferSize:      4 << 10,
			WriteBufferSize:     4 << 10,
		},
		// A provider that redirects would get the key sent elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// credentials are the address and the key of the provider for this call.
func (i *Client) credentials(ctx context.Context, c *handler.Call, provider string) (address, key string, err error) {
	address, ok := i.cfg.address(provider)
	if !ok {
		return "", "", handler.Fail(domain.Rejected, handler.InvalidParameter, "There is no provider %q.", provider)
	}
	if key = c.Secrets[provider]; key != "" {
		c.Redactor.Add(key)
		return address, key, nil
	}
	stored, ok, err := i.secret.Of(ctx, c, provider)
	if err != nil {
		return "", "", err
	}
	if ok {
		return address, stored.Value, nil
	}
	if key = i.cfg.Keys[provider]; key != "" {
		c.Redactor.Add(key)
		return address, key, nil
	}
	return "", "", &domain.Error{
		Kind:    domain.Rejected,
		Message: fmt.Sprintf("No API key found for provider %q. Store one as a secret of the project, or set %s_API_KEY for the service.", provider, strings.ToUpper(provider)),
		Err:     &callError{problem: handler.InvalidSecrets, category: categoryAccess},
	}
}
