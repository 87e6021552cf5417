package invoke

// local are the handlers that call nobody: they compute.
func (i *Invoke) local() map[string]Handler {
	return map[string]Handler{
		"echo:v0":                      i.echo,
		"mock:v0":                      i.mock,
		"feedback:v0":                  i.feedback,
		"code:v0":                      i.code,
		"match:v0":                     i.match,
		"auto_custom_code_run:v0":      i.customCode,
		"auto_exact_match:v0":          i.exactMatch,
		"auto_regex_test:v0":           i.regexTest,
		"auto_starts_with:v0":          i.startsWith,
		"auto_ends_with:v0":            i.endsWith,
		"auto_contains:v0":             i.contains,
		"auto_contains_any:v0":         i.containsAny,
		"auto_contains_all:v0":         i.containsAll,
		"auto_contains_json:v0":        i.containsJSON,
		"auto_json_diff:v0":            i.jsonDiff,
		"auto_levenshtein_distance:v0": i.levenshtein,
		"auto_similarity_match:v0":     i.similarity,
		"field_match_test:v0":          i.fieldMatch,
		"json_multi_field_match:v0":    i.multiFieldMatch,
	}
}
