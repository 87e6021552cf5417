package entityschema

// LegacyFetch is the body with which clients of before fetch a prompt's
// configuration. Source: contract §5.8.
func LegacyFetch() Schema {
	ref := requestSchema("LegacyReference", []member{
		{"id", id(), false},
		{"slug", text(), false},
		{"version", map[string]any{"type": []string{"integer", "string"}}, false},
		{"commit_message", map[string]any{"readOnly": true}, false},
	})
	return requestSchema("", []member{{"variant_ref", ref, false}, {"environment_ref", ref, false}, {"application_ref", ref, false}})
}

// LegacyConfig is the reply: whatever says nothing is null.
func LegacyConfig() Schema {
	ref := requestSchema("LegacyReferenceReply", []member{{"id", id(), false}, {"slug", text(), false}, {"version", whole(0), false}, {"commit_message", text(), false}})
	lifecycle := requestSchema("LegacyLifecycle", []member{{"created_at", moment(), false}, {"updated_at", moment(), false}, {"updated_by_id", id(), false}, {"updated_by", text(), false}})
	return requestSchema("LegacyConfig", []member{
		{"params", free(), true},
		{"url", text(), false},
		{"application_ref", ref, false},
		{"service_ref", ref, false},
		{"variant_ref", ref, false},
		{"environment_ref", ref, false},
		{"application_lifecycle", lifecycle, false},
		{"service_lifecycle", lifecycle, false},
		{"variant_lifecycle", lifecycle, false},
		{"environment_lifecycle", lifecycle, false},
	})
}
