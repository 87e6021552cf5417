package template_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/write/invoke/template"
)

const vars = `{
	"country": "France", "n": 3, "x": 1.5, "yes": true, "none": null, "nix": null, "nixes": [1, null, "a"], "nested": {"k": null}, "empty": "", "html": "<b>&\"</b>",
	"geo": {"capital": "Paris", "rivers": ["Seine", "Loire"], "a.b": 1}, "dotted.key": "literal",
	"list": [{"q": "one"}, {"q": "two"}], "sneaky": "{{country}} {country} {% raw %} {{$.n}}",
	"slash/key": "s", "tilde~key": "t", "inputs": {"country": "France"}
}`

func variables(t testing.TB) map[string]any {
	t.Helper()
	v, err := jsonvalue.Parse([]byte(vars))
	require.NoError(t, err)
	return v.(map[string]any)
}

func TestRender(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		format template.Format
		in     string
		want   string
	}{
		{"curly variable", template.Curly, "The capital of {{country}}?", "The capital of France?"},
		{"curly spaces", template.Curly, "{{ country }}", "France"},
		{"curly dotted", template.Curly, "{{geo.capital}} {{geo.rivers.1}}", "Paris Loire"},
		{"curly literal key first", template.Curly, "{{dotted.key}}", "literal"},
		{"curly JSONPath", template.Curly, "{{$.geo.rivers[0]}} {{ $['geo']['capital'] }}", "Seine Paris"},
		{"curly JSONPath of several", template.Curly, "{{$.list[*].q}}", `["one","two"]`},
		{"curly JSONPath descends", template.Curly, "{{$..capital}}", "Paris"},
		{"curly JSONPath filters", template.Curly, "{{$.list[?(@.q == 'two')].q}}", "two"},
		{"curly JSON Pointer", template.Curly, "{{/geo/rivers/0}} {{/slash~1key}} {{/tilde~0key}}", "Seine s t"},
		{"curly object is compact JSON", template.Curly, "{{geo}}", `{"a.b":1,"capital":"Paris","rivers":["Seine","Loire"]}`},
		{"curly scalars", template.Curly, "{{n}} {{x}} {{yes}} {{none}} [{{empty}}]", "3 1.5 true null []"},
		{"curly value is not read again", template.Curly, "{{sneaky}}", "{{country}} {country} {% raw %} {{$.n}}"},
		{"curly under inputs", template.Curly, "{{inputs.country}}", "France"},
		{"curly dollar text", template.Curly, `costs $1 \1 {{country}}`, `costs $1 \1 France`},
		{"mustache variable", template.Mustache, "{{country}} {{{country}}} {{& country}}", "France France France"},
		{"mustache escapes nothing", template.Mustache, "{{html}}", `<b>&"</b>`},
		{"mustache missing is empty", template.Mustache, "[{{nowhere}}{{geo.nowhere}}{{none}}]", "[]"},
		{"mustache dotted", template.Mustache, "{{geo.capital}}", "Paris"},
		{"mustache index", template.Mustache, "{{geo.rivers.1}} {{list.0.q}} {{{list.1.q}}} {{&geo.rivers.0}} [{{list.7.q}}]", "Loire one two Seine []"},
		{"mustache index in a section", template.Mustache, "{{#list}}{{q}}{{geo.rivers.0}} {{/list}}", "oneSeine twoSeine "},
		{"mustache object", template.Mustache, "{{geo}}", `{"a.b":1,"capital":"Paris","rivers":["Seine","Loire"]}`},
		{"mustache numbers", template.Mustache, "{{n}} {{x}} {{yes}}", "3 1.5 true"},
		{"mustache section", template.Mustache, "{{#list}}<{{q}}>{{/list}}{{^nowhere}}none{{/nowhere}}", "<one><two>none"},
		{"mustache dot", template.Mustache, "{{#geo.rivers}}{{.}},{{/geo.rivers}}", "Seine,Loire,"},
		{"mustache comment", template.Mustache, "a{{! nothing }}b", "ab"},
		{"mustache JSONPath", template.Mustache, "{{$.geo.rivers[0]}} {{{$.n}}}", "Seine 3"},
		{"mustache JSONPath in a section", template.Mustache, "{{#list}}{{$.n}}{{/list}}", "33"},
		{"mustache value is not read again", template.Mustache, "{{sneaky}} {{$.sneaky}}", "{{country}} {country} {% raw %} {{$.n}} {{country}} {country} {% raw %} {{$.n}}"},
		{"fstring variable", template.FString, "The capital of {country}?", "The capital of France?"},
		{"fstring index", template.FString, "{geo[capital]} {geo[rivers][1]} {list[0][q]}", "Paris Loire one"},
		{"fstring braces", template.FString, "{{country}} {{{country}}}", "{country} {France}"},
		{"fstring words of Python", template.FString, "{yes} {none} {n} {x}", "True None 3 1.5"},
		{"fstring conversion", template.FString, "{country!r} {country!s}", "'France' France"},
		{"fstring width", template.FString, "[{country:>8}] [{country:<8}] [{country:*^8}] [{country:.2}]", "[  France] [France  ] [*France*] [Fr]"},
		{"fstring numbers", template.FString, "{n:03d} {x:.2f} {x:+.1f} {n:>4} {x:.0%} {n:b}", "003 1.50 +1.5    3 150% 11"},
		{"fstring value is not read again", template.FString, "{sneaky}", "{{country}} {country} {% raw %} {{$.n}}"},
		{"jinja2 variable", template.Jinja2, "The capital of {{ country }}?", "The capital of France?"},
		{"jinja2 dotted", template.Jinja2, "{{ geo.capital }} {{ geo['rivers'][0] }}", "Paris Seine"},
		{"jinja2 loop", template.Jinja2, "{% for l in list %}{{ loop.index }}:{{ l.q }} {% endfor %}", "1:one 2:two "},
		{"jinja2 condition", template.Jinja2, "{% if n > 2 %}many{% else %}few{% endif %}", "many"},
		{"jinja2 filter", template.Jinja2, "{{ country|upper }} {{ geo.rivers|join(', ') }}", "FRANCE Seine, Loire"},
		{"jinja2 missing is empty", template.Jinja2, "[{{ nowhere }}]", "[]"},
		{"jinja2 escapes nothing", template.Jinja2, "{{ html }}", `<b>&"</b>`},
		{"jinja2 None", template.Jinja2, "{{ nix }} {{ nixes }} {{ nix|default('d') }} {{ nix|default('d', true) }} {{ nowhere|default('d') }} {% if nix is none and not nix and nix is defined %}y{% endif %}", "None [1, None, 'a'] None d d y"},
		{"jinja2 None in an object", template.Jinja2, "{{ nested }} {{ nested.k is none }}", "{'k': None} True"},
		{"jinja2 powers", template.Jinja2, "{{ 2**3 }} {{ n ** 2 }} {{ 2**0.5 > 1.4 }} {{ '2**3' }}", "8 9 True 2**3"},
		{"jinja2 JSONPath", template.Jinja2, "{{ $.geo.rivers[1] }} {{ n }}", "Loire 3"},
		{"jinja2 value is not read again", template.Jinja2, "{{ sneaky }}", "{{country}} {country} {% raw %} {{$.n}}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := template.Render(tt.format, tt.in, variables(t), template.DefaultLimits())
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestRenderRefuses(t *testing.T) {
	t.Parallel()
	small := template.Limits{MaxTemplateBytes: 1 << 10, MaxOutputBytes: 64}
	for _, tt := range []struct {
		name   string
		format template.Format
		in     string
		kind   domain.Kind
		want   string
	}{
		{"curly names all", template.Curly, "{{b}} {{country}} {{ a.x }} {{b}}", domain.Rejected, "Unreplaced variables in curly template: ['a.x', 'b']."},
		{"curly JSONPath to nothing", template.Curly, "{{$.nowhere}}", domain.Rejected, "['$.nowhere']"},
		{"curly pointer to nothing", template.Curly, "{{/geo/rivers/7}}", domain.Rejected, "['/geo/rivers/7']"},
		{"curly path that is none", template.Curly, "{{$nowhere}}", domain.Rejected, "['$nowhere']"},
		{"curly path that multiplies", template.Curly, "{{$..*..*..*}}", domain.Rejected, "['$..*..*..*']"},
		{"curly empty", template.Curly, "{{}}", domain.Rejected, "Unreplaced variables in curly template: ['']."},
		{"mustache partial", template.Mustache, "{{> /etc/passwd }}", domain.Rejected, "Partials are not supported"},
		{"mustache partial behind delimiters", template.Mustache, "{{=<% %>=}}<%> template.go %>", domain.Rejected, "partials are not supported"},
		{"mustache name without end", template.Mustache, "{{a" + strings.Repeat(".b", 100) + "}}", domain.Rejected, "more than 64 parts"},
		{"mustache empty tag", template.Mustache, "{{ }}", domain.Rejected, "Empty placeholder"},
		{"mustache unclosed", template.Mustache, "{{#list}}", domain.Rejected, "Mustache template error"},
		{"mustache JSONPath to nothing", template.Mustache, "{{$.nowhere}}", domain.Rejected, "['$.nowhere']"},
		{"fstring missing", template.FString, "{nowhere}", domain.Rejected, "Missing required variable 'nowhere'"},
		{"fstring positional", template.FString, "{} {0}", domain.Rejected, "only names"},
		{"fstring single brace", template.FString, "a } b", domain.Rejected, "Single '}'"},
		{"fstring open brace", template.FString, "a { b", domain.Rejected, "expected '}'"},
		{"fstring width beyond", template.FString, "{country:999999999}", domain.TooLarge, "wider"},
		{"fstring overflowing width", template.FString, "{country:99999999999999999999}", domain.Rejected, "Invalid format specifier"},
		{"jinja2 syntax", template.Jinja2, "{% for %}", domain.Rejected, "Jinja2 template error"},
		{"jinja2 include", template.Jinja2, "{% include 'template.go' %}", domain.Rejected, "Jinja2 template error"},
		{"jinja2 import", template.Jinja2, "{% import '/etc/passwd' as x %}", domain.Rejected, "Jinja2 template error"},
		{"jinja2 extends", template.Jinja2, "{% extends 'prompt' %}", domain.Rejected, "Jinja2 template error"},
		{"unknown format", "erb", "", domain.Rejected, "Unknown template format: erb"},
		{"template too long", template.Curly, strings.Repeat("x", 2000), domain.TooLarge, "longer than"},
		{"output too long, curly", template.Curly, strings.Repeat("{{geo}}", 9), domain.TooLarge, "more than 64 bytes"},
		{"output too long, mustache", template.Mustache, strings.Repeat("{{geo}}", 9), domain.TooLarge, "more than 64 bytes"},
		{"output too long, jinja2", template.Jinja2, strings.Repeat("{{geo}}", 9), domain.TooLarge, "more than 64 bytes"},
		{"output too long, jinja2 loop", template.Jinja2, "{% for i in range(100) %}{{geo}}{% endfor %}", domain.TooLarge, "more than 64 bytes"},
		{"output too long, fstring", template.FString, strings.Repeat("{geo}", 9), domain.TooLarge, "more than 64 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := template.Render(tt.format, tt.in, variables(t), small)
			require.ErrorContains(t, err, tt.want)
			require.Equal(t, tt.kind, domain.KindOf(err))
		})
	}
}

// A value cannot stand for another one by what it says.
func TestValuesAreInert(t *testing.T) {
	t.Parallel()
	values := map[string]any{"secret": "s", "user": "\x00JP0\x00"}
	for _, format := range []template.Format{template.Mustache, template.Jinja2} {
		_, err := template.Render(format, "{{ user }} {{ $.secret }}", values, template.DefaultLimits())
		require.ErrorContains(t, err, "NUL")
		got, err := template.Render(format, "{{ user }}", values, template.DefaultLimits())
		require.NoError(t, err)
		require.Equal(t, "\x00JP0\x00", got)
	}
	got, err := template.Render(template.Curly, "{{user}} {{$.secret}}", values, template.DefaultLimits())
	require.NoError(t, err)
	require.Equal(t, "\x00JP0\x00 s", got)
}

func TestLinear(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		format template.Format
		in     string
		want   bool
	}{
		{template.Curly, "{{a}}", true},
		{template.FString, "{a}", true},
		{template.Mustache, "{{a}} {{{b}}} {{! c }} {{$.a[#]}}", true},
		{template.Mustache, "{{#a}}{{/a}}", false},
		{template.Mustache, "{{ ^a}}{{/a}}", false},
		{template.Mustache, "{{=<% %>=}}<%#a%><%/a%>", false},
		{template.Jinja2, "{{ a }} {{- b.c -}} {{ $.x[*] }} text", true},
		{template.Jinja2, "{{ 'a' * 1000000000 }}", false},
		{template.Jinja2, "{{ a" + strings.Repeat(".b", 64) + " }}", true},
		{template.Jinja2, "{{ a" + strings.Repeat(".b", 65) + " }}", false},
		{template.Jinja2, "{% for a in b %}{% endfor %}", false},
		{template.Jinja2, "{{ a() }}", false},
		{template.Jinja2, "{{ a|length }}", false},
		{"erb", "", false},
	} {
		require.Equal(t, tt.want, template.Linear(tt.format, tt.in), "%s %s", tt.format, tt.in)
	}
}

