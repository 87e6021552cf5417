// Package filtertest makes random filters for tests that hold an
// implementation of domain/filter to its reference meaning. Only tests import it.
package filtertest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"colonnade/domain/filter"
	"colonnade/domain/filter/filterjson"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
)

// Generator makes filters over the values of some spans, so that a fair share
// of them holds for some of the spans and not for others.
type Generator struct {
	rand  *rand.Rand
	spans []trace.Span
	// fields are those that Generate draws from.
	fields []string
}

// New makes a generator over spans, of which there is at least one. Fields
// restricts what conditions are about; none means every field.
func New(r *rand.Rand, spans []trace.Span, fields ...string) *Generator {
	if len(fields) == 0 {
		fields = []string{
			"trace_id", "span_id", "parent_id", "root", "trace_type", "span_type", "span_kind", "status_code",
			"span_name", "status_message", "session_id", "user_id", "agent_id", "start_time", "end_time", "created_at", "updated_at",
			"created_by_id", "updated_by_id", "deleted_at", "attributes", "attributes", "attributes", "attributes", "resource", "scope",
			"links", "references", "events", "hashes", "content",
		}
	}
	return &Generator{rand: r, spans: spans, fields: fields}
}

// Filter makes the JSON of a filter that Parse accepts, and what Parse gives.
func (g *Generator) Filter() ([]byte, filter.Expr) {
	for {
		text := jsonvalue.Append(nil, g.group(2))
		if e, err := filterjson.Parse(text, "filter"); err == nil {
			return text, e
		}
	}
}

func pick[T any](g *Generator, list ...T) T { return list[g.rand.IntN(len(list))] }

func (g *Generator) group(depth int) map[string]any {
	op := pick(g, "and", "and", "or", "not", "nand", "nor")
	n := 1
	if op != "not" {
		n += g.rand.IntN(3)
	}
	conditions := make([]any, 0, n)
	for range n {
		if depth > 0 && g.rand.IntN(4) == 0 {
			conditions = append(conditions, g.group(depth-1))
		} else {
			conditions = append(conditions, g.condition())
		}
	}
	return map[string]any{"operator": op, "conditions": conditions}
}

func (g *Generator) condition() map[string]any {
	s := &g.spans[g.rand.IntN(len(g.spans))]
	c := map[string]any{"field": pick(g, g.fields...)}
	switch c["field"] {
	case "trace_id":
		g.compared(c, s.TraceID.String())
	case "span_id":
		g.compared(c, s.SpanID.String())
	case "parent_id":
		g.compared(c, orNull(s.ParentID.String(), s.IsRoot()))
	case "root":
		c["operator"], c["value"] = pick(g, "is", "is_not"), s.Root == (g.rand.IntN(2) == 0)
	case "trace_type":
		g.compared(c, s.Type.String())
	case "span_type":
		g.compared(c, s.EffectiveType().String())
	case "span_kind":
		g.compared(c, s.Kind.String())
	case "status_code":
		g.compared(c, s.Status.String())
	case "span_name":
		g.text(c, s.Name)
	case "status_message":
		g.text(c, s.StatusMessage)
	case "session_id":
		g.text(c, s.SessionID)
	case "user_id":
		g.text(c, s.UserID)
	case "agent_id":
		g.text(c, s.AgentID)
	case "start_time":
		g.time(c, time.Unix(0, s.Start))
	case "end_time":
		g.time(c, time.Unix(0, s.End))
	case "created_at", "deleted_at":
		g.time(c, s.CreatedAt)
	case "updated_at":
		g.time(c, s.UpdatedAt)
	case "created_by_id":
		g.compared(c, s.CreatedBy.String())
	case "updated_by_id":
		g.compared(c, s.UpdatedBy.String())
	case "attributes":
		g.attribute(c, s.Attributes)
	case "resource":
		g.attribute(c, s.Resource)
	case "scope":
		if s.Scope != nil {
			g.attribute(c, s.Scope.Object())
		} else {
			g.attribute(c, nil)
		}
	case "content":
		c["operator"], c["value"] = "contains", g.search(s)
	default:
		g.part(c, s)
	}
	return c
}

