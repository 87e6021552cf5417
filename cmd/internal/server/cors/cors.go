// Package cors decides what a page of another origin may do from a browser: which origins
// may, which routes are open to them, which keys they may use, and the headers that tell the
// browser. A page sends no cookies: credentials are never allowed. The HTTP server, the only
// caller, knows the routes. Source: Fetch standard, CORS protocol.
package cors

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"colonnade/domain"
)

// anyOrigin in Policy.Origins stands for pages of every origin.
const anyOrigin = "*"

// preflightSeconds is how long a browser remembers the answer to a preflight request: the
// longest that Chromium takes.
const preflightSeconds = "7200"

// Policy is what is configured. The zero value allows no page anything.
type Policy struct {
	// Origins are those of the pages.
	Origins []string
	// Reads opens the routes that read.
	Reads bool
	// Own is the origin of the service where a proxy changes the Host header; empty without one.
	Own string
}

// CheckOrigins returns an error for a configured origin that no browser sends.
func CheckOrigins(origins []string) error {
	for _, origin := range origins {
		u, err := url.Parse(origin)
		if origin != anyOrigin && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || origin != u.Scheme+"://"+u.Host) {
			return fmt.Errorf("cors_origins: %q is no origin such as https://app.example.com", origin)
		}
	}
	return nil
}

// Foreign returns the origin of the page that sent a request: one of the configured origins,
// and not that of the service itself. It is empty for every other request.
func (p Policy) Foreign(r *http.Request) string {
	origin := r.Header.Get("Origin")
	if origin == "" || !slices.Contains(p.Origins, origin) && !slices.Contains(p.Origins, anyOrigin) {
		return ""
	}
	if _, host, _ := strings.Cut(origin, "://"); strings.EqualFold(host, r.Host) || origin == p.Own {
		return ""
	}
	return origin
}

// Opens reports whether pages of other origins may call routes of a permission.
func (p Policy) Opens(permission domain.Permission) bool {
	return permission == domain.AddSpans || p.Reads && permission != "" && domain.PurposeRead.Allows(permission)
}

// CheckPage refuses a key in a page of another origin that can do more than the page needs:
// everybody who opens the page has the key.
func (p Policy) CheckPage(r *http.Request, caller domain.Principal) error {
	if len(p.Origins) == 0 || p.Foreign(r) == "" || caller.Project.IsZero() {
		return nil
	}
	switch caller.Purpose {
	case domain.PurposeIngest, domain.PurposeRead, domain.PurposeSQL:
		return nil
	default:
		return domain.E(domain.Forbidden, "A key in a page is public. Use one of purpose %q, or of purpose %q where http.cors_reads is on.", string(domain.PurposeIngest), string(domain.PurposeRead))
	}
}

// Preflight returns the method that a preflight request asks for; empty for another request.
func Preflight(r *http.Request) string {
	if r.Method != http.MethodOptions {
		return ""
	}
	return r.Header.Get("Access-Control-Request-Method")
}

// Allow writes the headers by which a browser lets a page of an origin read the reply or, for
// a preflight request, send the request that it asks for.
func Allow(header http.Header, r *http.Request, origin string) {
	header.Set("Access-Control-Allow-Origin", origin)
	method := Preflight(r)
	if method == "" {
		header.Set("Access-Control-Expose-Headers", domain.TokenHeader)
		return
	}
	header.Set("Access-Control-Allow-Methods", method)
	if names := r.Header.Get("Access-Control-Request-Headers"); names != "" {
		header.Set("Access-Control-Allow-Headers", names)
	}
	header.Set("Access-Control-Max-Age", preflightSeconds)
}
