// Package console serves the web console below /ui/: the page, its assets, and
// the headers that keep what spans say from running. The sources of the page
// are in web/; `make console` builds them into dist/, and a build with the tag
// `console` embeds that. A build without the tag answers that it has none.
//
// The page holds no data: what it shows it fetches from the same routes as any
// other client. Signing in is elsewhere (write/registry, read/access).
package console

import (
	"errors"
	"io/fs"
	"net/http"
	"strings"
)

// root is where the console lives. A proxy may put a prefix before it.
const root = "/ui"

// Console is the handler of /ui and everything below.
type Console struct {
	page   *page
	assets map[string]asset
}

// New returns the console that this build embeds, which may be none.
func New() (*Console, error) { return FromFiles(dist()) }

// FromFiles returns the console of built files: index.html and assets/. Files
// of nil are no console: everything is answered with 404 and how to build one.
func FromFiles(files fs.FS) (*Console, error) {
	if files == nil {
		return &Console{}, nil
	}
	page, err := readPage(files)
	if err != nil {
		return nil, err
	}
	assets, err := readAssets(files)
	if err != nil {
		return nil, err
	}
	return &Console{page: page, assets: assets}, nil
}

// Built reports whether there is a console to serve.
func (c *Console) Built() bool { return c.page != nil }

// ServeHTTP serves the path of the request from its first /ui on, so that it
// works below a prefix that a proxy has not taken off. The path is taken as it
// was sent: to the browser an encoded slash does not end a segment.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, "Method Not Allowed")
		return
	}
	if !c.Built() {
		refuse(w, http.StatusNotFound, "This build has no console. make build makes one.")
		return
	}
	below, ok := cutRoot(r.URL.EscapedPath())
	if !ok {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	if below == "" {
		// Relative, because only the browser knows the prefix. http.Redirect would make it absolute.
		w.Header().Set("Location", strings.TrimPrefix(root, "/")+"/")
		w.WriteHeader(http.StatusPermanentRedirect)
		return
	}
	if name, ok := strings.CutPrefix(below, "/assets/"); ok {
		a, ok := c.assets[name]
		if !ok {
			refuse(w, http.StatusNotFound, "Not Found")
			return
		}
		a.serve(w, r)
		return
	}
	if err := c.page.serve(w, r, strings.TrimPrefix(below, "/")); err != nil {
		refuse(w, http.StatusInternalServerError, "Internal Server Error")
	}
}

// cutRoot returns what follows the first segment "ui" of a path: "" for the
// console's own address without its slash.
func cutRoot(path string) (string, bool) {
	for from := 0; ; {
		i := strings.Index(path[from:], root)
		if i < 0 {
			return "", false
		}
		rest := path[from+i+len(root):]
		if rest == "" || rest[0] == '/' {
			return rest, true
		}
		from += i + len(root)
	}
}

// refuse answers as every other route does, with a detail.
func refuse(w http.ResponseWriter, status int, detail string) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(`{"detail":"` + detail + `"}`))
}

var errNoIndex = errors.New("console: dist has no index.html, or one without the marks of nonce and base")