func TestParseFormat(t *testing.T) {
	t.Parallel()
	f, err := template.ParseFormat("")
	require.NoError(t, err)
	require.Equal(t, template.Curly, f)
	_, err = template.ParseFormat("erb")
	require.ErrorContains(t, err, "Unknown template format: erb")
}

// Paths of one template share a bound; what they ask for twice is found once.
func TestPathsAreBounded(t *testing.T) {
	t.Parallel()
	wide := make([]any, 100_000)
	for i := range wide {
		wide[i] = int64(i)
	}
	var deep any = wide
	for range 100 {
		deep = []any{deep}
	}
	many := map[string]any{"w": wide, "s": strings.Repeat("x", 1<<20)}
	for _, tt := range []struct {
		name, expr string
		data       any
		want       string
	}{
		{"every combination of two sides", "$[?(@.* == @.*)]", many, "compares single values"},
		{"a search within each comparison", "$.w[?(@ == $.w[*])]", many, "compares single values"},
		{"filters in filters from the top", "$.w[?($.w[?($.w[?(@ > 1)])])]", many, "compares single values"},
		{"searches of searches", "$..*..*", deep, "too much to look through"},
		{"members over and over", "$[*][" + strings.Repeat("0,", 200) + "0][" + strings.Repeat("0,", 200) + "0]", []any{[]any{[]any{1}}, wide, wide, wide}, "too much to look through"},
		{"a long regular expression", "$[?(@ =~ /(?:" + strings.Repeat("a?", 100) + "){100}/)]", many, "too much to look through"},
		{"a regular expression of the data", "$[?search(@, $.s)]", many, "stands in it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := template.Resolve(tt.expr, tt.data)
			require.ErrorContains(t, err, tt.want)
		})
	}
	var source strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&source, "{{$..gone%d}}", i)
	}
	_, err := template.Render(template.Curly, source.String(), many, template.DefaultLimits())
	require.Equal(t, domain.TooLarge, domain.KindOf(err))
	_, err = template.Render(template.Mustache, source.String(), many, template.DefaultLimits())
	require.Equal(t, domain.TooLarge, domain.KindOf(err))
	got, err := template.Render(template.Curly, strings.Repeat("{{$..s}}", 8), map[string]any{"w": wide, "s": "x"}, template.DefaultLimits())
	require.NoError(t, err)
	require.Equal(t, "xxxxxxxx", got)
	got, err = template.Render(template.Curly, strings.Repeat("{{$..s}}", 1000), map[string]any{"w": wide, "s": "x"}, template.DefaultLimits())
	require.NoError(t, err)
	require.Len(t, got, 1000)
}

