package catalog

import (
	"maps"
	"net/url"

	"colonnade/domain/entity"
	"colonnade/domain/pattern"
	"colonnade/domain/request"
)

// ReadData reads a workflow revision's data. Unknown members, schemas that are
// none and handlers that do not exist are problems at their place. Source:
// contract §5.2.
func ReadData(o *request.Object) entity.Document {
	data := entity.Document{}
	if uri := o.String("uri"); uri != "" {
		u, err := ParseURI(uri)
		switch {
		case err != nil:
			o.Fail("value_error", "Not a handler URI: "+err.Error(), uri, "uri")
		case u.Managed() && !u.known():
			o.Fail("value_error", "Unknown handler "+u.Kind+":"+u.Key, uri, "uri")
		default:
		}
		data["uri"] = uri
	}
	if address := o.String("url"); address != "" {
		if !isHTTP(address) {
			o.Fail("url_parsing", "Input should be a valid http or https URL", address, "url")
		}
		data["url"] = address
	}
	if runtime := o.Enum("runtime", "python", "typescript", "javascript"); runtime != "" {
		data["runtime"] = runtime
	}
	if script := o.StringPtr("script"); script != nil {
		data["script"] = *script
	}
	if o.Has("headers") {
		data["headers"] = readHeaders(o)
	}
	if o.Has("schemas") {
		data["schemas"] = readSchemas(o.Object("schemas"))
	}
	if o.Has("parameters") {
		data["parameters"] = o.Map("parameters")
		checkPattern(o.Object("parameters"), data)
	}
	o.FailUnknown()
	return data
}

// checkPattern refuses a regular expression of an evaluator that nothing here can match.
func checkPattern(parameters *request.Object, data entity.Document) {
	uri, _ := data["uri"].(string)
	u, err := ParseURI(uri)
	if err != nil || !u.Managed() || u.Key != "auto_regex_test" {
		return
	}
	given, _ := data["parameters"].(map[string]any)
	source, ok := given["regex_pattern"].(string)
	if !ok {
		return
	}
	if _, err := pattern.CompilePython(source, false); err != nil {
		parameters.Fail("value_error", "Invalid regular expression: "+err.Error(), source, "regex_pattern")
	}
}

func isHTTP(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// readHeaders reads a map of name to value or to the reference of a secret.
func readHeaders(o *request.Object) map[string]any {
	headers := o.Map("headers")
	below := o.Object("headers")
	for name, value := range headers {
		switch value.(type) {
		case string:
		case map[string]any:
			entity.ReadReference(below, name)
		default:
			below.Fail("string_type", "Input should be a valid string or reference", value, name)
		}
	}
	return headers
}

func readSchemas(o *request.Object) map[string]any {
	schemas := map[string]any{}
	for _, name := range []string{"parameters", "inputs", "outputs"} {
		value := o.Any(name)
		if value == nil {
			continue
		}
		if err := usable(value); err != nil {
			o.Fail("value_error.json_schema", "Not a valid JSON Schema: "+err.Error(), value, name)
		}
		schemas[name] = value
	}
	o.FailUnknown()
	return schemas
}

// Complete is the data as it is stored: schemas that the caller left out come
// from the built-in interface, and a prompt that asks for JSON of a certain
// form says so in its outputs. The URL of a handler of ours is stored for
// custom kinds; for built-in ones WithURL adds it to what is read, so that a
// deployment can move. Source: contract §5.2.
func (c *Catalog) Complete(data entity.Document, servicesURL string) entity.Document {
	uri, _ := data["uri"].(string)
	if uri == "" {
		return data
	}
	u, err := ParseURI(uri)
	if err != nil || !u.Managed() {
		return data
	}
	out := maps.Clone(data)
	if u.Kind == kindBuiltin {
		delete(out, "url")
	} else if _, ok := out["url"]; !ok {
		out["url"] = u.URL(servicesURL)
	}
	schemas := map[string]any{}
	maps.Copy(schemas, c.schemas(u))
	if outputs := promptOutputs(data); outputs != nil {
		schemas["outputs"] = outputs
	}
	if given, ok := data["schemas"].(map[string]any); ok {
		maps.Copy(schemas, given)
	}
	if len(schemas) > 0 {
		out["schemas"] = schemas
	}
	return out
}

// WithURL adds the address of a built-in handler to data that is about to be shown.
func WithURL(data entity.Document, servicesURL string) entity.Document {
	uri, _ := data["uri"].(string)
	if uri == "" || data["url"] != nil {
		return data
	}
	u, err := ParseURI(uri)
	if err != nil || !u.Managed() {
		return data
	}
	out := maps.Clone(data)
	out["url"] = u.URL(servicesURL)
	return out
}

// promptOutputs is the schema that a prompt's response format asks for; nil when it asks for none.
func promptOutputs(data entity.Document) map[string]any {
	parameters, _ := data["parameters"].(map[string]any)
	prompt, _ := parameters["prompt"].(map[string]any)
	llm, _ := prompt["llm_config"].(map[string]any)
	format, _ := llm["response_format"].(map[string]any)
	if format["type"] == "json_schema" {
		asked, _ := format["json_schema"].(map[string]any)
		schema, _ := asked["schema"].(map[string]any)
		if len(schema) > 0 && usable(schema) == nil {
			return schema
		}
	}
	response, _ := parameters["response"].(map[string]any)
	if response["format"] == "json" {
		schema, _ := response["schema"].(map[string]any)
		if len(schema) > 0 && usable(schema) == nil {
			return schema
		}
	}
	return nil
}
