// Package console serves the web console below /ui/: the page, its assets, and
// the headers that keep what spans say from running. The sources of the page
// are in web/; `make console` builds them into dist/, and a build with the tag
// `console` embeds that. A build without the tag answers that it has none.
//
// The page holds no data: what it shows it fetches from the same routes as any
// other client. Keys are elsewhere: write/registry/accounts
// makes them, read/access checks them.
package console

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strings"

	"colonnade/domain"
)

// root is where the console lives. A proxy may put a prefix before it.
const root = "/ui"

// Console serves /ui and everything below.
type Console struct {
	page   *page
	assets map[string]asset
}

// New returns the console that this build embeds, which may be none.
func New() (*Console, error) { return FromFiles(dist()) }

// FromFiles returns the console of built files: index.html and assets/. Files
// of nil are no console: the error of every request says how to build one.
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

// Serve replies to a GET or HEAD request for the path from its first /ui on, so
// that it works below a prefix that a proxy has not taken off. The path is taken
// as it was sent: to the browser an encoded slash does not end a segment. When it
// returns an error it has written no body: the caller renders the error, with the
// headers that Serve has set.
func (c *Console) Serve(w http.ResponseWriter, r *http.Request) error {
	if !c.Built() {
		return unbuilt(w, r)
	}
	below, ok := cutRoot(r.URL.EscapedPath())
	if !ok {
		return missing(w, "Not Found")
	}
	if below == "" {
		// Relative, because only the browser knows the prefix. http.Redirect would make it absolute.
		w.Header().Set("Location", strings.TrimPrefix(root, "/")+"/")
		w.WriteHeader(http.StatusPermanentRedirect)
		return nil
	}
	if name, ok := strings.CutPrefix(below, "/assets/"); ok {
		a, ok := c.assets[name]
		if !ok {
			return missing(w, "Not Found")
		}
		return a.serve(w, r)
	}
	return c.page.serve(w, r, strings.TrimPrefix(below, "/"))
}

const noConsole = "This build has no console. make build makes one."

// unbuilt answers a browser with a page, any other client with the error.
func unbuilt(w http.ResponseWriter, r *http.Request) error {
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		return missing(w, noConsole)
	}
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusNotFound) //nolint:forbidigo // a page for a person, not an error of the API
	if r.Method != http.MethodHead {
		_, _ = io.WriteString(w, unbuiltPage)
	}
	return nil
}

const unbuiltPage = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>Colonnade</title>
<h1>The console is not part of this build</h1>
<p>The service works: everything is answered by its API, which <a href="../docs">/docs</a> lists.</p>
<p>This binary was built without the tag <code>console</code>. <code>make build</code> builds one with the console; it needs Node 20 and npm.</p>
</html>
`

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

// missing returns the error of a file that does not exist. Nothing may keep the
// reply: the next build may have the file.
func missing(w http.ResponseWriter, detail string) error {
	w.Header().Set("Cache-Control", "no-store")
	return domain.E(domain.NotFound, "%s", detail)
}

var errNoIndex = errors.New("console: dist has no index.html, or one without the marks of nonce and base")
