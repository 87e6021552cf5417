package console

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
)

// The marks that web/index.html has where each answer gets its own values.
const (
	nonceMark = "__NONCE__"
	baseMark  = "__BASE__"
)

// policy is the Content-Security-Policy with the nonce to be put in. Scripts
// need none: all of them are files. Styles do: React Aria and CodeMirror make
// elements of style, which carry the nonce of the page's meta element.
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-" + nonceMark + "'; img-src 'self' data: blob:; " +
	"font-src 'self'; connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'"

// page is index.html.
type page struct{ text []byte }

func readPage(files fs.FS) (*page, error) {
	text, err := fs.ReadFile(files, "index.html")
	if err != nil {
		return nil, fmt.Errorf("console: read the page: %w", err)
	}
	if !bytes.Contains(text, []byte(nonceMark)) || !bytes.Contains(text, []byte(baseMark)) {
		return nil, errNoIndex
	}
	return &page{text}, nil
}

// serve writes the page for an address below the root, with a nonce of its own
// and a base that leads back to the root.
func (p *page) serve(w http.ResponseWriter, r *http.Request, below string) error {
	nonce, err := newNonce()
	if err != nil {
		return err
	}
	text := bytes.ReplaceAll(p.text, []byte(nonceMark), []byte(nonce))
	text = bytes.ReplaceAll(text, []byte(baseMark), []byte(base(below)))
	h := w.Header()
	secure(h, nonce)
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(text) //nolint:gosec // the base consists of "../", the path itself is not in the page
	}
	return nil
}

// base returns the way from an address below the root to the root itself.
func base(below string) string {
	if n := strings.Count(below, "/"); n > 0 {
		return strings.Repeat("../", n)
	}
	return "./"
}

func newNonce() (string, error) {
	var b [18]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("console: nonce: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(b[:]), nil
}

// secure sets the headers that hold for pages and assets alike: a worker obeys
// the policy of its own file.
func secure(h http.Header, nonce string) {
	h.Set("Content-Security-Policy", strings.Replace(policy, nonceMark, nonce, 1))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", "clipboard-write=(self)")
}
