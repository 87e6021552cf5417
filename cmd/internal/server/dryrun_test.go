package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
)

func TestDryRunOfARouteThatDoesNotKnowIt(t *testing.T) {
	t.Parallel()
	type inner struct {
		Meta map[string]any   `json:"meta"`
		List []inner          `json:"list"`
		Map  map[string]inner `json:"map"`
		Raw  json.RawMessage  `json:"raw"`
	}
	type known struct {
		inner

		DryRun bool `json:"dry_run"`
	}
	s := newServer(t)
	acts := func(c *gin.Context) error {
		if _, err := io.ReadAll(c.Request.Body); err != nil {
			return err
		}
		c.Status(http.StatusAccepted)
		return nil
	}
	op := domain.Operation{Method: http.MethodPost, Permission: domain.EditSpans, Summary: "Act.", Tag: "acts"}
	op.Path, op.Request = "/inner", inner{}
	s.Handle(op, acts)
	op.Path, op.Request = "/known", known{}
	s.Handle(op, acts)
	op.Path, op.Request = "/none", nil
	s.Handle(op, acts)
	for _, tt := range []struct {
		name, path, body, loc string
	}{
		{"no body", "/none", "", ""},
		{"a body that nobody reads", "/none", `{"x":1}`, ""},
		{"no JSON", "/none", `<a/>`, ""},
		{"top", "/none", `{"dry_run":true}`, `["body","dry_run"]`},
		{"below what nobody reads", "/none", `{"a":[{"dry_run":false}]}`, `["body","a",0,"dry_run"]`},
		{"no JSON with the name", "/none", `{"dry_run":`, `["body",`},
		{"top of a body", "/inner", `{"dry_run":null}`, `["body","dry_run"]`},
		{"written with escapes", "/inner", `{"dry\u005Frun":true}`, `["body","dry_run"]`},
		{"another escape", "/inner", `{"m\u00e9":1}`, ""},
		{"in a list", "/inner", `{"list":[{},{"dry_run":true}]}`, `["body","list",1,"dry_run"]`},
		{"in a map", "/inner", `{"map":{"x":{"dry_run":true}}}`, `["body","map","x","dry_run"]`},
		{"a key of a map", "/inner", `{"map":{"dry_run":{}}}`, ""},
		{"data", "/inner", `{"meta":{"dry_run":{"dry_run":[{"dry_run":1}]}},"raw":{"dry_run":1}}`, ""},
		{"a value", "/inner", `{"meta":{"x":"dry_run"}}`, ""},
		{"below an unknown member", "/inner", `{"x":{"dry_run":1}}`, `["body","x","dry_run"]`},
		{"too deep", "/inner", `{"x":"dry_run","y":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}`, `["body","y",0`},
		{"a parameter", "/inner?dry_run=true", `{}`, `["query","dry_run"]`},
		{"a parameter of one that knows the member", "/known?dry_run=1", `{}`, `["query","dry_run"]`},
		{"known", "/known", `{"dry_run":true}`, ""},
		{"twice", "/known", `{"dry_run":true,"dry_run":false}`, `["body","dry_run"]`},
		{"a branch twice", "/known", `{"list":[{"dry_run":1}],"list":[]}`, `["body","list",0,"dry_run"]`},
		{"below what knows it", "/known", `{"list":[{"dry_run":true}]}`, `["body","list",0,"dry_run"]`},
		{"something follows", "/known", `{} {"dry_run":true}`, `["body",`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := s.do(http.MethodPost, tt.path, "ApiKey owner", strings.NewReader(tt.body))
			want := http.StatusAccepted
			if tt.loc != "" {
				want = http.StatusUnprocessableEntity
			}
			require.Equal(t, want, w.Code, w.Body.String())
			require.Contains(t, w.Body.String(), tt.loc)
		})
	}
}
