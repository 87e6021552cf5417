//go:build embedded

package traces_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/filter/filterjson"
	"colonnade/domain/trace"
)

// Lists as long as they may be are answered, with what Match says, and within the time
// that a query has: one test for each value was planned for longer than that.
func TestLongLists(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	all := []trace.Span{full(now.Add(-time.Hour))}
	id := func(n int) uuid.UUID { return uuid.UUID{0: 7, 14: byte(n >> 8), 15: byte(n)} }
	for n := range 48 {
		sp := span(uint64(n), uint64(n), now.Add(-time.Duration(n)*time.Second))
		sp.Attributes["text"] = fmt.Sprint("value ", n)
		sp.Attributes["number"] = []any{int64(n), float64(n) + 0.5}[n%2]
		sp.Attributes["array"] = []any{fmt.Sprint("value ", n), int64(n), true}
		sp.Attributes["long"] = strings.Repeat("x", 600) + strconv.Itoa(n)
		sp.Attributes["choices"] = []any{map[string]any{"text": fmt.Sprint("value ", n)}}
		sp.Attributes["object"] = map[string]any{"key": fmt.Sprint("value ", n)}
		sp.Attributes["system"] = fmt.Sprint("value ", n) // a label
		switch n % 4 {
		case 0:
			sp.Attributes["text"], sp.Attributes["number"] = "", int64(0)
		case 1:
			sp.Attributes["text"], sp.Attributes["number"] = sp.Attributes["number"], sp.Attributes["text"]
		case 2:
			delete(sp.Attributes, "text")
			delete(sp.Attributes, "number")
		default:
		}
		sp.Links = []trace.Link{{TraceID: trace.TraceID(id(n)), SpanID: trace.SpanID{6: 1, 7: byte(n)}, Attributes: map[string]any{"key": fmt.Sprint("value ", n)}}}
		if n%3 == 0 {
			sp.Links[0].TraceID[15], sp.Links[0].SpanID[7] = 0, 0 // an id may end in zeros
		}
		sp.References = []trace.Reference{{Key: "testset", Reference: domain.Reference{ID: id(n), Slug: fmt.Sprint("value ", n)}}}
		sp.Hashes = []trace.Hash{{ID: id(n)}}
		sp.Events = []trace.Event{{Name: fmt.Sprint("value ", n), Time: sp.Start, Attributes: map[string]any{"key": fmt.Sprint("value ", n)}}}
		all = append(all, sp)
	}
	s.insert(all...)

	// Every second value is of a span, as far as there are any; the rest are of none.
	list := func(value func(n int) any) []any {
		out := make([]any, filterjson.MaxValues)
		for i := range out {
			out[i] = value(2 * i)
		}
		return out
	}
	text := func(n int) any { return fmt.Sprint("value ", n) }
	members := map[string]any{}
	for n := range 4000 {
		members[fmt.Sprint("key ", n)] = n
	}
	type object = map[string]any
	long := func(n int) any { return strings.Repeat("x", 600) + strconv.Itoa(n) }
	tests := map[string]object{
		"texts":                   {"field": "attributes", "key": "text", "value": list(text)},
		"texts, one of them none": {"field": "attributes", "key": "text", "value": append(list(text)[1:], "")},
		"labels":                  {"field": "attributes", "key": "system", "value": list(text)},
		"numbers":                 {"field": "attributes", "key": "number", "value": list(func(n int) any { return n - 2 })},
		"numbers of two sorts":    {"field": "attributes", "key": "number", "value": list(func(n int) any { return float64(n)/4 - 1 })},
		"all sorts":               {"field": "attributes", "key": "text", "value": list(func(n int) any { return []any{n, text(n), nil, n%4 == 0, object{"key": n}, long(n)}[n/2%6] })},
		"elements of an array":    {"field": "attributes", "key": "array", "value": list(text)},
		"numbers in an array":     {"field": "attributes", "key": "array", "value": list(func(n int) any { return n })},
		"below an array":          {"field": "attributes", "key": "choices.0.text", "value": list(text)},
		"objects":                 {"field": "attributes", "key": "object", "value": list(func(n int) any { return object{"key": text(n)} })},
		"long texts":              {"field": "attributes", "key": "long", "value": list(long)},
		"all of an array":         {"field": "attributes", "key": "array", "value": []any{"value 6", 6, true}, "options": object{"all": true}},
		"all of very much":        {"field": "attributes", "key": "array", "value": list(text), "options": object{"all": true}},
		"an object of members":    {"field": "attributes", "key": "object", "operator": "is", "value": members},
		"an array of elements":    {"field": "attributes", "key": "array", "operator": "is", "value": list(text)},
		"a resource":              {"field": "resource", "key": "service.name", "value": append(list(text)[1:], "svc")},
		"names":                   {"field": "span_name", "value": append(list(text)[1:], "span 7")},
		"links":                   {"field": "links", "value": list(func(n int) any { return object{"trace_id": id(n).String()} })},
		"links by span":           {"field": "links", "value": list(func(n int) any { return object{"span_id": fmt.Sprintf("%016x", 256+n)} })},
		"links by both":           {"field": "links", "value": list(func(n int) any { return object{"trace_id": id(n).String(), "span_id": fmt.Sprintf("%016x", 256+n)} })},
		"links that end in zeros": {"field": "links", "value": []any{object{"trace_id": id(0).String(), "span_id": fmt.Sprintf("%016x", 256)}, object{"trace_id": id(6).String(), "span_id": fmt.Sprintf("%016x", 256)}, object{"trace_id": id(0).String()}, object{"trace_id": id(4).String()}}},
		"links with attributes":   {"field": "links", "value": list(func(n int) any { return object{"trace_id": id(n).String(), "attributes": object{"key": text(n)}} })},
		"attributes of links":     {"field": "links", "value": list(func(n int) any { return object{"attributes": object{"key": text(n), "x": object{"y": n}}} })},
		"references":              {"field": "references", "value": list(func(n int) any { return object{"id": id(n).String(), "slug": text(n + 1)} })},
		"references of a key":     {"field": "references", "value": list(func(n int) any { return object{"slug": text(n), "attributes": object{"key": "testset"}} })},
		"hashes":                  {"field": "hashes", "value": list(func(n int) any { return id(n).String() })},
		"events":                  {"field": "events", "value": list(func(n int) any { return object{"name": text(n)} })},
		"events with attributes":  {"field": "events", "value": list(func(n int) any { return object{"name": text(n), "attributes": object{"key": text(n)}} })},
	}
	for name, condition := range tests {
		for _, operator := range []string{"in", "not_in"} {
			if condition["operator"] != nil && operator == "not_in" {
				operator = "is_not"
			} else if condition["operator"] != nil {
				operator = "is"
			}
			t.Run(name+", "+operator, func(t *testing.T) {
				t.Parallel()
				asked := object{"operator": operator}
				for k, v := range condition {
					if k != "operator" {
						asked[k] = v
					}
				}
				text, err := json.Marshal(asked)
				require.NoError(t, err)
				e := where(t, string(text))
				want := []trace.SpanID{}
				for i := range all {
					if filter.Match(e, &all[i]) {
						want = append(want, all[i].SpanID)
					}
				}
				page, err := s.reader.Spans(t.Context(), s.project, e, domain.Window{Limit: 100})
				require.NoError(t, err)
				got := []trace.SpanID{}
				for i := range page.Items {
					got = append(got, page.Items[i].SpanID)
				}
				require.ElementsMatch(t, want, got)
			})
		}
	}
}
