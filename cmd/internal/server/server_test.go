package server_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"colonnade/cmd/internal/server"
	"colonnade/domain"
	"colonnade/domain/credential"
)

const (
	authKey  = "the administration key"
	tokenKey = "the key of tokens"
)

type fixture struct {
	*server.Server
	log *bytes.Buffer
}

func newServer(t *testing.T, change ...func(*server.Config, *server.Deps)) fixture {
	t.Helper()
	cfg, log := server.DefaultConfig(), &bytes.Buffer{}
	deps := server.Deps{
		Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), Registry: prometheus.NewRegistry(),
		Authenticate: func(_ context.Context, header string) (domain.Principal, error) {
			role, ok := strings.CutPrefix(header, "ApiKey ")
			if !ok {
				return domain.Principal{}, domain.E(domain.Unauthenticated, "Unauthorized")
			}
			return domain.Principal{Project: domain.ProjectID(uuid.Max), Role: role, KeyPrefix: "prefix00", Credential: header}, nil
		},
		Allows: domain.Allows, AuthKey: authKey, Now: time.Now,
		Tokens: func(context.Context) (credential.Positions, error) { return credential.NewPositions([]byte(tokenKey)) },
	}
	for _, c := range change {
		c(&cfg, &deps)
	}
	s, err := server.New(cfg, deps)
	require.NoError(t, err)
	return fixture{s, log}
}

func (f fixture) do(method, path, credential string, body io.Reader, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, body)
	if credential != "" {
		r.Header.Set("Authorization", credential)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	f.Handler().ServeHTTP(w, r)
	return w
}

func says(text string) func(*gin.Context) error {
	return func(c *gin.Context) error {
		c.String(http.StatusOK, text)
		return nil
	}
}

func get(path string, p domain.Permission) domain.Operation {
	return domain.Operation{Method: http.MethodGet, Path: path, Permission: p, Summary: "-", Tag: "test"}
}

// The handler of a stream sees to its own end; that of any other operation is bounded.
func TestAStreamHasNoDeadline(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	tell := func(c *gin.Context) error {
		_, bounded := c.Request.Context().Deadline()
		c.String(http.StatusOK, "%t", bounded)
		return nil
	}
	s.Handle(get("/page", domain.Public), tell)
	endless := get("/events", domain.Public)
	endless.Stream = true
	s.Handle(endless, tell)
	require.Equal(t, "true", s.do(http.MethodGet, "/page", "", nil).Body.String())
	require.Equal(t, "false", s.do(http.MethodGet, "/events", "", nil).Body.String())
	require.Contains(t, s.do(http.MethodGet, "/openapi.json", "", nil).Body.String(), "text/event-stream")
}

func TestEverySpellingOfARouteIsTheSame(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.Handle(domain.Operation{Method: http.MethodPost, Path: "/traces/query", Permission: domain.Public, Preview: true}, says("query"))
	s.Handle(domain.Operation{Method: http.MethodPost, Path: "/traces/", Permission: domain.Public}, says("create"))
	s.Handle(get("/traces/:trace_id", domain.Public), func(c *gin.Context) error {
		c.String(http.StatusOK, "trace "+c.Param("trace_id"))
		return nil
	})
	tests := []struct {
		method, path string
		status       int
		want         string
	}{
		{"POST", "/traces/query", 200, "query"},
		{"POST", "/traces/query/", 200, "query"},
		{"POST", "/api/traces/query", 200, "query"},
		{"POST", "/api/api/api/traces/query/", 200, "query"},
		{"POST", "/preview/traces/query", 200, "query"},
		{"POST", "/api/preview/traces/query/", 200, "query"},
		{"POST", "/traces", 200, "create"},
		{"POST", "/traces/", 200, "create"},
		{"GET", "/traces/abc", 200, "trace abc"},
		{"GET", "/traces/abc/", 200, "trace abc"},
		{"GET", "/traces/query", 405, `{"detail":"Method Not Allowed"}`},
		{"DELETE", "/traces/query/", 405, `{"detail":"Method Not Allowed"}`},
		{"PUT", "/traces/", 405, `{"detail":"Method Not Allowed"}`},
		{"POST", "/preview/traces/", 404, `{"detail":"Not Found"}`},
		{"GET", "/apitraces/abc", 404, `{"detail":"Not Found"}`},
		{"GET", "/", 404, `{"detail":"Not Found"}`},
		{"GET", "/api", 404, `{"detail":"Not Found"}`},
		{"GET", "/traces//", 404, `{"detail":"Not Found"}`},
		{"GET", "/no/such", 404, `{"detail":"Not Found"}`},
	}
	for _, tt := range tests {
		t.Run(tt.method+tt.path, func(t *testing.T) {
			t.Parallel()
			w := s.do(tt.method, tt.path, "", nil)
			require.Equal(t, tt.want, w.Body.String())
			require.Equal(t, tt.status, w.Code)
			require.Empty(t, w.Header().Get("Location"))
		})
	}
	require.Equal(t, "true", s.do("POST", "/preview/traces/query", "", nil).Header().Get("Deprecation"))
	require.Empty(t, s.do("POST", "/traces/query", "", nil).Header().Get("Deprecation"))
}

