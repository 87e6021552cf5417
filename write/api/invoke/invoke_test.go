package invoke

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
)

// A revision comes in three forms, and members that nothing reads are no error.
func TestReadRevision(t *testing.T) {
	t.Parallel()
	const data = `{"uri":"svc:builtin:echo:v0","parameters":{"a":1}}`
	tests := []struct{ name, in string }{
		{"at data.revision", `{"data":{"inputs":{"x":1},"revision":` + data + `}}`},
		{"at data.revision.data", `{"data":{"inputs":{"x":1},"outputs":"o","revision":{"id":"1","data":` + data + `}}}`},
		{"at revision.data", `{"data":{"inputs":{"x":1}},"revision":{"version":"3","data":` + data + `}}`},
		{"at revision, without data", `{"revision":{"data":` + data + `}}`},
		{"links within data", `{"data":{"links":{"invocation":{"trace_id":"no id"}},"revision":` + data + `},"nobody":{"reads":"this"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req, err := invocations{}.read(posted(tt.in))
			require.NoError(t, err)
			require.Equal(t, "svc:builtin:echo:v0", req.Data.Revision["uri"])
			require.Contains(t, req.Data.Revision["parameters"], "a")
			require.Empty(t, req.Links)
		})
	}
	for _, in := range []string{`{"revision":{"data":7}}`, `{"data":{"revision":{"data":[]}}}`, `{"data":{"inputs":7}}`} {
		_, err := invocations{}.read(posted(in))
		require.Equal(t, domain.Invalid, domain.KindOf(err), in)
	}
}

func posted(body string) *gin.Context {
	c, _ := gin.CreateTestContext(httptest.NewRecorder())
	c.Request = httptest.NewRequest(http.MethodPost, "/services/invoke", strings.NewReader(body))
	return c
}
