package console_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"colonnade/read/console"
)

const index = `<!doctype html><head><base href="__BASE__"><meta property="csp-nonce" nonce="__NONCE__" content="__NONCE__"></head>`

func built(t *testing.T) *console.Console {
	t.Helper()
	c, err := console.FromFiles(fstest.MapFS{
		"index.html":               {Data: []byte(index)},
		"assets/main-abc.js":       {Data: []byte("export {}")},
		"assets/main-abc.js.gz":    {Data: []byte("zipped")},
		"assets/main-def.css":      {Data: []byte("a{}")},
		"assets/worker/json-01.js": {Data: []byte("self")},
	})
	require.NoError(t, err)
	return c
}

func ask(t *testing.T, c *console.Console, method, path string, headers ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	c.ServeHTTP(w, r)
	reply := w.Result()
	t.Cleanup(func() { _ = reply.Body.Close() })
	return reply
}

func text(t *testing.T, reply *http.Response) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, reply.Write(&b))
	_, body, _ := strings.Cut(b.String(), "\r\n\r\n")
	return body
}

func TestPageHasTheHeaders(t *testing.T) {
	t.Parallel()
	reply := ask(t, built(t), http.MethodGet, "/ui/traces")
	require.Equal(t, http.StatusOK, reply.StatusCode)
	for name, want := range map[string]string{
		"Content-Type":               "text/html; charset=utf-8",
		"Cache-Control":              "no-store",
		"X-Content-Type-Options":     "nosniff",
		"Referrer-Policy":            "no-referrer",
		"Cross-Origin-Opener-Policy": "same-origin",
		"Permissions-Policy":         "clipboard-write=(self)",
	} {
		require.Equal(t, want, reply.Header.Get(name), name)
	}
	csp := reply.Header.Get("Content-Security-Policy")
	for _, want := range []string{
		"default-src 'none'", "script-src 'self';", "connect-src 'self'", "worker-src 'self'",
		"base-uri 'self'", "form-action 'none'", "frame-ancestors 'none'",
	} {
		require.Contains(t, csp, want)
	}
	require.NotContains(t, csp, "unsafe")
}

func TestEachPageHasItsNonce(t *testing.T) {
	t.Parallel()
	c := built(t)
	inHeader := regexp.MustCompile(`'nonce-([A-Za-z0-9_-]{24})'`)
	inPage := regexp.MustCompile(`nonce="([A-Za-z0-9_-]{24})" content="([A-Za-z0-9_-]{24})"`)
	seen := map[string]bool{}
	for range 20 {
		reply := ask(t, c, http.MethodGet, "/ui/")
		header := inHeader.FindStringSubmatch(reply.Header.Get("Content-Security-Policy"))
		require.Len(t, header, 2)
		meta := inPage.FindStringSubmatch(text(t, reply))
		require.Len(t, meta, 3)
		require.Equal(t, header[1], meta[1])
		require.Equal(t, header[1], meta[2])
		require.False(t, seen[header[1]], "a nonce came twice")
		seen[header[1]] = true
	}
}

func TestBaseLeadsToTheRoot(t *testing.T) {
	t.Parallel()
	c := built(t)
	for path, want := range map[string]string{
		"/ui/":                                   "./",
		"/ui/traces":                             "./",
		"/ui/traces/":                            "../",
		"/ui/traces/6d66":                        "../",
		"/ui/applications/a/b/c":                 "../../../",
		"/api/ui/traces/6d66":                    "../",
		"/tools/colonnade/ui/settings/keys":      "../",
		"/uikit/ui/traces":                       "./",
		"/ui/sessions/a%2Fb":                     "../",
		"/ui/testsets/ui/assets-of-mine/another": "../../../",
	} {
		require.Contains(t, text(t, ask(t, c, http.MethodGet, path)), `<base href="`+want+`">`, path)
	}
}

func TestAssetsAreKeptForAYear(t *testing.T) {
	t.Parallel()
	c := built(t)
	plain := ask(t, c, http.MethodGet, "/ui/assets/main-abc.js")
	require.Equal(t, http.StatusOK, plain.StatusCode)
	require.Equal(t, "public, max-age=31536000, immutable", plain.Header.Get("Cache-Control"))
	require.Equal(t, "text/javascript; charset=utf-8", plain.Header.Get("Content-Type"))
	require.Equal(t, "Accept-Encoding", plain.Header.Get("Vary"))
	require.Equal(t, "nosniff", plain.Header.Get("X-Content-Type-Options"))
	require.Empty(t, plain.Header.Get("Content-Encoding"))
	require.Equal(t, "export {}", text(t, plain))

	zipped := ask(t, c, http.MethodGet, "/api/ui/assets/main-abc.js", "Accept-Encoding", "br, gzip;q=0.8")
	require.Equal(t, "gzip", zipped.Header.Get("Content-Encoding"))
	require.Equal(t, "zipped", text(t, zipped))

	refused := ask(t, c, http.MethodGet, "/ui/assets/main-abc.js", "Accept-Encoding", "gzip;q=0, br")
	require.Equal(t, "export {}", text(t, refused))

	never := ask(t, c, http.MethodGet, "/ui/assets/main-def.css", "Accept-Encoding", "gzip")
	require.Empty(t, never.Header.Get("Content-Encoding"), "there is no gzip form of this file")
	require.Equal(t, "text/css; charset=utf-8", never.Header.Get("Content-Type"))

	require.Equal(t, http.StatusOK, ask(t, c, http.MethodGet, "/ui/assets/worker/json-01.js").StatusCode)
}

