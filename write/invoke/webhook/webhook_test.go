package webhook

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/credential"
	"colonnade/domain/entity"
	"colonnade/domain/trace"
	"colonnade/write/invoke/handler"
)

// hooked returns a client with these secrets of the project.
func hooked(cfg Config, secrets map[string]credential.Secret) *Client {
	secret := func(_ context.Context, _ domain.ProjectID, name string) (credential.Secret, bool, error) {
		value, ok := secrets[name]
		return value, ok, nil
	}
	return New(cfg, Deps{Secret: secret, Provider: func(name string) bool { return name == "openai" }, Now: func() time.Time { return time.Unix(1700000000, 0) }})
}

// near is a call below a span of its own.
func near(t *testing.T, address string) *handler.Call {
	t.Helper()
	rec := handler.NewRecorder(time.Now, strings.NewReader(strings.Repeat("x", 64)))
	root, err := rec.Start(trace.TraceID{1}, trace.SpanID{}, "root", trace.Workflow, trace.KindServer)
	require.NoError(t, err)
	return &handler.Call{
		Revision: handler.Revision{URL: address}, Parameters: map[string]any{"k": int64(1)}, Inputs: map[string]any{"q": "?"}, SessionID: "s", Span: root,
		References: entity.Entities{"application": domain.Reference{Slug: "a"}},
	}
}

func TestHookGetsTheRequestSigned(t *testing.T) {
	t.Parallel()
	var got *http.Request
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Clone(context.WithoutCancel(r.Context()))
		body, _ = io.ReadAll(r.Body)
		_, _ = io.WriteString(w, `{"data":{"outputs":{"answer":42}}}`)
	}))
	defer server.Close()
	cfg := DefaultConfig()
	cfg.AllowPrivate = true
	i := hooked(cfg, map[string]credential.Secret{
		"hook": {Value: "shared"}, "token": {Value: "t0ken", Hosts: []string{strings.TrimPrefix(server.URL, "http://")}},
	})
	c := near(t, server.URL+"/run")
	c.Revision.Headers = map[string]any{"X-Plain": "p", "X-Secret": map[string]any{"slug": "token"}}
	outputs, err := i.hook(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"answer": int64(42)}, outputs)
	require.Equal(t, "/run/invoke", got.URL.Path)
	require.Empty(t, got.Header.Get("Authorization"))
	require.Equal(t, "p", got.Header.Get("X-Plain"))
	require.Equal(t, "t0ken", got.Header.Get("X-Secret"))
	require.Equal(t, "1700000000", got.Header.Get("X-Colonnade-Timestamp"))
	require.Equal(t, Sign("shared", "1700000000", body), got.Header.Get("X-Colonnade-Signature"))
	require.Regexp(t, "^00-01000000000000000000000000000000-[0-9a-f]{16}-01$", got.Header.Get("Traceparent"))
	var sent map[string]any
	require.NoError(t, json.Unmarshal(body, &sent))
	require.Equal(t, map[string]any{
		"version": handler.Version, "session_id": "s", "references": map[string]any{"application": map[string]any{"slug": "a"}},
		"data": map[string]any{"inputs": map[string]any{"q": "?"}, "parameters": map[string]any{"k": 1.0}},
	}, sent)
	for name, headers := range map[string]map[string]any{
		"connection": {"Host": "other"}, "signature": {"x-colonnade-signature": "v1=00"}, "line": {"X": "a\r\nY: b"}, "secret": {"X": map[string]any{"slug": "none"}},
	} {
		c := near(t, server.URL)
		c.Revision.Headers = headers
		_, err := i.hook(t.Context(), c)
		require.Equal(t, domain.Rejected, domain.KindOf(err), name)
	}
}

