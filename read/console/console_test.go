package console_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"colonnade/domain"
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

// answer is what Serve wrote and returned.
type answer struct {
	*httptest.ResponseRecorder
	err error
}

// ask sends a request that the console must serve.
func ask(t *testing.T, c *console.Console, method, path string, headers ...string) answer {
	t.Helper()
	a := try(t, c, method, path, headers...)
	require.NoError(t, a.err, path)
	return a
}

// try sends a request that the console may refuse.
func try(t *testing.T, c *console.Console, method, path string, headers ...string) answer {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	a := answer{ResponseRecorder: httptest.NewRecorder()}
	a.err = c.Serve(a, r)
	return a
}

// requireMissing checks that a request was refused as one of a missing file, and
// that no body was written before that.
func requireMissing(t *testing.T, a answer, detail string) {
	t.Helper()
	require.Equal(t, domain.NotFound, domain.KindOf(a.err))
	require.EqualError(t, a.err, detail)
	require.Equal(t, "no-store", a.Header().Get("Cache-Control"), "a missing file may come with the next build")
	require.Zero(t, a.Body.Len())
}

func TestPageHasTheHeaders(t *testing.T) {
	t.Parallel()
	reply := ask(t, built(t), http.MethodGet, "/ui/traces")
	require.Equal(t, http.StatusOK, reply.Code)
	for name, want := range map[string]string{
		"Content-Type":               "text/html; charset=utf-8",
		"Cache-Control":              "no-store",
		"X-Content-Type-Options":     "nosniff",
		"Referrer-Policy":            "no-referrer",
		"Cross-Origin-Opener-Policy": "same-origin",
		"Permissions-Policy":         "clipboard-write=(self)",
	} {
		require.Equal(t, want, reply.Header().Get(name), name)
	}
	csp := reply.Header().Get("Content-Security-Policy")
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
		header := inHeader.FindStringSubmatch(reply.Header().Get("Content-Security-Policy"))
		require.Len(t, header, 2)
		meta := inPage.FindStringSubmatch(reply.Body.String())
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
		require.Contains(t, ask(t, c, http.MethodGet, path).Body.String(), `<base href="`+want+`">`, path)
	}
}

func TestAssetsAreKeptForAYear(t *testing.T) {
	t.Parallel()
	c := built(t)
	plain := ask(t, c, http.MethodGet, "/ui/assets/main-abc.js")
	require.Equal(t, http.StatusOK, plain.Code)
	require.Equal(t, "public, max-age=31536000, immutable", plain.Header().Get("Cache-Control"))
	require.Equal(t, "text/javascript; charset=utf-8", plain.Header().Get("Content-Type"))
	require.Equal(t, "Accept-Encoding", plain.Header().Get("Vary"))
	require.Equal(t, "nosniff", plain.Header().Get("X-Content-Type-Options"))
	require.Empty(t, plain.Header().Get("Content-Encoding"))
	require.Equal(t, "export {}", plain.Body.String())

	zipped := ask(t, c, http.MethodGet, "/api/ui/assets/main-abc.js", "Accept-Encoding", "br, gzip;q=0.8")
	require.Equal(t, "gzip", zipped.Header().Get("Content-Encoding"))
	require.Equal(t, "zipped", zipped.Body.String())

	refused := ask(t, c, http.MethodGet, "/ui/assets/main-abc.js", "Accept-Encoding", "gzip;q=0, br")
	require.Equal(t, "export {}", refused.Body.String())

	never := ask(t, c, http.MethodGet, "/ui/assets/main-def.css", "Accept-Encoding", "gzip")
	require.Empty(t, never.Header().Get("Content-Encoding"), "there is no gzip form of this file")
	require.Equal(t, "text/css; charset=utf-8", never.Header().Get("Content-Type"))

	require.Equal(t, http.StatusOK, ask(t, c, http.MethodGet, "/ui/assets/worker/json-01.js").Code)
}

func TestMissingAssetsAreMissing(t *testing.T) {
	t.Parallel()
	c := built(t)
	for _, path := range []string{"/ui/assets/old-123.js", "/ui/assets/", "/ui/assets/../index.html", "/ui/assets/main-abc.js.gz"} {
		requireMissing(t, try(t, c, http.MethodGet, path), "Not Found")
	}
	requireMissing(t, try(t, c, http.MethodGet, "/uikit/traces"), "Not Found")
}

func TestHead(t *testing.T) {
	t.Parallel()
	c := built(t)
	for _, path := range []string{"/ui/", "/ui/traces", "/ui/assets/main-abc.js"} {
		head, get := ask(t, c, http.MethodHead, path), ask(t, c, http.MethodGet, path)
		require.Equal(t, get.Code, head.Code, path)
		require.Equal(t, get.Header().Get("Content-Length"), head.Header().Get("Content-Length"), path)
		require.Equal(t, get.Header().Get("Cache-Control"), head.Header().Get("Cache-Control"), path)
		require.Zero(t, head.Body.Len(), path)
	}
}

func TestRootWithoutSlash(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/ui", "/tools/ui"} {
		reply := ask(t, built(t), http.MethodGet, path)
		require.Equal(t, http.StatusPermanentRedirect, reply.Code)
		require.Equal(t, "ui/", reply.Header().Get("Location"), "relative: only the browser knows the prefix")
	}
}

func TestBuildWithoutConsole(t *testing.T) {
	t.Parallel()
	c, err := console.FromFiles(nil)
	require.NoError(t, err)
	require.False(t, c.Built())
	for _, path := range []string{"/ui/", "/ui/traces/1", "/ui/assets/main-abc.js"} {
		requireMissing(t, try(t, c, http.MethodGet, path), "This build has no console. make build makes one.")
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
	if !c.Built() {
		requireMissing(t, try(t, c, http.MethodGet, "/ui/"), "This build has no console. make build makes one.")
		return
	}
	page := ask(t, c, http.MethodGet, "/ui/").Body.String()
	script := regexp.MustCompile(`src="\./(assets/[^"]+\.js)"`).FindStringSubmatch(page)
	require.Len(t, script, 2, "the page names its script relative to the base")
	require.Equal(t, http.StatusOK, ask(t, c, http.MethodGet, "/ui/"+script[1]).Code)
	require.NotRegexp(t, `(?i)<script(\s[^>]*)?>[^<]`, page, "the policy runs no script that stands in the page")
	require.NotRegexp(t, `(?i)\sstyle="`, page)
}
