package accounts

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/credential"
	"colonnade/domain/request"
	"colonnade/write/api"
	"colonnade/write/registry/accounts"
)

// BrowserDeps are what signing in needs from outside.
type BrowserDeps struct {
	Registry *accounts.Registry
	// Authenticate returns the principal of an API key, Holder that of a key by its prefix,
	// Names the user and the project of a principal.
	Authenticate func(ctx context.Context, authorization string) (domain.Principal, error)
	Holder       func(ctx context.Context, prefix string) (domain.Principal, error)
	Names        func(ctx context.Context, p domain.Principal) (user, project string, err error)
	// Current returns the browser session that a request came with; the zero id when there is none.
	Current func(r *http.Request) (uuid.UUID, error)
	// Remote returns the address of the client, and whether it speaks TLS to the service or
	// to a trusted proxy before it.
	Remote func(r *http.Request) (address string, secure bool)
	// Cookie returns the name of the cookie over TLS or plain HTTP.
	Cookie func(ctx context.Context, secure bool) (string, error)
	// Plain allows cookies over plain HTTP: the listener is loopback, or the operator says so.
	Plain bool
	// BaseURL is the address of the service in links.
	BaseURL string
	// SessionTTL and LinkTTL are how long a browser session and a link last.
	SessionTTL, LinkTTL time.Duration
	Now                 func() time.Time
}

// plainTTL ends a session over plain HTTP, where others may read its cookie, within a working day.
const plainTTL = 12 * time.Hour

// MountBrowsers mounts signing in and out of the console. Source: deploy/docs/api.md, Console sessions.
func MountBrowsers(r api.Router, deps BrowserDeps) {
	b := browsers{deps: deps, attempts: attempts{now: deps.Now, made: map[string]made{}}}
	r.Handle(domain.Operation{
		Method: http.MethodPost, Path: "/auth/session", Permission: domain.Public, Tag: "console",
		Summary: "Sign a browser in with an API key or a one-time link: sets a cookie that stands for it.", Request: signIn{}, Response: signedIn{},
	}, b.open)
	r.Handle(domain.Operation{
		Method: http.MethodDelete, Path: "/auth/session", Permission: domain.Authenticated, Tag: "console",
		Summary: "Sign this browser out.", Status: http.StatusNoContent,
	}, b.end)
	r.Handle(domain.Operation{
		Method: http.MethodDelete, Path: "/auth/session/projects/:project_id", Permission: domain.Authenticated, Tag: "console",
		Summary: "Take one project out of this browser's session.", Status: http.StatusNoContent,
	}, b.leave)
	r.Handle(domain.Operation{
		Method: http.MethodDelete, Path: "/auth/sessions/:session_id", Permission: domain.Authenticated, Tag: "console",
		Summary: "End a browser session of the caller's user.", Status: http.StatusNoContent,
	}, b.endOther)
	r.Handle(domain.Operation{
		Method: http.MethodPost, Path: "/auth/links", Permission: domain.Authenticated, Tag: "console",
		Summary: "Make a link that opens the console signed in as the calling key, once.", Response: link{}, Lazy: true,
	}, b.link)
}

type (
	signIn struct {
		Key  string `json:"key,omitempty"`
		Link string `json:"link,omitempty"`
		// Look asks whom a link signs in, and leaves it as it is.
		Look bool `json:"look,omitempty"`
	}
	signedIn struct {
		User      string     `json:"user"`
		Project   string     `json:"project"`
		ProjectID uuid.UUID  `json:"project_id"`
		ExpiresAt *time.Time `json:"expires_at,omitempty"`
	}
	link struct {
		URL       string    `json:"url"`
		ExpiresAt time.Time `json:"expires_at"`
	}
)

type browsers struct {
	deps     BrowserDeps
	attempts attempts
}

func (b *browsers) open(c *gin.Context) error {
	address, secure := b.deps.Remote(c.Request)
	if wait := b.attempts.take(address); wait > 0 {
		e := domain.E(domain.TooMany, "Too many attempts to sign in. Wait a minute and try again.")
		e.RetryAfter = wait
		return e
	}
	if !secure && !b.deps.Plain {
		return domain.E(domain.Rejected, "Signing in over plain HTTP sends the session's cookie readable by others. Put TLS before the service and name its proxy in http.trusted_proxies, or set console.insecure_cookies.")
	}
	raw, err := io.ReadAll(c.Request.Body)
	if err != nil {
		return err
	}
	body, err := request.ParseObject(raw)
	if err != nil {
		return err
	}
	key, token, look := body.String("key"), body.String("link"), body.True("look")
	body.FailUnknown()
	if err := body.Err(); err != nil {
		return err
	}
	ctx := c.Request.Context()
	holder, err := b.proven(ctx, key, token, look)
	if err != nil {
		return err
	}
	if holder.Purpose == domain.PurposeIngest {
		return domain.E(domain.Forbidden, "This API key is for ingest only: it cannot sign in to the console. Sign in with a key for reading or a full one.")
	}
	user, project, err := b.deps.Names(ctx, holder)
	if err != nil {
		return err
	}
	if !look {
		domain.NoteCaller(ctx, holder)
	}
	reply := signedIn{User: user, Project: project, ProjectID: uuid.UUID(holder.Project)}
	if !look {
		expires, err := b.set(c, holder, address, secure)
		if err != nil {
			return err
		}
		reply.ExpiresAt = &expires
	}
	c.JSON(http.StatusOK, reply)
	return nil
}

