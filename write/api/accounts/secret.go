package accounts

import (
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/request"
	"colonnade/write/api"
	"colonnade/write/secrets"
)

// MountSecrets mounts the endpoints of what a project lends to its invocations. The lists are
// here and not on the read side, because this side alone has the key that decrypts a value.
func MountSecrets(r api.Router, v *secrets.Vault) {
	s := secretRoutes{secrets: v}
	op := domain.Operation{Permission: domain.ViewSecrets, Tag: "secrets", Path: "/secrets/", Method: http.MethodGet}
	op.Response = []secretRecord{}
	op.Summary = "List the secrets of this project. The keys of model providers come with their values, except in a browser session: an application that runs elsewhere calls the models with them."
	r.Handle(op, s.list)
	op.Path, op.Response, op.Summary = "/secrets/:name", secretRecord{}, "One secret, by its name or id."
	r.Handle(op, s.get)
	op.Permission, op.Method, op.Path, op.Request = domain.EditSecrets, http.MethodPost, "/secrets/", secretRequest{}
	op.Summary = "Store the key of a model provider, or a text under header.name."
	r.Handle(op, s.create)
	op.Method, op.Path, op.Response = http.MethodPut, "/secrets/:name", secretReply{}
	op.Summary = "Store a secret: a provider's key under the provider's name, the key that signs requests under \"hook\", values of headers with the hosts that may receive them. A body with secret.kind is answered as by POST."
	r.Handle(op, s.put)
	op.Method, op.Request, op.Response = http.MethodDelete, nil, secretCount{}
	op.Summary = "Delete a secret, by its name or id."
	r.Handle(op, s.remove)
}

type secretRoutes struct{ secrets *secrets.Vault }

// secretRequest has two forms: a value and its description, or a kind with its data and a
// header, which the reference's clients send.
type secretRequest struct {
	Slug   string       `json:"slug"`
	Header secretHeader `json:"header"`
	Secret struct {
		Value       string `json:"value"`
		Description string `json:"description"`
		// Hosts may receive the value in a header of a webhook, each as host or host:port; without
		// a port it is 443.
		Hosts []string        `json:"hosts"`
		Kind  string          `json:"kind"`
		Data  secretDataGiven `json:"data"`
	} `json:"secret" request:"required"`
}

// secretDataGiven is secretData and what kinds have that are not supported, so that these are
// refused by their kind.
type secretDataGiven struct {
	Kind     string `json:"kind"`
	Provider struct {
		Key     string          `json:"key"`
		URL     json.RawMessage `json:"url"`
		Version json.RawMessage `json:"version"`
		Extras  json.RawMessage `json:"extras"`
	} `json:"provider"`
	Secret       secretText      `json:"secret"`
	Models       json.RawMessage `json:"models"`
	ModelKeys    json.RawMessage `json:"model_keys"`
	ProviderSlug json.RawMessage `json:"provider_slug"`
}

// secretReply describes a stored secret without its value.
type secretReply struct {
	Count  int            `json:"count"`
	Secret secrets.Stored `json:"secret"`
}

type secretCount struct {
	Count int `json:"count"`
}

type (
	secretHeader struct {
		Name        string `json:"name,omitempty"`
		Description string `json:"description,omitempty"`
	}
	// secretData holds the key of a provider or of webhooks, or a text.
	secretData struct {
		// Kind is the provider.
		Kind     string          `json:"kind,omitempty"`
		Provider *secretProvider `json:"provider,omitempty"`
		Secret   *secretText     `json:"secret,omitempty"`
	}
	secretProvider struct {
		// Key is empty where it is not shown.
		Key string `json:"key"`
	}
	secretText struct {
		Format  string `json:"format"`
		Content string `json:"content"`
	}
	secretLifecycle struct {
		CreatedAt time.Time  `json:"created_at"`
		UpdatedAt *time.Time `json:"updated_at,omitempty"`
	}
	// secretRecord is a secret as the reference's clients read it, and under our own names.
	secretRecord struct {
		ID   uuid.UUID `json:"id"`
		Slug string    `json:"slug"`
		// Kind is provider_key, webhook_provider or custom_secret.
		Kind      string          `json:"kind"`
		Data      secretData      `json:"data"`
		Header    secretHeader    `json:"header"`
		Lifecycle secretLifecycle `json:"lifecycle"`
		secrets.Stored
	}
)

// The kinds of secrets. Source: contract §0 row 59.
const (
	kindProvider = "provider_key"
	kindWebhook  = "webhook_provider"
	kindCustom   = "custom_secret"
)

// hookSecret is the name of the key that signs requests to hooks.
const hookSecret = "hook"

// isProvider reports whether a secret of the name is the key of a model provider: one of those
// that the reference's clients know, or of our own default table.
func isProvider(name string) bool {
	switch name {
	case "openai", "cohere", "anyscale", "deepinfra", "alephalpha", "groq", "minimax", "mistral", "mistralai", "anthropic",
		"perplexityai", "perplexity", "together_ai", "openrouter", "gemini", "deepseek":
		return true
	default:
		return false
	}
}