func TestWhoMayCall(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	seen := func(c *gin.Context) error {
		c.String(http.StatusOK, domain.PrincipalFrom(c.Request.Context()).Role+domain.PrincipalFrom(c).KeyPrefix)
		return nil
	}
	s.Handle(get("/public", domain.Public), seen)
	s.Handle(get("/any", domain.Authenticated), seen)
	s.Handle(get("/edit", domain.EditSpans), seen)
	s.Handle(get("/admin", domain.Admin), seen)
	const unauthorized = `{"detail":{"message":"Unauthorized"}}`
	tests := []struct {
		name, path, credential string
		status                 int
		want                   string
	}{
		{"public asks nothing", "/public", "", 200, ""},
		{"no credential", "/any", "", 401, unauthorized},
		{"any credential", "/any", "ApiKey viewer", 200, "viewerprefix00"},
		{"a role with the permission", "/edit", "ApiKey owner", 200, "ownerprefix00"},
		{"a role without it", "/edit", "ApiKey viewer", 403, `{"detail":"You do not have access to perform this action. Please contact your organization admin."}`},
		{"an unknown role", "/edit", "ApiKey king", 403, `{"detail":"You do not have access to perform this action. Please contact your organization admin."}`},
		{"project null", "/any?project_id=null", "ApiKey owner", 401, unauthorized},
		{"project zero", "/any?project_id=00000000-0000-0000-0000-000000000000", "ApiKey owner", 401, unauthorized},
		{"another project is ignored", "/any?project_id=" + uuid.NewString(), "ApiKey owner", 200, "ownerprefix00"},
		{"administration", "/admin", "Access " + authKey, 200, ""},
		{"administration with a wrong key", "/admin", "Access x", 401, unauthorized},
		{"administration with an API key", "/admin", "ApiKey owner", 401, unauthorized},
		{"administration without a scheme", "/admin", authKey, 401, unauthorized},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := s.do("GET", tt.path, tt.credential, nil)
			require.Equal(t, tt.want, w.Body.String())
			require.Equal(t, tt.status, w.Code)
		})
	}
}

func TestNoAdministrationWithoutAKey(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(_ *server.Config, d *server.Deps) { d.AuthKey = "" })
	s.Handle(get("/admin", domain.Admin), says("never"))
	for _, credential := range []string{"", "Access ", "Access " + authKey} {
		w := s.do("GET", "/admin", credential, nil)
		require.Equal(t, 404, w.Code)
		require.JSONEq(t, `{"detail":"Not Found"}`, w.Body.String())
	}
}