func orNull(s string, null bool) any {
	if null {
		return nil
	}
	return s
}

func (g *Generator) compared(c map[string]any, v any) {
	c["operator"] = pick(g, "is", "is_not", "in", "not_in")
	if c["value"] = v; strings.HasSuffix(fmt.Sprint(c["operator"]), "in") {
		c["value"] = []any{v, v}
	}
}

func (g *Generator) text(c map[string]any, s string) {
	op := pick(g, "is", "is_not", "eq", "neq", "gt", "lt", "gte", "lte", "btwn", "startswith", "endswith", "contains", "matches", "like", "in", "not_in", "exists", "not_exists")
	c["operator"] = op
	switch op {
	case "exists", "not_exists":
	case "in", "not_in":
		c["value"] = []any{s, "other"}
	case "btwn":
		c["value"] = []any{g.piece(s), s + "~"}
	case "startswith", "endswith", "contains", "matches", "like":
		c["value"] = pick(g, s, g.piece(s), g.otherCase(g.piece(s)))
		if op == "like" {
			c["value"] = "%" + strings.ReplaceAll(pick(g, g.piece(s), g.otherCase(g.piece(s))), " ", "_") + pick(g, "", "%")
		}
		c["options"] = map[string]any{"case_sensitive": g.rand.IntN(3) == 0, "exact_match": op == "matches" && g.rand.IntN(2) == 0}
	default:
		c["value"] = pick(g, s, s, g.piece(s))
	}
}

// otherCase writes letters of a text as another one that Unicode takes for the same.
func (g *Generator) otherCase(s string) string {
	return pick(g, strings.ToUpper(s), strings.ToLower(s), strings.Map(unicode.SimpleFold, s))
}

// piece cuts a part out of a text, at characters.
func (g *Generator) piece(s string) string {
	runes := []rune(s)
	if len(runes) > 64 {
		runes = runes[:64]
	}
	if len(runes) == 0 {
		return ""
	}
	from := g.rand.IntN(len(runes))
	return string(runes[from : from+1+g.rand.IntN(len(runes)-from)])
}

func (g *Generator) time(c map[string]any, t time.Time) {
	at := func() any {
		moved := t.Add(time.Duration(g.rand.IntN(5)-2) * pick(g, time.Nanosecond, time.Microsecond, time.Second, time.Hour))
		return pick[any](g, moved.UTC().Format(time.RFC3339Nano), moved.UnixMicro(), moved.UnixNano())
	}
	op := pick(g, "is", "is_not", "eq", "neq", "gt", "lt", "gte", "lte", "btwn", "in", "not_in", "exists", "not_exists", "startswith", "contains")
	c["operator"] = op
	switch op {
	case "exists", "not_exists":
	case "in", "not_in":
		c["value"] = []any{at(), t.UTC().Format(time.RFC3339Nano)}
	case "btwn":
		c["value"] = []any{at(), at()}
	case "startswith", "contains":
		c["value"] = g.piece(t.UTC().Format(filter.TimeLayout))
	default:
		c["value"] = pick(g, at(), any(t.UTC().Format(time.RFC3339Nano)))
	}
}

func (g *Generator) attribute(c, tree map[string]any) {
	var keys []string
	var v any = tree
	for len(keys) == 0 || g.rand.IntN(6) > 0 {
		key, next, ok := g.step(v)
		if !ok {
			break
		}
		keys, v = append(keys, key), next
	}
	if len(keys) == 0 || g.rand.IntN(20) == 0 {
		keys = append(keys, "nowhere")
	}
	c["key"] = jsonvalue.JoinPath(keys...)
	switch v := v.(type) {
	case string:
		g.text(c, v)
	case int64:
		g.number(c, float64(v), v)
	case float64:
		g.number(c, v, v)
	case []any:
		if c["operator"] = pick(g, "in", "not_in", "exists"); len(v) > 0 && c["operator"] != "exists" {
			c["value"] = []any{pick(g, v...), pick(g, v...)}
			c["options"] = map[string]any{"all": g.rand.IntN(2) == 0}
			return
		}
		c["operator"], c["value"] = "is", v
	default:
		c["operator"], c["value"] = pick(g, "is", "is_not", "exists", "not_exists"), v
	}
}