// proven returns the principal of the key or of the link's key.
func (b *browsers) proven(ctx context.Context, key, link string, look bool) (domain.Principal, error) {
	if (key == "") == (link == "") || look && link == "" {
		return domain.Principal{}, domain.E(domain.Invalid, "Give either the key or the link.")
	}
	if key != "" {
		return b.deps.Authenticate(ctx, "ApiKey "+key)
	}
	token, ok := credential.ParseToken(link)
	if !ok {
		return domain.Principal{}, domain.E(domain.Unauthenticated, "Unauthorized")
	}
	take := b.deps.Registry.TakeLink
	if look {
		take = b.deps.Registry.LinkedKey
	}
	prefix, err := take(ctx, token)
	if err != nil {
		return domain.Principal{}, err
	}
	return b.deps.Holder(ctx, prefix)
}

func (b *browsers) set(c *gin.Context, holder domain.Principal, address string, secure bool) (time.Time, error) {
	ctx := c.Request.Context()
	current, err := b.deps.Current(c.Request)
	if err != nil {
		return time.Time{}, err
	}
	ttl := b.deps.SessionTTL
	if !secure {
		ttl = min(ttl, plainTTL)
	}
	token, expires, err := b.deps.Registry.OpenBrowser(ctx, accounts.SignIn{
		Holder: holder, Browser: current, Agent: c.Request.UserAgent(), Address: address, TTL: ttl,
	})
	if err != nil {
		return expires, err
	}
	maxAge := 0
	if secure {
		maxAge = int(expires.Sub(b.deps.Now()).Seconds())
	}
	return expires, b.write(c, secure, token.Reveal(), maxAge)
}

// write sets the cookie, under the name that it has over TLS or plain HTTP. maxAge is in
// seconds; 0 sets a cookie that ends with the browser, a negative one removes it.
func (b *browsers) write(c *gin.Context, secure bool, value string, maxAge int) error {
	name, err := b.deps.Cookie(c.Request.Context(), secure)
	if err != nil {
		return err
	}
	http.SetCookie(c.Writer, &http.Cookie{ //nolint:gosec // over plain HTTP a browser keeps no secure cookie
		Name: name, Value: value, Path: "/", MaxAge: maxAge, Secure: secure, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	c.Header("Cache-Control", "no-store")
	return nil
}

// browser returns the session of the request itself.
func browser(c *gin.Context) (domain.Principal, error) {
	caller := api.Caller(c)
	if caller.Browser == uuid.Nil {
		return caller, domain.E(domain.Rejected, "The request came with a credential of its own. There is no browser session to end.")
	}
	return caller, nil
}

func (b *browsers) end(c *gin.Context) error {
	caller, err := browser(c)
	if err != nil {
		return err
	}
	if err := b.deps.Registry.EndBrowser(c.Request.Context(), caller.User, caller.Browser); err != nil {
		return err
	}
	_, secure := b.deps.Remote(c.Request)
	if err := b.write(c, secure, "", -1); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}

func (b *browsers) leave(c *gin.Context) error {
	caller, err := browser(c)
	if err != nil {
		return err
	}
	project, err := uuid.Parse(c.Param("project_id"))
	if err != nil {
		return domain.E(domain.NotFound, "The browser is not signed in to this project.")
	}
	if err := b.deps.Registry.LeaveProject(c.Request.Context(), caller.Browser, project); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}

func (b *browsers) endOther(c *gin.Context) error {
	id, err := uuid.Parse(c.Param("session_id"))
	if err != nil {
		return domain.E(domain.NotFound, "Browser session not found.")
	}
	if err := b.deps.Registry.EndBrowser(c.Request.Context(), api.Caller(c).User, id); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}

func (b *browsers) link(c *gin.Context) error {
	caller := api.Caller(c)
	if caller.Browser != uuid.Nil || !strings.HasPrefix(strings.ToLower(caller.Credential), "apikey ") {
		return domain.E(domain.Forbidden, "Only an API key makes a link: a session or a ticket would reach beyond its own end by one.")
	}
	token, expires, err := b.deps.Registry.CreateLink(c.Request.Context(), caller.KeyPrefix, b.deps.LinkTTL)
	if err != nil {
		return err
	}
	c.Header("Cache-Control", "no-store")
	c.JSON(http.StatusOK, link{URL: LinkURL(b.deps.BaseURL, token), ExpiresAt: expires})
	return nil
}

// LinkURL returns the address of a link. The token stands behind "#", which browsers do not
// send: it reaches no log.
func LinkURL(base string, token credential.Token) string { return base + "/ui/#open=" + token.Reveal() }

// attempts bounds how often one address may try to sign in.
type attempts struct {
	now  func() time.Time
	mu   sync.Mutex // guards made
	made map[string]made
}

type made struct {
	count int
	until time.Time
}

const (
	maxAttempts  = 20
	maxAddresses = 10_000 // of a few dozen bytes each
)

// take counts an attempt; it returns how long to wait when there were too many.
func (a *attempts) take(address string) time.Duration {
	if ip := net.ParseIP(address); ip != nil && ip.To4() == nil {
		address = ip.Mask(net.CIDRMask(64, 128)).String() // one customer of a provider has a whole /64
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	m, ok := a.made[address]
	if !ok || !now.Before(m.until) {
		m = made{until: now.Add(time.Minute)}
	}
	if m.count >= maxAttempts {
		return m.until.Sub(now)
	}
	m.count++
	if len(a.made) >= maxAddresses {
		clear(a.made)
	}
	a.made[address] = m
	return 0
}