func TestErrorsBecomeReplies(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		err    error
		status int
		want   string
		header http.Header
	}{
		{"rejected", domain.E(domain.Rejected, "Invalid %s.", "trace_id"), 400, `{"detail":"Invalid trace_id."}`, nil},
		{
			"unauthenticated with a reason", &domain.Error{Kind: domain.Unauthenticated, Detail: map[string]any{"message": "Unauthorized", "reason": "expired_signature"}},
			401, `{"detail":{"message":"Unauthorized","reason":"expired_signature"}}`, nil,
		},
		{"not found", domain.E(domain.NotFound, "Project not found"), 404, `{"detail":"Project not found"}`, nil},
		{"conflict", &domain.Error{Kind: domain.Conflict, Message: "x", Detail: map[string]any{"conflict": 1}}, 409, `{"detail":{"conflict":1}}`, nil},
		{
			"invalid", &domain.Error{Kind: domain.Invalid, Fields: []domain.Field{{Type: "missing", Loc: []any{"body", "a", 0}, Msg: "Field required"}}},
			422, `{"detail":[{"type":"missing","loc":["body","a",0],"msg":"Field required","input":null}]}`, nil,
		},
		{"too many", &domain.Error{Kind: domain.TooMany, Message: "Slow.", RetryAfter: 1500 * time.Millisecond}, 429, `{"detail":"Slow."}`, http.Header{"Retry-After": {"2"}}},
		{"unavailable", domain.E(domain.Unavailable, "No broker."), 503, `{"detail":"No broker."}`, http.Header{"Retry-After": {"1"}}},
		{"too large by the reader", &http.MaxBytesError{Limit: 7}, 413, `{"detail":"The request body exceeds 7 bytes."}`, nil},
		{"too slow", context.DeadlineExceeded, 503, `{"detail":"The request took too long and was given up. Narrow the time window or the filter, or try again."}`, nil},
		{
			"not classified", errors.New("a secret"), 500,
			`{"detail":{"message":"An unexpected error occurred. Please try again later or contact support.","operation_id":"get_fails_id"}}`, nil,
		},
		{"wrapped", errors.Join(domain.E(domain.NotAcceptable, "No.")), 406, `{"detail":"No."}`, nil},
		{"dependency", domain.E(domain.FailedDependency, "No."), 424, `{"detail":"No."}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			s.Handle(get("/fails/:id", domain.Public), func(*gin.Context) error { return tt.err })
			w := s.do("GET", "/fails/1", "", nil)
			require.JSONEq(t, tt.want, w.Body.String())
			require.Equal(t, tt.status, w.Code)
			require.Equal(t, "application/json", w.Header().Get("Content-Type"))
			for name, want := range tt.header {
				require.Equal(t, want, w.Header().Values(name))
			}
			support := w.Header().Get("x-ag-support-id")
			require.Equal(t, tt.status >= 500, support != "")
			require.Equal(t, tt.status >= 500, w.Header().Get("x-ag-support-ts") != "")
			require.Contains(t, s.log.String(), support, "the log finds what the caller reports")
		})
	}
}

// A name is in the location of everything below it: a reply is no larger for a long one.
func TestARefusalIsShort(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	long := strings.Repeat("n", 1<<20)
	fields := make([]domain.Field, 1000)
	for i := range fields {
		fields[i] = domain.Field{Type: "extra_forbidden", Loc: []any{"body", long, i}, Input: map[string]any{"a": []any{long}}}
	}
	fields[0].Input = map[string]any{"a": []any{1.5, "x"}}
	s.Handle(get("/fails/:id", domain.Public), func(*gin.Context) error { return &domain.Error{Kind: domain.Invalid, Fields: fields} })
	w := s.do("GET", "/fails/1", "", nil)
	require.Less(t, w.Body.Len(), 200_000)
	var reply struct{ Detail []domain.Field }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &reply))
	require.Len(t, reply.Detail, 100)
	require.Equal(t, map[string]any{"a": []any{1.5, "x"}}, reply.Detail[0].Input)
	require.Nil(t, reply.Detail[1].Input)
	require.Equal(t, long, fields[0].Loc[1], "the log has it whole")
}

func TestAPanicIsA500(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.Handle(get("/panics", domain.Public), func(*gin.Context) error { panic("oh") })
	w := s.do("GET", "/panics", "", nil)
	require.Equal(t, 500, w.Code)
	require.NotContains(t, w.Body.String(), "oh")
	require.Contains(t, s.do("GET", "/metrics", "Access "+authKey, nil).Body.String(), "colonnade_server_panics_total 1")
}

func TestOTLPErrorsSpeakOTLP(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	op := domain.Operation{Method: http.MethodPost, Path: "/otlp/v1/traces", Permission: domain.EditSpans}
	s.Handle(op, func(*gin.Context) error { return domain.E(domain.Rejected, "Bad.") })
	w := s.do("POST", "/api/otlp/v1/traces", "ApiKey owner", nil, "Content-Type", "application/x-protobuf")
	require.Equal(t, 400, w.Code)
	require.Equal(t, "application/x-protobuf", w.Header().Get("Content-Type"))
	var status rpcstatus.Status
	require.NoError(t, proto.Unmarshal(w.Body.Bytes(), &status))
	require.Equal(t, "Bad.", status.GetMessage())

	w = s.do("POST", "/otlp/v1/traces", "ApiKey owner", nil, "Content-Type", "application/json")
	require.JSONEq(t, `{"code":3,"message":"Bad.","detail":"Bad."}`, w.Body.String())

	w = s.do("POST", "/otlp/v1/traces", "", nil, "Content-Type", "application/x-protobuf")
	require.JSONEq(t, `{"detail":{"message":"Unauthorized"}}`, w.Body.String())
}

func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	read := func(c *gin.Context) error {
		_, err := io.ReadAll(c.Request.Body)
		return err
	}
	s.Handle(domain.Operation{Method: http.MethodPost, Path: "/small", Permission: domain.Public, Limit: 10}, read)
	require.Equal(t, 200, s.do("POST", "/small", "", strings.NewReader("0123456789")).Code)
	require.Equal(t, 413, s.do("POST", "/small", "", strings.NewReader("0123456789a")).Code)
	// Without a length, the reader finds out.
	require.Equal(t, 413, s.do("POST", "/small", "", struct{ io.Reader }{strings.NewReader("0123456789a")}).Code)
}

func TestRepliesAreCompressedFromAThousandBytes(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.Handle(get("/small", domain.Public), says(strings.Repeat("a", 999)))
	s.Handle(get("/large", domain.Public), says(strings.Repeat("a", 1000)))
	s.Handle(get("/pieces", domain.Public), func(c *gin.Context) error {
		for range 300 {
			if _, err := c.Writer.WriteString("0123456789"); err != nil {
				return err
			}
		}
		return nil
	})
	s.Handle(get("/flushed", domain.Public), func(c *gin.Context) error {
		_, err := c.Writer.WriteString("first")
		c.Writer.Flush()
		return err
	})
	s.Handle(get("/fails", domain.Public), func(*gin.Context) error { return domain.E(domain.Rejected, "%s", strings.Repeat("x", 2000)) })
	plain := func(path, accept string) (string, string) {
		w := s.do("GET", path, "", nil, "Accept-Encoding", accept)
		if w.Header().Get("Content-Encoding") != "gzip" {
			return w.Body.String(), ""
		}
		r, err := gzip.NewReader(w.Body)
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		return string(text), "gzip"
	}
	tests := []struct{ path, accept, want, encoding string }{
		{"/small", "gzip", strings.Repeat("a", 999), ""},
		{"/large", "br, gzip;q=0.5", strings.Repeat("a", 1000), "gzip"},
		{"/large", "gzip;q=0", strings.Repeat("a", 1000), ""},
		{"/large", "", strings.Repeat("a", 1000), ""},
		{"/pieces", "*", strings.Repeat("0123456789", 300), "gzip"},
		{"/flushed", "gzip", "first", ""},
		{"/fails", "gzip", `{"detail":"` + strings.Repeat("x", 2000) + `"}`, "gzip"},
	}
	for _, tt := range tests {
		text, encoding := plain(tt.path, tt.accept)
		require.Equal(t, tt.want, text, tt.path)
		require.Equal(t, tt.encoding, encoding, tt.path)
	}
}

// Anyone may ask whether the service is ready; what the stores answer, which has addresses and
// names in it, is for members of a project.
func TestReadinessNamesWhatDoesNotHold(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(_ *server.Config, d *server.Deps) {
		d.Checks = []server.Check{
			{Name: "clickhouse", Probe: func(context.Context) error { return nil }},
			{
				Name: "sink", Probe: func(context.Context) error { return errors.New("dial tcp 10.0.0.7:9000: refused") },
				Lag: func() time.Duration { return 1500 * time.Millisecond },
			},
		}
		d.Problems = func() []string { return []string{"/data/kafka/0.dat is damaged"} }
	})
	w := s.do("GET", "/readyz", "", nil)
	require.Equal(t, 503, w.Code)
	require.JSONEq(t, `{"status":"unavailable","checks":{"clickhouse":{"status":"ok"},"sink":{"status":"unavailable","lag_seconds":1.5}},"problems":1}`, w.Body.String())
	require.Equal(t, 401, s.do("GET", "/status", "", nil).Code)
	require.Equal(t, 403, s.do("GET", "/status", "ApiKey nobody", nil).Code)
	w = s.do("GET", "/status", "ApiKey viewer", nil)
	require.Equal(t, 200, w.Code)
	var got server.Readiness
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
	for name, check := range got.Checks {
		check.DurationMS = 0
		got.Checks[name] = check
	}
	lag := 1.5
	want := server.Readiness{Status: "unavailable", Problems: []string{"/data/kafka/0.dat is damaged"}, Checks: map[string]server.CheckResult{
		"clickhouse": {CheckState: server.CheckState{Status: "ok"}},
		"sink":       {CheckState: server.CheckState{Status: "unavailable", LagSeconds: &lag}, Error: "dial tcp 10.0.0.7:9000: refused"},
	}}
	require.Empty(t, cmp.Diff(want, got))
	require.JSONEq(t, `{"status":"ok"}`, s.do("GET", "/api/health", "", nil).Body.String())
	require.Equal(t, 200, s.do("GET", "/healthz", "", nil).Code)
}

// Metrics name the stores and how much each project writes: at the listener of the API they
// need the administration key, unless a listener of the operator's network has them.
func TestMetricsAreNotForEveryone(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	require.Equal(t, 401, s.do("GET", "/metrics", "", nil).Code)
	require.Equal(t, 401, s.do("GET", "/metrics", "ApiKey owner", nil).Code)
	require.Equal(t, 200, s.do("GET", "/metrics", "Access "+authKey, nil).Code)
	s = newServer(t, func(_ *server.Config, d *server.Deps) { d.AuthKey = "" })
	require.Equal(t, 404, s.do("GET", "/metrics", "", nil).Code)

	s = newServer(t, func(c *server.Config, _ *server.Deps) { c.AdminAddr = "127.0.0.1:0" })
	require.Equal(t, 404, s.do("GET", "/metrics", "Access "+authKey, nil).Code)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.RunAdmin(ctx, listener) }()
	for path, want := range map[string]int{"/metrics": 200, "/healthz": 200, "/readyz": 200, "/status": 404, "/openapi.json": 404, "/admin/profiles/heap": 404} {
		res, err := http.Get("http://" + listener.Addr().String() + path)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, want, res.StatusCode, path)
	}
	stop()
	require.NoError(t, <-ended)
}

func TestTheLogHoldsNoSecrets(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.Handle(get("/edit", domain.EditSpans), says("x"))
	s.do("GET", "/edit?token=hunter2", "ApiKey viewer.hunter3", nil)
	s.do("GET", "/edit", "ApiKey owner", nil)
	require.NotContains(t, s.log.String(), "hunter")
	require.Contains(t, s.log.String(), "key_prefix=prefix00")
}

func TestMetricsAreByTemplate(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.Handle(get("/things/:id", domain.Public), says("x"))
	s.do("GET", "/things/1", "", nil)
	s.do("GET", "/things/2", "", nil)
	s.do("BREW", "/things/2", "", nil)
	text := s.do("GET", "/metrics", "Access "+authKey, nil).Body.String()
	require.Contains(t, text, `colonnade_server_requests_total{method="GET",route="/things/:id",status="200"} 2`)
	require.Contains(t, text, `colonnade_server_requests_total{method="other",route="none",status="405"} 1`)
}

func TestTheListenerSpeaksTLS(t *testing.T) {
	t.Parallel()
	issued := httptest.NewTLSServer(nil) // for its certificate
	defer issued.Close()
	s := newServer(t, func(_ *server.Config, d *server.Deps) {
		d.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, Certificates: issued.TLS.Certificates}, nil
		}}
	})
	s.Handle(get("/secured", domain.Public), func(c *gin.Context) error {
		c.String(http.StatusOK, "%t", c.Request.TLS != nil)
		return nil
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, listener) }()
	client := issued.Client()
	transport, ok := client.Transport.(*http.Transport)
	require.True(t, ok)
	for _, h2 := range []bool{false, true} {
		transport.ForceAttemptHTTP2 = h2
		res, err := client.Get("https://" + listener.Addr().String() + "/secured")
		require.NoError(t, err)
		text, err := io.ReadAll(res.Body)
		require.NoError(t, errors.Join(err, res.Body.Close()))
		require.Equal(t, "true", string(text))
	}
	res, err := http.Get("http://" + listener.Addr().String() + "/secured")
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, 400, res.StatusCode, "a client that speaks clear text")
	client.CloseIdleConnections()
	stop()
	require.NoError(t, <-ended)
}

func TestAStopLetsRequestsFinish(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	s.Handle(get("/slow", domain.Public), func(c *gin.Context) error {
		close(entered)
		<-leave
		c.String(http.StatusOK, "done")
		return c.Request.Context().Err()
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, listener) }()
	reply := make(chan string, 1)
	go func() {
		res, err := http.Get("http://" + listener.Addr().String() + "/slow")
		if err != nil {
			reply <- err.Error()
			return
		}
		text, err := io.ReadAll(res.Body)
		reply <- string(text) + errText(errors.Join(err, res.Body.Close()))
	}()
	<-entered
	stop()
	close(leave)
	require.Equal(t, "done", <-reply)
	require.NoError(t, <-ended)
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestProfilesAreForAdministrators(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	require.Equal(t, 401, s.do("GET", "/admin/profiles/heap", "ApiKey owner", nil).Code)
	for name, want := range map[string]int{"heap": 200, "goroutine": 200, "nothing": 404, "cpu?seconds=0": 400} {
		require.Equal(t, want, s.do("GET", "/admin/profiles/"+name, "Access "+authKey, nil).Code, name)
	}
}

func TestOperationsAreRecorded(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.Handle(get("/a/", domain.ViewSpans), says(""))
	operations := s.Operations()
	paths := make([]string, 0, len(operations))
	for _, op := range operations {
		require.NotEmpty(t, op.Permission)
		paths = append(paths, op.Path)
	}
	require.Equal(t, []string{"/health", "/healthz", "/readyz", "/status", "/metrics", "/admin/profiles/:name", "/openapi.json", "/docs", "/docs/:file", "/a/"}, paths)
	require.Panics(t, func() { s.Handle(domain.Operation{Method: "GET", Path: "/open"}, says("")) })
}

// A body that stops arriving is answered with 408, whatever its reader made of it.
func TestABodyThatStopsArriving(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(c *server.Config, _ *server.Deps) { c.RequestTimeout = 50 * time.Millisecond })
	read := func(wrap func(error) error) func(*gin.Context) error {
		return func(c *gin.Context) error {
			_, err := io.ReadAll(c.Request.Body)
			return wrap(err)
		}
	}
	post := func(path string) domain.Operation {
		return domain.Operation{Method: http.MethodPost, Path: path, Permission: domain.ViewSpans}
	}
	s.Handle(post("/plain"), read(func(err error) error { return err }))
	s.Handle(post("/otlp/v1/traces"), read(func(err error) error { return domain.Wrap(domain.Rejected, err, "not a stream") }))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, listener) }()
	for _, path := range []string{"/plain", "/otlp/v1/traces"} {
		conn, err := net.Dial("tcp", listener.Addr().String())
		require.NoError(t, err)
		_, err = io.WriteString(conn, "POST "+path+" HTTP/1.1\r\nHost: x\r\nAuthorization: ApiKey viewer\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\nhalf")
		require.NoError(t, err)
		reply, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		text, err := io.ReadAll(reply.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusRequestTimeout, reply.StatusCode, "%s: %s", path, text)
		require.Contains(t, string(text), "did not arrive in time", path)
		require.True(t, reply.Close, "what else comes is of no request")
		require.NoError(t, reply.Body.Close())
		require.NoError(t, conn.Close())
	}
	stop()
	require.NoError(t, <-done)
}
