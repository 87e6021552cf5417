package request_test

import (
	"errors"
	"fmt"

	"colonnade/domain"
	"colonnade/domain/request"
)

func ExampleDecode() {
	var body struct {
		Slug  string `json:"slug" request:"required"`
		Limit int    `json:"limit"`
	}
	err := request.Decode([]byte(`{"limit": "ten", "colour": "red"}`), &body)
	if e, ok := errors.AsType[*domain.Error](err); ok {
		for _, f := range e.Fields {
			fmt.Println(f.Type, f.Loc)
		}
	}
	// Output:
	// int_type [body limit]
	// extra_forbidden [body colour]
	// missing [body slug]
}
