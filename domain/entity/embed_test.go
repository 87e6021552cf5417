package entity_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/entity"
)

// shelf holds documents by slug.
type shelf map[string]string

func (s shelf) lookup(tb testing.TB) entity.Lookup {
	tb.Helper()
	ids := map[string]uuid.UUID{}
	for slug := range s {
		ids[slug] = uuid.NewSHA1(uuid.Nil, []byte(slug))
	}
	return func(_ context.Context, e entity.Embed) (*entity.Revision, error) {
		q, err := e.Retrieval()
		if err != nil {
			return nil, err
		}
		for _, ref := range []domain.Reference{q.Refs.Revision, q.Refs.Variant, q.Refs.Artifact} {
			if text, ok := s[ref.Slug]; ok {
				return &entity.Revision{Record: entity.Record{ID: ids[ref.Slug]}, Data: document(tb, text)}, nil
			}
			if q.Refs.Artifact.Slug == "held" {
				return &entity.Revision{Data: entity.Document{"references": map[string]entity.Entities{"api.main": {"workflow_revision": {Slug: "api-v1"}}}}}, nil
			}
			if ref.Slug == "down" {
				return nil, errors.New("the store is down")
			}
		}
		return nil, nil
	}
}

func embed(slug, path string) string {
	return fmt.Sprintf(`{"@ag.embed":{"@ag.references":{"workflow_variant":{"slug":%q}},"@ag.selector":{"path":%q}}}`, slug, path)
}

func token(slug, path string) string {
	return fmt.Sprintf(`@ag.embed[@ag.references[workflow_variant.slug=%s], @ag.selector[path:%s]]`, slug, path)
}

