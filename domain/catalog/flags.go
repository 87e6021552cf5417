package catalog

import (
	"maps"

	"colonnade/domain/entity"
)

// Flags are those of a revision: what follows from its data, and over it the
// roles of its artifact and whatever the caller flagged. What follows from the
// data cannot be overridden. Source: contract §5.2.
func Flags(data, roles, given entity.Document) entity.Document {
	flags := entity.Document{}
	maps.Copy(flags, given)
	for _, role := range []string{entity.FlagApplication, entity.FlagEvaluator, entity.FlagSnippet} {
		if _, ok := given[role]; !ok || roles[role] == true {
			flags[role] = roles[role] == true
		}
	}
	u, managed := URI{}, false
	if s, ok := data["uri"].(string); ok {
		if parsed, err := ParseURI(s); err == nil {
			u, managed = parsed, parsed.Managed()
		}
	}
	url, _ := data["url"].(string)
	script, _ := data["script"].(string)
	flags["is_managed"] = managed
	flags["is_custom"] = u.Kind == kindCustom
	flags["is_llm"] = u.Key == "llm"
	flags["is_hook"] = u.Key == "hook"
	flags["is_code"] = u.Key == "code"
	flags["is_match"] = u.Key == "match"
	flags["is_feedback"] = u.Key == "feedback"
	flags["is_agent"] = u.Key == "agent"
	flags["is_skill"] = u.Key == "skill"
	flags["is_chat"] = u.Key == "chat" || takesMessages(data)
	flags["has_url"] = url != "" || managed
	flags["has_script"] = script != ""
	// A handler within the process exists only in a client; a static
	// configuration has parameters and nothing to run.
	flags["has_handler"] = false
	flags["is_static"] = u.Key == "" && url == "" && data["parameters"] != nil
	return flags
}

// takesMessages reports whether the inputs' schema holds a conversation.
func takesMessages(data entity.Document) bool {
	schemas, _ := data["schemas"].(map[string]any)
	inputs, _ := schemas["inputs"].(map[string]any)
	properties, _ := inputs["properties"].(map[string]any)
	for _, p := range properties {
		property, _ := p.(map[string]any)
		if ref := property["x-ag-type-ref"]; ref == "messages" || ref == "message" {
			return true
		}
	}
	return false
}