// record returns the representation of a secret. Only the key of a provider is ever shown: who
// may run applications needs it, and a key that signs proves nothing once others have it.
func record(project domain.ProjectID, s secrets.Revealed, reveal bool) secretRecord {
	out := secretRecord{
		ID: secrets.ID(project, s.Name), Slug: s.Name, Header: secretHeader{Name: s.Name, Description: s.Description},
		Lifecycle: secretLifecycle{CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt}, Stored: s.Stored,
	}
	switch {
	case isProvider(s.Name):
		out.Kind, out.Data = kindProvider, secretData{Kind: s.Name, Provider: &secretProvider{}}
		if reveal {
			out.Data.Provider.Key = s.Value
		}
	case s.Name == hookSecret:
		out.Kind, out.Data.Provider = kindWebhook, &secretProvider{}
	default:
		out.Kind, out.Data.Secret = kindCustom, &secretText{Format: "text"}
	}
	return out
}

// reveals reports whether replies to the caller hold values. A browser session never gets them:
// a page needs none, and what a page has can be read in it.
func reveals(caller domain.Principal) bool { return caller.Browser == uuid.Nil }

func (s secretRoutes) list(c *gin.Context) error {
	caller := api.Caller(c)
	found, err := s.secrets.List(c.Request.Context(), caller.Project)
	if err != nil {
		return err
	}
	out := make([]secretRecord, len(found))
	for i, secret := range found {
		out[i] = record(caller.Project, secret, reveals(caller))
	}
	c.Header("Cache-Control", "no-store")
	c.PureJSON(http.StatusOK, out)
	return nil
}

func (s secretRoutes) get(c *gin.Context) error {
	caller := api.Caller(c)
	found, ok, err := s.secrets.Find(c.Request.Context(), caller.Project, c.Param("name"))
	if err != nil {
		return err
	}
	if !ok {
		return domain.E(domain.NotFound, "Secret not found.")
	}
	c.Header("Cache-Control", "no-store")
	c.PureJSON(http.StatusOK, record(caller.Project, found, reveals(caller)))
	return nil
}

func (s secretRoutes) create(c *gin.Context) error {
	b, err := decodeSecret(c)
	if err != nil {
		return err
	}
	return s.store(c, b, "")
}

func (s secretRoutes) put(c *gin.Context) error {
	b, err := decodeSecret(c)
	if err != nil {
		return err
	}
	name, err := s.named(c)
	if err != nil {
		return err
	}
	if b.Secret.Kind != "" {
		return s.store(c, b, name)
	}
	if b.Secret.Value == "" {
		return request.Invalid("missing", "Field required", nil, "body", "secret", "value")
	}
	stored, err := s.secrets.Put(c.Request.Context(), api.Caller(c), secrets.Secret{Name: name, Description: b.Secret.Description, Value: b.Secret.Value, Hosts: b.Secret.Hosts})
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, secretReply{Count: 1, Secret: stored})
	return nil
}

// named returns the name that the path means: it is an id where a secret has that id.
func (s secretRoutes) named(c *gin.Context) (string, error) {
	given := c.Param("name")
	if _, err := uuid.Parse(given); err != nil {
		return given, nil //nolint:nilerr // a name that is no id
	}
	found, ok, err := s.secrets.Find(c.Request.Context(), api.Caller(c).Project, given)
	if err != nil || !ok {
		return given, err
	}
	return found.Name, nil
}

func decodeSecret(c *gin.Context) (b secretRequest, err error) {
	data, err := io.ReadAll(c.Request.Body)
	if err != nil {
		return b, err
	}
	if err := request.Decode(data, &b); err != nil {
		return b, hidden(err)
	}
	return b, nil
}

// store stores a secret of the second form. Where the path names none, a provider's key has the
// provider's name, and any other secret that of its slug or header.
func (s secretRoutes) store(c *gin.Context, b secretRequest, name string) error {
	secret := secrets.Secret{Name: name, Description: b.Header.Description, Hosts: b.Secret.Hosts}
	if secret.Description == "" {
		secret.Description = b.Header.Name
	}
	missing := func(loc ...any) error {
		return request.Invalid("missing", "Field required", nil, append([]any{"body", "secret"}, loc...)...)
	}
	data := b.Secret.Data
	switch b.Secret.Kind {
	case kindProvider:
		if data.Kind == "" {
			return missing("data", "kind")
		}
		if data.Provider.Key == "" {
			return missing("data", "provider", "key")
		}
		if name != "" && name != data.Kind {
			return domain.E(domain.Rejected, "The secret %q is not the key of the provider %q.", name, data.Kind)
		}
		secret.Name, secret.Value = data.Kind, data.Provider.Key
	case kindWebhook:
		if data.Provider.Key == "" {
			return missing("data", "provider", "key")
		}
		secret.Name, secret.Value = hookSecret, data.Provider.Key
	case kindCustom:
		if data.Secret.Content == "" {
			return missing("data", "secret", "content")
		}
		for _, given := range []string{b.Slug, b.Header.Name} {
			if secret.Name == "" {
				secret.Name = given
			}
		}
		secret.Value = data.Secret.Content
	case "":
		return missing("kind")
	default:
		return domain.E(domain.Rejected, "Secrets of the kind %q are not supported: store a provider_key, a webhook_provider or a custom_secret.", b.Secret.Kind)
	}
	caller := api.Caller(c)
	stored, err := s.secrets.Put(c.Request.Context(), caller, secret)
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, record(caller.Project, secrets.Revealed{Stored: stored}, false))
	return nil
}

func (s secretRoutes) remove(c *gin.Context) error {
	name, err := s.named(c)
	if err != nil {
		return err
	}
	found, err := s.secrets.Delete(c.Request.Context(), api.Caller(c), name)
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