func TestResolve(t *testing.T) {
	t.Parallel()
	s := shelf{
		"leaf": `{"parameters":{"text":"hello","list":[1,{"k":"v"}]}}`,
		"mid":  `{"parameters":{"inner":` + embed("leaf", "parameters") + `,"say":"<` + token("leaf", "parameters.text") + `>"}}`,
		"self": `{"parameters":{"a":` + embed("self", "parameters.b") + `,"b":"mine"}}`,
	}
	tests := []struct{ name, in, want string }{
		{"nothing to resolve", `{"a":[1,"x",null,{"b":true}]}`, `{"a":[1,"x",null,{"b":true}]}`},
		{"a whole document", `{"x":` + embed("leaf", "") + `}`, `{"x":{"parameters":{"text":"hello","list":[1,{"k":"v"}]}}}`},
		{"a part", `{"x":` + embed("leaf", "parameters.list.1.k") + `}`, `{"x":"v"}`},
		{"in a list", `{"x":[` + embed("leaf", "parameters.text") + `]}`, `{"x":["hello"]}`},
		{"in a string", `{"x":"say ` + token("leaf", "parameters.text") + ` twice ` + token("leaf", "parameters.text") + `"}`, `{"x":"say hello twice hello"}`},
		{"an object in a string", `{"x":"` + token("leaf", "parameters.list") + `"}`, `{"x":"[1,{\"k\":\"v\"}]"}`},
		{"within an embed", `{"x":` + embed("mid", "parameters") + `}`, `{"x":{"inner":{"text":"hello","list":[1,{"k":"v"}]},"say":"<hello>"}}`},
		{"a path through a nested embed", `{"x":` + embed("mid", "parameters.inner.list.1.k") + `}`, `{"x":"v"}`},
		{"a path into an environment", `{"x":{"@ag.embed":{"@ag.references":{"environment":{"slug":"held"}},"@ag.selector":{"path":"references.api.main.workflow_revision.slug"}}}}`, `{"x":"api-v1"}`},
		{"a shorthand", `{"x":"say @{{workflow_variant.slug=leaf, path=parameters.text}}!"}`, `{"x":"say hello!"}`},
		{"a shorthand beside a token", `{"x":"@{{workflow_variant.slug:leaf,path:parameters.text}} ` + token("leaf", "parameters.text") + ` @{{workflow.slug=leaf,path=parameters.text}}"}`, `{"x":"hello hello hello"}`},
		{"a variable behind an at sign", `{"x":"mail @{{user}} or @{{a=b}} or @{{open"}`, `{"x":"mail @{{user}} or @{{a=b}} or @{{open"}`},
		{"another part of itself", `{"x":` + embed("self", "parameters.a") + `}`, `{"x":"mine"}`},
		{"a bracket that never closes", `{"x":"@ag.embed[oops"}`, `{"x":"@ag.embed[oops"}`},
		{"one that never closes before one that does", `{"x":"@ag.embed[ ` + token("leaf", "parameters.text") + `"}`, `{"x":"@ag.embed[ hello"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := document(t, tt.in)
			r := entity.Resolution{Lookup: s.lookup(t), MaxDepth: 10, MaxEmbeds: 100}
			got, info, err := r.Resolve(t.Context(), in)
			require.NoError(t, err)
			text, err := json.Marshal(got)
			require.NoError(t, err)
			require.JSONEq(t, tt.want, string(text))
			require.Len(t, info.ReferencesUsed, info.EmbedsResolved)
			require.True(t, entity.Same(document(t, tt.in), in))
		})
	}
}

func TestResolveFails(t *testing.T) {
	t.Parallel()
	s := shelf{
		"leaf": `{"a":{"b":1}}`,
		"ring": `{"a":` + embed("gnir", "a") + `}`, "gnir": `{"a":` + embed("ring", "a") + `}`,
		"self": `{"a":` + embed("self", "") + `}`,
	}
	for i := range 12 {
		s[fmt.Sprint("deep", i)] = `{"a":` + embed(fmt.Sprint("deep", i+1), "a") + `}`
	}
	s["deep12"] = `{"a":1}`
	tests := []struct{ name, in, placeholder string }{
		{"a circle of two", embed("ring", "a"), "CircularEmbedError"},
		{"a document in itself", embed("self", ""), "CircularEmbedError"},
		{"too deep", embed("deep0", "a"), "MaxDepthExceededError"},
		{"too many", `[` + strings.Repeat(embed("leaf", "a")+",", 100) + embed("leaf", "a") + `]`, "MaxEmbedsExceededError"},
		{"a path to nowhere", embed("leaf", "a.c"), "PathExtractionError"},
		{"a path beyond a scalar", embed("leaf", "a.b.c"), "PathExtractionError"},
		{"nothing there", embed("nope", ""), "EmbedNotFoundError"},
		{"an unknown family", `{"@ag.embed":{"@ag.references":{"thing":{"slug":"x"}}}}`, "EmbedNotFoundError"},
		{"two families", `{"@ag.embed":{"@ag.references":{"workflow":{"slug":"leaf"},"query":{"slug":"leaf"}}}}`, "EmbedNotFoundError"},
		{"no references", `{"@ag.embed":{}}`, "InvalidEmbedError"},
		{"no object", `{"@ag.embed":7}`, "InvalidEmbedError"},
		{"a token without references", `"@ag.embed[x]"`, "InvalidEmbedError"},
		{"a selector that cannot be read", `"@ag.embed[@ag.references[workflow.slug=leaf], @ag.selector[parameters]]"`, "InvalidEmbedError"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := `{"x":` + tt.in + `}`
			r := entity.Resolution{Lookup: s.lookup(t), MaxDepth: 10, MaxEmbeds: 100}
			_, _, err := r.Resolve(t.Context(), document(t, in))
			require.Equal(t, domain.Rejected, domain.KindOf(err), "%v", err)
			require.Error(t, err)

			r.Policy = entity.PlaceholderOnError
			got, info, err := r.Resolve(t.Context(), document(t, in))
			require.NoError(t, err)
			text, err := json.Marshal(got)
			require.NoError(t, err)
			require.Contains(t, strings.ReplaceAll(strings.ReplaceAll(string(text), `\u003c`, "<"), `\u003e`, ">"), "<error:"+tt.placeholder+">")
			require.NotEmpty(t, info.Errors)
		})
	}
	r := entity.Resolution{Lookup: s.lookup(t), MaxDepth: 10, MaxEmbeds: 100, Policy: entity.KeepOnError}
	in := document(t, `{"x":`+embed("nope", "")+`,"y":"`+token("nope", "")+`","z":`+embed("leaf", "a.b")+`}`)
	got, _, err := r.Resolve(t.Context(), in)
	require.NoError(t, err)
	require.Equal(t, in["x"], got["x"])
	require.Equal(t, in["y"], got["y"])
	require.Equal(t, json.Number("1"), got["z"])

	_, _, err = r.Resolve(t.Context(), document(t, `{"x":`+embed("down", "")+`}`))
	require.EqualError(t, err, "the store is down", "a fault of ours falls under no policy")
}

// A string is walked over once, however many tokens it begins.
func TestTokensThatNeverClose(t *testing.T) {
	t.Parallel()
	open := strings.Repeat("@ag.embed[", 100_000)
	s := shelf{"leaf": `{"a":"v"}`}
	r := entity.Resolution{Lookup: s.lookup(t), MaxDepth: 10, MaxEmbeds: 100}
	start := time.Now()
	got, _, err := r.Resolve(t.Context(), entity.Document{"x": open, "y": open + token("leaf", "a") + "]"})
	require.NoError(t, err)
	require.Less(t, time.Since(start), 10*time.Second)
	require.Equal(t, open, got["x"])
	require.Equal(t, strings.TrimSuffix(open, "@ag.embed[")+"v", got["y"], "the last one closes")
}

// Embeds may not multiply what a document holds beyond a bound, whatever the policy.
func TestEmbedsAreBounded(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 1<<20)
	s := shelf{"big": `{}`, "many": `{"a":[` + strings.TrimSuffix(strings.Repeat(embed("big", "a")+",", 20), ",") + `]}`}
	found := s.lookup(t)
	lookup := func(ctx context.Context, e entity.Embed) (*entity.Revision, error) { // a megabyte is not parsed a hundred times
		revision, err := found(ctx, e)
		if revision != nil && len(revision.Data) == 0 {
			revision.Data = entity.Document{"a": big}
		}
		return revision, err
	}
	r := entity.Resolution{Lookup: lookup, MaxDepth: 10, MaxEmbeds: 100, Policy: entity.KeepOnError}
	in := document(t, `{"x":`+embed("many", "a")+`}`)
	in["own"] = strings.Repeat("x", 40<<20)
	got, _, err := r.Resolve(t.Context(), in)
	require.NoError(t, err)
	require.Len(t, got["x"], 20)
	for _, in := range []string{`{"x":[` + embed("many", "a") + `,` + embed("many", "a") + `]}`, `{"x":"` + strings.Repeat(token("big", "a"), 40) + `"}`} {
		_, _, err := r.Resolve(t.Context(), document(t, in))
		require.Equal(t, domain.TooLarge, domain.KindOf(err))
	}
}

func TestTokenForms(t *testing.T) {
	t.Parallel()
	id := uuid.New()
	for in, want := range map[string]entity.Embed{
		"@ag.embed[@ag.references[workflow_revision.id=" + id.String() + "]]":                                     {References: entity.Entities{"workflow_revision": {ID: id}}},
		"@ag.embed[@ag.references[workflow_revision:" + id.String() + "]]":                                        {References: entity.Entities{"workflow_revision": {ID: id}}},
		"@ag.embed[@ag.references[workflow_variant.slug=a, workflow_revision.version=2], @ag.selector[path:x.y]]": {References: entity.Entities{"workflow_variant": {Slug: "a"}, "workflow_revision": {Version: "2"}}, Path: "x.y"},
		"@ag.embed[@ag.references[workflow_revision.slug=x-v1], @ag.selector[path=x.y, key=k]]":                   {References: entity.Entities{"workflow_revision": {Slug: "x-v1"}}, Key: "k", Path: "x.y"},
		"@{{environment.slug=production, key=k, path=x.y}}":                                                       {References: entity.Entities{"environment": {Slug: "production"}}, Key: "k", Path: "x.y"},
		"@ag.embed[@ag.references[environment.slug=production],@ag.selector[key:app.revision,path:parameters]]":   {References: entity.Entities{"environment": {Slug: "production"}}, Key: "app.revision", Path: "parameters"},
	} {
		var got entity.Embed
		r := entity.Resolution{MaxDepth: 1, MaxEmbeds: 1, Lookup: func(_ context.Context, e entity.Embed) (*entity.Revision, error) {
			got = e
			return &entity.Revision{Data: entity.Document{"x": map[string]any{"y": "z"}, "parameters": "p"}}, nil
		}}
		_, _, err := r.Resolve(t.Context(), entity.Document{"s": in})
		require.NoError(t, err, in)
		require.Equal(t, want, got, in)
	}
}

func FuzzResolve(f *testing.F) {
	f.Add([]byte(`{"x":` + embed("leaf", "a") + `,"y":"` + token("leaf", "a") + `"}`))
	f.Add([]byte(`{"x":"@ag.embed[@ag.references[[]]"}`))
	s := shelf{"leaf": `{"a":"v"}`}
	f.Fuzz(func(t *testing.T, in []byte) {
		var d entity.Document
		if json.Unmarshal(in, &d) != nil {
			return
		}
		r := entity.Resolution{Lookup: s.lookup(t), MaxDepth: 3, MaxEmbeds: 10, Policy: entity.KeepOnError}
		_, info, err := r.Resolve(t.Context(), d)
		require.LessOrEqual(t, info.EmbedsResolved, 10)
		if err != nil {
			require.Equal(t, domain.Rejected, domain.KindOf(err))
		}
	})
}

// A slug and a version of a revision are read in three ways, in turn.
func TestLookupByReadings(t *testing.T) {
	t.Parallel()
	var tried []entity.Refs
	look := entity.LookupBy(func(_ context.Context, q entity.Retrieval) (entity.Retrieved, error) {
		tried = append(tried, q.Refs)
		if len(tried) == 1 {
			return entity.Retrieved{}, domain.E(domain.Rejected, "another version")
		}
		if q.Refs.Artifact.Slug == "greeter" {
			return entity.Retrieved{Revision: &entity.Revision{Version: 1}}, nil
		}
		return entity.Retrieved{}, nil
	})
	found, err := look(t.Context(), entity.Embed{References: entity.Entities{"workflow_revision": {Slug: "greeter", Version: "1"}}})
	require.NoError(t, err)
	require.Equal(t, 1, found.Version)
	require.Equal(t, []entity.Refs{
		{Revision: domain.Reference{Slug: "greeter", Version: "1"}},
		{Revision: domain.Reference{Slug: "greeter-1", Version: "1"}},
		{Artifact: domain.Reference{Slug: "greeter", Version: "1"}},
	}, tried)

	tried = nil
	_, err = look(t.Context(), entity.Embed{References: entity.Entities{"workflow_revision": {Slug: "greeter"}}})
	require.Equal(t, domain.Rejected, domain.KindOf(err))
	require.Len(t, tried, 1, "without a version there is one reading")
}
