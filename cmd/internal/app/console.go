package app

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"github.com/google/uuid"

	"colonnade/cmd/internal/listener"
	"colonnade/domain"
	"colonnade/read/access"
	readapi "colonnade/read/api"
	"colonnade/read/api/signin"
	accountsapi "colonnade/write/api/accounts"
)

// browser returns the caller of a request with the cookie of a browser session.
func (w *wiring) browser(r *http.Request, project string) (domain.Principal, bool, error) {
	token, found, err := w.access.BrowserToken(r)
	if err != nil || !found {
		return domain.Principal{}, false, err
	}
	p, err := w.access.AuthenticateBrowser(r.Context(), token, project)
	return p, true, err
}

// mountBrowsers mounts signing in and out of the console.
func (w *wiring) mountBrowsers() error {
	if !w.cfg.Console.Enabled {
		return nil
	}
	trusted, err := listener.ParseNetworks(w.cfg.HTTP.TrustedProxies)
	if err != nil {
		return fmt.Errorf("app: http.trusted_proxies: %w", err)
	}
	accountsapi.MountBrowsers(w.router, accountsapi.BrowserDeps{
		Registry:     w.Accounts,
		Authenticate: w.access.Authenticate,
		Holder:       w.access.Holder,
		Names:        w.names,
		Current: func(r *http.Request) (uuid.UUID, error) {
			p, _, err := w.browser(r, "")
			if domain.KindOf(err) == domain.Unauthenticated {
				return uuid.Nil, nil // a session that has ended is none
			}
			return p.Browser, err
		},
		Remote: listener.Remote(trusted),
		Cookie: func(ctx context.Context, secure bool) (string, error) {
			if secure {
				return access.SecureCookie, nil
			}
			return w.access.PlainCookie(ctx)
		},
		Plain:   w.cfg.Console.InsecureCookies || isLoopback(w.cfg.HTTP.Addr),
		BaseURL: w.cfg.BaseURL(), SessionTTL: w.cfg.Console.SessionTTL, LinkTTL: w.cfg.Console.LinkTTL, Now: w.Now,
	})
	return nil
}

// names returns what users call a principal and its project.
func (w *wiring) names(ctx context.Context, p domain.Principal) (user, project string, err error) {
	profile, err := w.access.Profile(ctx, p)
	if err != nil {
		return "", "", err
	}
	current, err := w.access.Current(ctx, p)
	return profile.Username, current.ProjectName, err
}

// mountSession mounts what the console asks first.
func (w *wiring) mountSession(r readapi.Router) {
	signin.Mount(r, w.access, signin.Config{Version: w.Version, Features: map[string]bool{
		"console": w.console.Built(), "tail": true, "invoke": w.Roles.Write, "sql": false, "mcp": false,
	}})
}

// isLoopback reports whether only this machine reaches an address.
func isLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	return err == nil && (host == "localhost" || net.ParseIP(host).IsLoopback())
}

// consoleLine returns the line of the announcement that leads to the console. Its link signs
// in, so it goes to a terminal only: other outputs are kept where more users can read them.
func (p *process) consoleLine(ctx context.Context, s *Service, key firstKey) string {
	switch {
	case s.console == nil || key.path == "" || key.revoked:
		return ""
	case !s.console.Built():
		return "  Console    not part of this build (make build makes one that has it)\n"
	case !p.Terminal:
		return "  Console    colonnade open\n"
	}
	token, _, err := s.Accounts.CreateLink(ctx, key.key.Prefix, p.cfg.Console.LinkTTL)
	if err != nil {
		p.log.WarnContext(ctx, "creating a link to the console failed, colonnade open makes another", slog.Any("error", err))
		return "  Console    colonnade open\n"
	}
	return "  Console: " + accountsapi.LinkURL(p.cfg.BaseURL(), token) + "\n"
}
