package template_test

import (
	"fmt"

	"colonnade/write/invoke/template"
)

func ExampleRender() {
	vars := map[string]any{"customer": map[string]any{"name": "Ada"}, "orders": []any{"4711", "4712"}}

	text, _ := template.Render(template.Curly, "Hello {{customer.name}}", vars, template.DefaultLimits())
	fmt.Println(text)
	text, _ = template.Render(template.Jinja2, "{% for id in orders %}#{{ id }};{% endfor %}", vars, template.DefaultLimits())
	fmt.Println(text)

	_, err := template.Render(template.Curly, "Hello {{nobody}}", vars, template.DefaultLimits())
	fmt.Println(err)
	// Output:
	// Hello Ada
	// #4711;#4712;
	// Unreplaced variables in curly template: ['nobody'].
}
