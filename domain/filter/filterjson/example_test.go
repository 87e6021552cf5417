package filterjson_test

import (
	"fmt"

	"colonnade/domain/filter"
	"colonnade/domain/filter/filterjson"
	"colonnade/domain/trace"
)

func ExampleParse() {
	where, err := filterjson.Parse([]byte(`{"operator": "and", "conditions": [
		{"field": "span_type", "value": "chat"},
		{"field": "span_name", "operator": "contains", "value": "weather"}
	]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(filter.Match(where, &trace.Span{SpanType: trace.Chat, Name: "Ask for the Weather"}))
	fmt.Println(filter.Match(where, &trace.Span{SpanType: trace.Tool, Name: "Ask for the Weather"}))
	// Output:
	// true
	// false
}