func TestMissingAssetsAreMissing(t *testing.T) {
	t.Parallel()
	c := built(t)
	for _, path := range []string{"/ui/assets/old-123.js", "/ui/assets/", "/ui/assets/../index.html", "/ui/assets/main-abc.js.gz"} {
		reply := ask(t, c, http.MethodGet, path)
		require.Equal(t, http.StatusNotFound, reply.StatusCode, path)
		require.Equal(t, "no-store", reply.Header.Get("Cache-Control"), "a missing file may come with the next build")
		require.JSONEq(t, `{"detail":"Not Found"}`, text(t, reply))
	}
	require.Equal(t, http.StatusNotFound, ask(t, c, http.MethodGet, "/uikit/traces").StatusCode)
}

func TestHead(t *testing.T) {
	t.Parallel()
	c := built(t)
	for _, path := range []string{"/ui/", "/ui/traces", "/ui/assets/main-abc.js"} {
		head, get := ask(t, c, http.MethodHead, path), ask(t, c, http.MethodGet, path)
		require.Equal(t, get.StatusCode, head.StatusCode, path)
		require.Equal(t, get.Header.Get("Content-Length"), head.Header.Get("Content-Length"), path)
		require.Equal(t, get.Header.Get("Cache-Control"), head.Header.Get("Cache-Control"), path)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodHead, "/ui/", http.NoBody)
	w := httptest.NewRecorder()
	c.ServeHTTP(w, r)
	require.Zero(t, w.Body.Len())
}

func TestOtherMethods(t *testing.T) {
	t.Parallel()
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions} {
		reply := ask(t, built(t), method, "/ui/")
		require.Equal(t, http.StatusMethodNotAllowed, reply.StatusCode, method)
		require.Equal(t, "GET, HEAD", reply.Header.Get("Allow"))
	}
}

func TestRootWithoutSlash(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/ui", "/tools/ui"} {
		reply := ask(t, built(t), http.MethodGet, path)
		require.Equal(t, http.StatusPermanentRedirect, reply.StatusCode)
		require.Equal(t, "ui/", reply.Header.Get("Location"), "relative: only the browser knows the prefix")
	}
}

func TestBuildWithoutConsole(t *testing.T) {
	t.Parallel()
	c, err := console.FromFiles(nil)
	require.NoError(t, err)
	require.False(t, c.Built())
	for _, path := range []string{"/ui/", "/ui/traces/1", "/ui/assets/main-abc.js"} {
		reply := ask(t, c, http.MethodGet, path)
		require.Equal(t, http.StatusNotFound, reply.StatusCode)
		require.JSONEq(t, `{"detail":"This build has no console. make build makes one."}`, text(t, reply))
	}
}

func TestAPageWithoutMarksIsRefused(t *testing.T) {
	t.Parallel()
	_, err := console.FromFiles(fstest.MapFS{"index.html": {Data: []byte("<html>")}, "assets/a.js": {}})
	require.Error(t, err)
	_, err = console.FromFiles(fstest.MapFS{})
	require.Error(t, err)
}

// TestTheBuiltConsole holds for whatever tag this test was built with.
func TestTheBuiltConsole(t *testing.T) {
	t.Parallel()
	c, err := console.New()
	require.NoError(t, err)
	reply := ask(t, c, http.MethodGet, "/ui/")
	if !c.Built() {
		require.Equal(t, http.StatusNotFound, reply.StatusCode)
		return
	}
	page := text(t, reply)
	script := regexp.MustCompile(`src="\./(assets/[^"]+\.js)"`).FindStringSubmatch(page)
	require.Len(t, script, 2, "the page names its script relative to the base")
	require.Equal(t, http.StatusOK, ask(t, c, http.MethodGet, "/ui/"+script[1]).StatusCode)
	require.NotRegexp(t, `(?i)<script(\s[^>]*)?>[^<]`, page, "the policy runs no script that stands in the page")
	require.NotRegexp(t, `(?i)\sstyle="`, page)
}