func TestHookReachesOnlyPublicAddresses(t *testing.T) {
	t.Parallel()
	reached := make(chan string, 8) // more than may ever come
	inner := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { reached <- r.URL.Path }))
	defer inner.Close()
	port := inner.URL[strings.LastIndexByte(inner.URL, ':'):]
	i := hooked(DefaultConfig(), nil)
	for _, address := range []string{
		inner.URL, "http://localhost" + port, "http://[::1]" + port, "http://[::ffff:127.0.0.1]" + port, "http://0.0.0.0" + port, "http://127.1" + port,
		"http://2130706433" + port, "http://10.0.0.1/", "http://192.168.0.1/", "http://169.254.169.254/latest/meta-data/", "http://[fd00::1]/", "http://100.64.0.1/",
		"http://user:password@example.com/", "ftp://example.com/", "file:///etc/passwd", "gopher://x/", "http:///x", "not a url",
	} {
		_, err := i.hook(t.Context(), near(t, address))
		require.Error(t, err, address)
		require.NotEqual(t, domain.Unavailable, domain.KindOf(err), address)
		require.NotContains(t, handler.Message(err), "127.0.0.1", "an error tells nothing of our network")
	}
	require.Empty(t, reached)
	_, err := i.hook(t.Context(), near(t, inner.URL))
	require.Equal(t, domain.Rejected, domain.KindOf(err))
	require.Equal(t, handler.HookClient, handler.ProblemOf(err))

	// A hook that is allowed sends us on to an address that is not. It stands at
	// 127.0.0.1, the other at 127.0.0.2: only the first is allowed.
	elsewhere := strings.Replace(inner.URL, "127.0.0.1", "127.0.0.2", 1)
	redirecting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere+"/secret", http.StatusTemporaryRedirect)
	}))
	defer redirecting.Close()
	cfg := DefaultConfig()
	cfg.AllowNetworks = []string{"127.0.0.1/32"}
	_, err = hooked(cfg, nil).hook(t.Context(), near(t, redirecting.URL))
	require.Equal(t, handler.HookClient, handler.ProblemOf(err))
	require.Contains(t, handler.Message(err), "may not reach")
	require.Empty(t, reached)
}

// Headers that prove something are for the host that the revision names.
func TestHookKeepsHeadersFromOtherHosts(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := json.Marshal(map[string]any{
			"key": r.Header.Get("X-Key"), "signature": r.Header.Get("X-Colonnade-Signature"), "parent": r.Header.Get("Traceparent"),
			"content key": r.Header.Get("Content-Key"), "type": r.Header.Get("Content-Type"),
		})
		_, _ = w.Write(text)
	}))
	defer other.Close()
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusPermanentRedirect)
	}))
	defer first.Close()
	cfg := DefaultConfig()
	cfg.AllowPrivate, cfg.SigningKey = true, "key"
	c := near(t, first.URL)
	c.Revision.Headers = map[string]any{"X-Key": "secret", "Content-Key": "secret"}
	outputs, err := hooked(cfg, nil).hook(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"key": "", "signature": "", "parent": "", "content key": "", "type": "application/json"}, outputs)
}

// What is meant for the first host is not sent to another one, nor in the clear
// where it was asked for under TLS.
func TestHookKeepsHeadersFromTheClear(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		from, to string
		kept     bool
	}{
		{"https://a.example/x", "https://a.example/y", true},
		{"http://a.example/x", "https://a.example/y", true},
		{"https://a.example/x", "http://a.example/y", false},
		{"https://a.example/x", "https://b.example/y", false},
	} {
		first, err := http.NewRequestWithContext(t.Context(), http.MethodPost, tt.from, nil)
		require.NoError(t, err)
		next, err := http.NewRequestWithContext(t.Context(), http.MethodPost, tt.to, nil)
		require.NoError(t, err)
		next.Header.Set("Authorization", "of the revision")
		require.NoError(t, DefaultConfig().client().CheckRedirect(next, []*http.Request{first}))
		require.Equal(t, tt.kept, next.Header.Get("Authorization") != "", tt.from+" "+tt.to)
	}
}

func TestHookErrorsTellNoAddressOfOurs(t *testing.T) {
	t.Parallel()
	cause := &url.Error{Op: "Post", URL: "https://nowhere.example/x", Err: &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{
		Err: "no such host", Name: "nowhere.example", Server: "10.96.0.10:53", IsNotFound: true,
	}}}
	err := hookError(t.Context(), cause)
	require.Equal(t, "The hook's host is unknown.", handler.Message(err))
	require.Equal(t, domain.FailedDependency, domain.KindOf(err))
	cause.Err = &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "server misbehaving", Name: "nowhere.example", Server: "10.96.0.10:53", IsTemporary: true}}
	err = hookError(t.Context(), cause)
	require.Equal(t, "The hook does not answer: server misbehaving", handler.Message(err))
	require.Equal(t, domain.Internal, domain.KindOf(err), "a resolver that fails is no mistake of the caller")
}

