package webhook

import (
	"context"
	"net/http"

	"golang.org/x/net/http/httpguts"

	"colonnade/domain"
	"colonnade/domain/credential"
	"colonnade/domain/entity"
	"colonnade/domain/request"
	"colonnade/write/invoke/handler"
)

// lentHeaders are the headers of one call that hold secrets of the project. The client fills
// them for each address that it requests, the first and those of redirects, because each
// may be of another host.
type lentHeaders struct{ headers []lentHeader }

type lentHeader struct {
	name   string
	secret credential.Secret
}

type lentKey struct{}

// withLent returns a context in which the client finds the headers of a call.
func withLent(ctx context.Context) (context.Context, *lentHeaders) {
	lent := &lentHeaders{}
	return context.WithValue(ctx, lentKey{}, lent), lent
}

// lentTo returns the headers of the call that a request belongs to; none outside of a call.
func lentTo(r *http.Request) *lentHeaders {
	if lent, ok := r.Context().Value(lentKey{}).(*lentHeaders); ok {
		return lent
	}
	return &lentHeaders{}
}

// fill sets the headers that the host of the request may receive, and removes the others. A
// request that has lost the TLS of the first one gets none.
func (l *lentHeaders) fill(r *http.Request, downgraded bool) {
	for _, h := range l.headers {
		r.Header.Del(h.name)
		if !downgraded && h.secret.MayReach(r.URL) {
			r.Header.Set(h.name, h.secret.Value)
		}
	}
}

// setHeaders sets the headers of a revision on the first request of a call.
func (i *Client) setHeaders(ctx context.Context, c *handler.Call, r *http.Request, lent *lentHeaders, headers map[string]any) error {
	for name, value := range headers {
		text, plain := value.(string)
		if !plain {
			secret, err := i.lend(ctx, c, r, name, value)
			if err != nil {
				return err
			}
			text = secret.Value
			lent.headers = append(lent.headers, lentHeader{name, secret})
		}
		if reserved(name) || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(text) {
			return handler.Fail(domain.Rejected, handler.InvalidParameter, "Invalid parameter: the header %q cannot be set", name)
		}
		if plain {
			r.Header.Set(name, text)
		}
	}
	lent.fill(r, false)
	return nil
}

// lend returns the secret of the project that a header names by slug, if the host of the
// request may receive it. Whoever edits a revision chooses the host, so the secret decides.
func (i *Client) lend(ctx context.Context, c *handler.Call, r *http.Request, name string, value any) (credential.Secret, error) {
	o := request.ObjectOf(map[string]any{name: value}, "headers")
	ref := entity.ReadReference(o, name)
	if o.Err() != nil || ref.Slug == "" {
		return credential.Secret{}, noSecret(name)
	}
	if ref.Slug == hookSecret || i.deps.Provider(ref.Slug) {
		return credential.Secret{}, handler.Fail(domain.Rejected, handler.InvalidSecrets,
			"The header %q names the secret %q, which is a key of a model provider or signs requests. Such a key is never sent in a header.", name, ref.Slug)
	}
	secret, ok, err := i.deps.Secret.Of(ctx, c, ref.Slug)
	if err != nil {
		return credential.Secret{}, err
	}
	if !ok {
		return credential.Secret{}, noSecret(name)
	}
	if !secret.MayReach(r.URL) {
		return credential.Secret{}, handler.Fail(domain.Rejected, handler.InvalidSecrets,
			"The secret %q may not be sent to %s. An admin of the project names the hosts that may receive it when the secret is stored.", ref.Slug, r.URL.Host)
	}
	return secret, nil
}

func noSecret(header string) error {
	return handler.Fail(domain.Rejected, handler.InvalidSecrets, "The header %q names no secret of the project.", header)
}

// reserved reports whether a header is set by the connection or by this package.
func reserved(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Te", "Trailer", "Proxy-Authorization", "Proxy-Connection",
		"Keep-Alive", headerSignature, headerTimestamp, "Traceparent":
		return true
	default:
		return false
	}
}