// Filters that compare as they should go on working.
func TestFilters(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]any{
		"$.list[?(@.q == 'two')].q": "two", "$.list[?@.q].q": []any{"one", "two"}, "$.list[?(@.q =~ /^t/)].q": "two", "$.list[?search(@.q, 'n')].q": "one",
		"$.list[?(@.q != 'one' && @.q != 'x')].q": "two", "$.geo.rivers[?(@ == $.geo.rivers[0])]": "Seine", "$[?length(@.rivers) == 2].capital": "Paris",
		"$[?count(@.rivers[*]) == 2].capital": "Paris",
	} {
		got, err := template.Resolve(expr, variables(t))
		require.NoError(t, err, expr)
		require.Equal(t, want, got, expr)
	}
}

// FuzzRender looks for panics, and for output beyond the limit. Templates that
// can loop are left out, as the room's caller does.
func FuzzRender(f *testing.F) {
	for _, seed := range []string{
		"{{country}}", "{{$.geo..x[?(@.a>1)]}}", "{{/a/b}}", "{country:>8.2f}", "{{#list}}{{q}}{{/list}}",
		"{% for a in b %}{% endfor %}", "{{=<% %>=}}<%x%>", "{x!r:*^+#010,.3g}", "{{ $['a'][0,1][::2] }}", "{geo[rivers][0]}", "{{{", "}}", "{{& a }}",
	} {
		f.Add(seed)
	}
	values := variables(f)
	limits := template.Limits{MaxTemplateBytes: 1 << 12, MaxOutputBytes: 1 << 12}
	f.Fuzz(func(t *testing.T, in string) {
		for _, format := range []template.Format{template.Curly, template.Mustache, template.FString, template.Jinja2} {
			if !template.Linear(format, in) {
				continue
			}
			out, err := template.Render(format, in, values, limits)
			if err == nil && len(out) > limits.MaxOutputBytes {
				t.Fatalf("%s produced %d bytes", format, len(out))
			}
		}
	})
}

// FuzzResolve looks for panics, and for paths that cost more than they may.
func FuzzResolve(f *testing.F) {
	for _, seed := range []string{
		"$", "$.a[0].b", "$..x", "$[?(@.a == 'x')]", "$[0,1,'a'][::-1]", "$['a\\'b']", "/a~1b/0", "/~", "a.b.0", "$[?length(@.x) > 1]", "$[?@.a =~ /x+/]", "$.*.*.*", "$[(@.length-1)]",
	} {
		f.Add(seed)
	}
	values := variables(f)
	f.Fuzz(func(_ *testing.T, expr string) {
		_, _ = template.Resolve(expr, values)
	})
}

func BenchmarkRender(b *testing.B) {
	values := variables(b)
	for _, format := range []template.Format{template.Curly, template.Mustache, template.FString, template.Jinja2} {
		source := strings.Repeat("You are an expert in geography. ", 20) + "What is the capital of {{country}}, not {{geo.capital}}?"
		if format == template.FString {
			source = strings.ReplaceAll(strings.ReplaceAll(source, "{{", "{"), "}}", "}")
		}
		b.Run(string(format), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := template.Render(format, source, values, template.DefaultLimits()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