// A mistake in the revision is the caller's to mend: no error of the service.
func TestHookRefusesWhatCannotBeSent(t *testing.T) {
	t.Parallel()
	cfg := DefaultConfig()
	cfg.AllowPrivate = true
	i := hooked(cfg, nil)
	for _, address := range []string{"http://a..b/", "http://" + strings.Repeat("a", 64) + ".example/", "http://127.0.0.1:99999/"} {
		_, err := i.hook(t.Context(), near(t, address))
		require.Equal(t, domain.FailedDependency, domain.KindOf(err), "%s: %v", address, err)
		require.Equal(t, handler.HookClient, handler.ProblemOf(err), address)
	}
	for _, header := range []map[string]any{{"X Y": "a"}, {"": "a"}, {"X:": "a"}, {"Größe": "a"}, {"X": "a\x00b"}, {"X": "a\nb"}} {
		c := near(t, "http://127.0.0.1:1/")
		c.Revision.Headers = header
		_, err := i.hook(t.Context(), c)
		require.Equal(t, domain.Rejected, domain.KindOf(err), "%v: %v", header, err)
		require.Equal(t, handler.InvalidParameter, handler.ProblemOf(err), header)
	}
}

func TestHookIsBounded(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch strings.TrimSuffix(r.URL.Path, "/invoke") {
		case "/large":
			_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
		case "/slow":
			select {
			case <-r.Context().Done():
			case <-release:
			}
		case "/round":
			http.Redirect(w, r, "/round", http.StatusTemporaryRedirect)
		case "/denied":
			http.Error(w, "who are you", http.StatusForbidden)
		case "/broken":
			http.Error(w, "oh no", http.StatusBadGateway)
		default:
			_, _ = io.WriteString(w, "plain text")
		}
	}))
	defer server.Close()
	defer close(release)
	cfg := DefaultConfig()
	cfg.AllowPrivate, cfg.MaxReplyBytes, cfg.MaxRequestBytes, cfg.Timeout = true, 1<<10, 1<<10, time.Minute // the machine may be busy
	i := hooked(cfg, nil)
	cfg.Timeout = 50 * time.Millisecond
	impatient := hooked(cfg, nil)
	for path, want := range map[string]struct {
		kind    domain.Kind
		problem handler.Problem
		says    string
	}{
		"/large":  {domain.Internal, handler.HookClient, "larger than 1024 bytes"},
		"/slow":   {domain.Internal, handler.HookClient, "took too long"},
		"/round":  {domain.Internal, handler.HookClient, "redirects too often"},
		"/denied": {domain.FailedDependency, handler.HookServer, "who are you"},
		"/broken": {domain.Internal, handler.HookServer, "oh no"},
	} {
		room := i
		if path == "/slow" {
			room = impatient
		}
		_, err := room.hook(t.Context(), near(t, server.URL+path))
		require.Equal(t, want.kind, domain.KindOf(err), path)
		require.Equal(t, want.problem, handler.ProblemOf(err), path)
		require.Contains(t, handler.Message(err), want.says)
	}
	outputs, err := i.hook(t.Context(), near(t, server.URL))
	require.NoError(t, err)
	require.Equal(t, "plain text", outputs)
	c := near(t, server.URL)
	c.Inputs["q"] = strings.Repeat("x", 2<<10)
	_, err = i.hook(t.Context(), c)
	require.Equal(t, handler.HookClient, handler.ProblemOf(err))
}

func TestWebhookJudges(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		answer := "0.4"
		if strings.Contains(string(body), `"output":"yes"`) {
			answer = "true"
		}
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	cfg := DefaultConfig()
	cfg.AllowPrivate = true
	i := hooked(cfg, nil)
	for outputs, want := range map[string]map[string]any{"yes": {"success": true}, "no": {"score": 0.4, "success": false}} {
		got, err := i.webhook(t.Context(), &handler.Call{Parameters: map[string]any{"webhook_url": server.URL}, Outputs: outputs})
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := i.webhook(t.Context(), &handler.Call{Parameters: map[string]any{}, Outputs: "x"})
	require.Equal(t, handler.MissingParameter, handler.ProblemOf(err))
}

func FuzzHookAddress(f *testing.F) {
	for _, seed := range []string{"http://example.com", "https://[::1]:80/x", "http://a@b/", "//x", "http://%zz"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		if DefaultConfig().check(address) == nil {
			u, err := url.Parse(address)
			require.NoError(t, err)
			require.Contains(t, []string{"http", "https"}, u.Scheme)
			require.NotEmpty(t, u.Hostname())
			require.Nil(t, u.User)
		}
	})
}
