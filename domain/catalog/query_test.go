package catalog_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/catalog"
	"colonnade/domain/request"
)

func TestReadQuery(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"nothing", `{}`, `{}`},
		{
			"all of it", `{"formatting":{"focus":"trace","format":"agenta"},"filtering":{"operator":"or","conditions":[{"field":"span_name","operator":"startswith","value":"a"}]},
			"windowing":{"limit":1,"order":"ascending","rate":0.25,"oldest":"2026-01-01"},"trace_ids":["31d6cfe04b9011ec800142010a8000b0"],"traces":[]}`,
			`{"formatting":{"focus":"trace","format":"agenta"},"filtering":{"operator":"or","conditions":[{"field":"span_name","operator":"startswith","value":"a"}]},
			"windowing":{"limit":1,"order":"ascending","rate":0.25,"oldest":"2026-01-01T00:00:00Z"},"trace_ids":["31d6cfe04b9011ec800142010a8000b0"],"traces":[]}`,
		},
		{"nulls are absent", `{"formatting":null,"filtering":null,"windowing":{"limit":null,"rate":null}}`, `{"windowing":{"limit":null,"rate":null}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o, err := request.ParseObject([]byte(tt.in))
			require.NoError(t, err)
			data := catalog.ReadQuery(o)
			require.NoError(t, o.Err())
			text, err := json.Marshal(data)
			require.NoError(t, err)
			require.JSONEq(t, tt.want, string(text))
		})
	}
}

// What no trace query would take is refused where it is committed, at its location.
func TestReadQueryRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		loc      []any
	}{
		{"an unknown member", `{"filter":{}}`, []any{"body", "filter"}},
		{"an unknown focus", `{"formatting":{"focus":"tree"}}`, []any{"body", "formatting", "focus"}},
		{"an unknown format", `{"formatting":{"format":"xml"}}`, []any{"body", "formatting", "format"}},
		{"an unknown operator", `{"filtering":{"conditions":[{"field":"span_name","operator":"resembles","value":"a"}]}}`, []any{"body", "filtering", "conditions", 0, "operator"}},
		{"a page of nothing", `{"windowing":{"limit":0}}`, []any{"body", "windowing", "limit"}},
		{"an unknown order", `{"windowing":{"order":"upwards"}}`, []any{"body", "windowing", "order"}},
		{"a moment that is none", `{"windowing":{"newest":"soon"}}`, []any{"body", "windowing", "newest"}},
		{"more than all", `{"windowing":{"rate":1.5}}`, []any{"body", "windowing", "rate"}},
		{"a share that is no number", `{"windowing":{"rate":"half"}}`, []any{"body", "windowing", "rate"}},
		{"an unknown member of the window", `{"windowing":{"offset":1}}`, []any{"body", "windowing", "offset"}},
		{"an id that names no trace", `{"trace_ids":["31d6cfe04b9011ec800142010a8000b0","a"]}`, []any{"body", "trace_ids", 1}},
		{"ids that are no list", `{"trace_ids":"a"}`, []any{"body", "trace_ids"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o, err := request.ParseObject([]byte(tt.in))
			require.NoError(t, err)
			catalog.ReadQuery(o)
			refused, ok := errors.AsType[*domain.Error](o.Err())
			require.True(t, ok)
			require.Len(t, refused.Fields, 1)
			require.Empty(t, cmp.Diff(tt.loc, refused.Fields[0].Loc))
		})
	}
}
