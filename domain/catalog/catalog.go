// Package catalog says what a revision's data means: handler URIs and the
// flags that follow from them, the templates and presets that applications and
// evaluators begin with, the JSON types their schemas refer to, and the check
// of schemas and of values against them. Here: embedded data and pure rules.
// Not here: lineage (domain/entity), stores, and running anything.
package catalog

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"colonnade/domain/entity"
)

// templates.json and types.json are versioned with the product: a change here
// is a change of the wire.
var (
	//go:embed templates.json
	templatesJSON []byte
	//go:embed types.json
	typesJSON []byte
)

// Template is a kind of application or evaluator to begin with. Source: contract §5.7.
type Template struct {
	Key         string          `json:"key"`
	Name        string          `json:"name,omitempty"`
	Description string          `json:"description"`
	Categories  []string        `json:"categories"`
	Flags       map[string]bool `json:"flags"`
	Data        entity.Document `json:"data"`
	presets     []Preset
}

// Preset is a named configuration of a template.
type Preset struct {
	Key         string          `json:"key"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Categories  []string        `json:"categories"`
	Flags       map[string]bool `json:"flags"`
	Data        entity.Document `json:"data"`
}

// Type is a JSON Schema that other schemas refer to by x-ag-type-ref.
type Type struct {
	Key    string          `json:"key"`
	Schema entity.Document `json:"json_schema"`
}

// Catalog is the product's templates and types. It is read-only.
type Catalog struct {
	templates []Template
	types     []Type
}

// New reads the embedded catalog. An error is a fault of the build.
func New() (*Catalog, error) {
	var stored []struct {
		Template
		Presets []Preset `json:"presets"`
	}
	c := &Catalog{}
	if err := json.Unmarshal(templatesJSON, &stored); err != nil {
		return nil, fmt.Errorf("catalog: reading the templates: %w", err)
	}
	if err := json.Unmarshal(typesJSON, &c.types); err != nil {
		return nil, fmt.Errorf("catalog: reading the types: %w", err)
	}
	for _, s := range stored {
		s.presets = s.Presets
		c.templates = append(c.templates, s.Template)
	}
	return c, nil
}

// Templates are those whose flag is on (entity.FlagApplication, ...); an empty
// flag gives all.
func (c *Catalog) Templates(flag string) []Template {
	found := []Template{}
	for _, t := range c.templates {
		if flag == "" || t.Flags[flag] {
			found = append(found, t)
		}
	}
	return found
}

// Template finds one of Templates(flag) by its key.
func (c *Catalog) Template(flag, key string) (Template, bool) {
	for _, t := range c.Templates(flag) {
		if t.Key == key {
			return t, true
		}
	}
	return Template{}, false
}

// Presets are the template's, never nil.
func (t Template) Presets() []Preset { return append([]Preset{}, t.presets...) }

// Types are all JSON types.
func (c *Catalog) Types() []Type { return c.types }

// Handler completes the address of a handler of ours, key and version, to its
// URI; kinds of one key do not meet.
func (c *Catalog) Handler(u URI) URI {
	u.Provider, u.Kind = providerService, kindBuiltin
	for _, t := range c.templates {
		uri, _ := t.Data["uri"].(string)
		if at, err := ParseURI(uri); err == nil && at.Key == u.Key {
			u.Kind = at.Kind
		}
	}
	return u
}

// schemas are those of the built-in interface at a URI; nil where there is none.
func (c *Catalog) schemas(u URI) map[string]any {
	for _, t := range c.templates {
		uri, _ := t.Data["uri"].(string)
		at, err := ParseURI(uri)
		if err == nil && at.Kind == u.Kind && at.Key == u.Key {
			m, _ := t.Data["schemas"].(map[string]any)
			return m
		}
	}
	return nil
}