// step goes one key down.
func (g *Generator) step(v any) (key string, next any, ok bool) {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			return "", nil, false
		}
		keys := slices.Sorted(maps.Keys(v)) // a map's own order would not repeat with the seed
		key = pick(g, keys...)
		return key, v[key], true
	case []any:
		if len(v) > 0 {
			i := g.rand.IntN(len(v))
			return strconv.Itoa(i), v[i], true
		}
	}
	return "", nil, false
}

func (g *Generator) number(c map[string]any, near float64, exact any) {
	op := pick(g, "is", "is_not", "eq", "neq", "gt", "lt", "gte", "lte", "btwn", "in")
	c["operator"] = op
	switch op {
	case "btwn":
		c["value"] = []any{near - float64(g.rand.IntN(3)), near + float64(g.rand.IntN(3))}
	case "in":
		c["value"] = []any{exact, "x"}
	default:
		c["value"] = pick(g, exact, exact, any(near+float64(g.rand.IntN(3)-1)))
	}
}

func (g *Generator) search(s *trace.Span) string {
	var words []string
	for _, path := range []string{"inputs", "outputs", "parameters", "internals"} {
		if v, ok := jsonvalue.Lookup(s.Attributes, []string{"ag", "data", path}); ok {
			words = append(words, strings.FieldsFunc(string(jsonvalue.Append(nil, v)), func(r rune) bool { return strings.ContainsRune(`{}[]",: \`, r) })...)
		}
	}
	for _, e := range s.Events {
		words = append(words, e.Name)
	}
	words = append(words, "nowhere")
	n := 1 + g.rand.IntN(3)
	out := make([]string, 0, n)
	for range n {
		out = append(out, pick(g, "", "", "", "-", "or ")+pick(g, g.piece(pick(g, words...)), g.otherCase(g.piece(pick(g, words...)))))
	}
	return strings.Join(out, " ")
}

func (g *Generator) part(c map[string]any, s *trace.Span) {
	objects := partsOf(c["field"], s)
	switch {
	case len(objects) > 0:
		c["operator"], c["value"] = pick(g, "in", "not_in"), []any{pick(g, objects...), pick(g, objects...)}
		c["options"] = map[string]any{"all": g.rand.IntN(2) == 0}
	case c["field"] == "hashes":
		c["operator"], c["value"] = "in", []any{"11111111-1111-1111-1111-111111111111"}
	default:
		c["operator"] = pick(g, "exists", "not_exists")
	}
}

// partsOf gives partial objects that a span's links, references, events or hashes contain.
func partsOf(field any, s *trace.Span) []any {
	objects := make([]any, 0, 2*(len(s.Links)+len(s.Events))+len(s.References)+len(s.Hashes))
	switch field {
	case "links":
		for _, l := range s.Links {
			id := l.TraceID.String()
			objects = append(objects, map[string]any{"trace_id": id}, map[string]any{"trace_id": id, "span_id": l.SpanID.String()})
			if key := l.Key(); key != "" {
				objects = append(objects, map[string]any{"attributes": map[string]any{"key": key}})
			}
		}
	case "references":
		for _, r := range s.References {
			object := map[string]any{"attributes": map[string]any{"key": r.Key}}
			for name, v := range map[string]string{"slug": r.Slug, "version": r.Version} {
				if v != "" {
					object[name] = v
				}
			}
			if r.ID != uuid.Nil {
				object["id"] = r.ID.String()
			}
			objects = append(objects, object)
		}
	case "events":
		for _, e := range s.Events {
			objects = append(objects, map[string]any{"name": e.Name}, map[string]any{"name": e.Name, "attributes": e.Attributes})
		}
	default:
		for _, h := range s.Hashes {
			objects = append(objects, h.ID.String())
		}
	}
	return objects
}
