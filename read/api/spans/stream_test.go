package spans_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/domain/trace/tracejson"
	"colonnade/read/api/spans"
)

// streamOf returns the stream of some spans. It fails with err before the span of
// that number.
func streamOf(spans []trace.Span, fails int, err error) *trace.Stream {
	edges, names := make([]trace.Edge, len(spans)), make([]string, len(spans))
	for i := range spans {
		edges[i], names[i] = trace.EdgeOf(&spans[i]), spans[i].Name
	}
	k := trace.NewSkeleton(edges, names)
	order := tracejson.Order(k)
	return &trace.Stream{ID: spans[0].TraceID, Skeleton: k, Next: func() (*trace.Span, error) {
		if fails--; fails < 0 {
			return nil, err
		}
		span := &spans[order[0]]
		order = order[1:]
		return span, nil
	}}
}

// A trace that is streamed has the same reply as one that is in memory.
func TestStreamedTrace(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"/traces/" + idOfA, "/traces?trace_id=" + idOfA, "/tracing/traces/" + idOfA} {
		d, m := open(t, nil)
		whole := d.do(t, http.MethodGet, target, "")
		require.NoError(t, d.err)
		require.Contains(t, whole.Body.String(), `"Paris"`)
		m.stream = streamOf(m.spans[:3], 3, nil)
		streamed := d.do(t, http.MethodGet, target, "")
		require.NoError(t, d.err)
		require.Equal(t, whole.Body.String(), streamed.Body.String())
		require.Zero(t, m.leases, "the memory is given back")
	}
}

// The error of a stream is returned, never written over: the server breaks the
// connection, since the client has a part of the reply.
func TestStreamThatFails(t *testing.T) {
	t.Parallel()
	d, m := open(t, nil)
	gone := errors.New("the store is gone")
	long := slices.Repeat(m.spans[1:2], 2000)
	for i := range long {
		long[i].SpanID = trace.SpanID{1, byte(i), byte(i >> 8)}
		long[i].Attributes = map[string]any{"text": strings.Repeat("x", 1000)}
	}
	m.stream = streamOf(long, 1500, gone)
	w := d.do(t, http.MethodGet, "/traces/"+idOfA, "")
	require.ErrorIs(t, d.err, gone)
	require.Greater(t, w.Body.Len(), 1<<20, "a part was sent")
	require.NotContains(t, w.Body.String(), "gone")
	require.False(t, json.Valid(w.Body.Bytes()), "the JSON does not end")
	require.Zero(t, m.leases)
}

// A client that takes nothing is disconnected, and its memory is given back.
func TestStalledClient(t *testing.T) {
	t.Parallel()
	m := &memory{}
	s, err := spans.New(spans.DefaultConfig(), m, nil, func() time.Time { return time.Now().Add(200*time.Millisecond - 30*time.Second) })
	require.NoError(t, err)
	endless := trace.Span{TraceID: trace.TraceID{0xa}, Name: "llm", Attributes: map[string]any{"text": strings.Repeat("x", 1<<20)}}
	stream := streamOf(slices.Repeat([]trace.Span{endless}, 4096), 4096, nil) // 4 GiB
	m.stream = stream
	ended := make(chan error, 1)
	engine := gin.New()
	s.Mount(routerFunc(func(op domain.Operation, h func(*gin.Context) error) {
		if op.Path == "/traces/:trace_id" {
			engine.Handle(op.Method, op.Path, func(c *gin.Context) { ended <- h(c) })
		}
	}))
	server := httptest.NewServer(engine)
	t.Cleanup(server.Close)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	_, err = io.WriteString(conn, "GET /traces/"+idOfA+" HTTP/1.1\r\nHost: h\r\n\r\n")
	require.NoError(t, err)
	select {
	case err := <-ended:
		require.Error(t, err)
		require.NotErrorIs(t, err, context.Canceled)
	case <-time.After(30 * time.Second):
		t.Fatal("the handler still waits for the client")
	}
	require.Zero(t, m.leases)
}

type routerFunc func(domain.Operation, func(*gin.Context) error)

func (f routerFunc) Handle(op domain.Operation, h func(*gin.Context) error) { f(op, h) }

// A plan is part of the reply for those who may see it.
func TestExplain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		role, explain, want string
		kind                domain.Kind
	}{
		{domain.RoleDeveloper, "true", `"plan":[]`, 0},
		{domain.RoleDeveloper, "false", "", 0},
		{domain.RoleViewer, "false", "", 0},
		{domain.RoleViewer, "true", "", domain.Forbidden},
		{domain.RoleDeveloper, "yes please", "", domain.Rejected},
	} {
		for _, path := range []string{"/spans/query", "/traces/query"} {
			d, _ := open(t, nil)
			ctx := domain.WithPrincipal(t.Context(), domain.Principal{Project: testProject, Role: tt.role})
			w := httptest.NewRecorder()
			d.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, path+"?explain="+url.QueryEscape(tt.explain), strings.NewReader("{}")))
			if tt.kind != 0 {
				require.Equal(t, tt.kind, domain.KindOf(d.err))
				continue
			}
			require.NoError(t, d.err)
			require.Equal(t, tt.want != "", strings.Contains(w.Body.String(), `"plan"`), w.Body.String())
			require.Contains(t, w.Body.String(), tt.want)
		}
	}
}
