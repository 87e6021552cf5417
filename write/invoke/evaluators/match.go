package evaluators

import (
	"context"
	"strings"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/write/invoke/handler"
	"colonnade/write/invoke/template"
)

// match judges by a tree of matchers: each looks at a target, by path into
// {inputs, outputs, trace}, and compares it in its way; one with matchers below
// it combines their verdicts. Source: contract §5.7, match.
func (i *Evaluators) match(ctx context.Context, c *handler.Call) (any, error) {
	value, ok := c.Parameters["matchers"]
	if !ok {
		return nil, handler.Missing("matchers")
	}
	list, ok := value.([]any)
	if !ok {
		return nil, handler.Invalid("matchers", "a list", value)
	}
	looked := map[string]any{}
	if c.Inputs != nil {
		looked["inputs"] = c.Inputs
	}
	if c.Outputs != nil {
		looked["outputs"] = c.Outputs
	}
	if c.Trace != nil {
		looked["trace"] = c.Trace
	}
	if c.Testcase != nil {
		looked["testcase"] = c.Testcase
	}
	m := &matching{ctx: ctx, invoke: i, call: c, paths: template.NewPaths(looked), patterns: i.patterns()}
	children, err := m.all(list, "matchers")
	if err != nil {
		return nil, err
	}
	own, err := combine(children, c.Parameters)
	if err != nil {
		return nil, err
	}
	result := map[string]any{}
	for _, child := range children {
		result[child.key] = child.shown()
	}
	result["score"], result["success"] = own.score, own.success
	return result, nil
}

// matching is one evaluation of a tree.
type matching struct {
	ctx    context.Context // it lives as long as one call
	invoke *Evaluators
	call   *handler.Call
	// patterns bounds the time of all regular expressions of the tree.
	patterns *patterns
	// paths look into {inputs, outputs, trace, testcase}.
	paths *template.Paths
}

// matched is the verdict of one matcher.
type matched struct {
	key      string
	score    float64
	success  bool
	problem  string // why there was nothing to compare; empty where there was
	weight   float64
	children []matched
}

func (m matched) shown() map[string]any {
	out := map[string]any{}
	for _, child := range m.children {
		out[child.key] = child.shown()
	}
	out["success"], out["score"], out["error"] = m.success, m.score, any(nil)
	if m.problem != "" {
		out["error"] = m.problem
	}
	return out
}

func (m *matching) all(list []any, at string) ([]matched, error) {
	out := make([]matched, 0, len(list))
	for _, element := range list {
		if m.ctx.Err() != nil {
			return nil, context.Cause(m.ctx)
		}
		spec, ok := element.(map[string]any)
		if !ok {
			return nil, handler.Invalid(at, "a list of objects", element)
		}
		result, err := m.one(spec, at)
		if err != nil {
			return nil, err
		}
		out = append(out, result)
	}
	return out, nil
}

// one evaluates a matcher. What the data lack is its verdict; what its own
// specification lacks is an error.
func (m *matching) one(spec map[string]any, at string) (matched, error) {
	result := matched{key: textOr(spec["key"], ""), weight: 1}
	if given, ok := spec["weight"]; ok {
		if result.weight, ok = handler.Number(given); !ok || result.weight < 0 {
			return matched{}, handler.Invalid(at+".weight", "a number that is not negative", given)
		}
	}
	if below, ok := spec["matchers"].([]any); ok && len(below) > 0 {
		children, err := m.all(below, at+".matchers")
		if err != nil {
			return matched{}, err
		}
		own, err := combine(children, spec)
		if err != nil {
			return matched{}, err
		}
		result.children, result.score, result.success = children, own.score, own.success
		return result, nil
	}
	target, _ := spec["target"].(string)
	if target == "" {
		result.problem = "The matcher has no target."
		return result, nil
	}
	actual, err := m.paths.Resolve(target)
	if domain.KindOf(err) == domain.TooLarge {
		return matched{}, handler.WithProblem(err, handler.InvalidParameter)
	}
	if err != nil {
		result.problem = "There is nothing at the target '" + target + "'."
		return result, nil //nolint:nilerr // it is the verdict
	}
	threshold, err := matchThreshold(spec)
	if err != nil {
		return matched{}, err
	}
	score, problem, err := m.compare(spec, actual)
	if err != nil {
		return matched{}, err
	}
	result.score, result.problem = score, problem
	result.success = problem == "" && score >= threshold
	return result, nil
}

// matchThreshold is 1 where a matcher does not say: only what fits wholly succeeds.
func matchThreshold(spec map[string]any) (float64, error) {
	value, ok := spec["threshold"]
	if !ok || value == nil {
		return 1, nil
	}
	threshold, ok := handler.Number(value)
	if !ok {
		return 0, handler.Invalid("threshold", "a number", value)
	}
	return threshold, nil
}

// compare gives a score, or the reason why there is none.
func (m *matching) compare(spec map[string]any, actual any) (score float64, problem string, err error) {
	reference, err := m.reference(spec["reference"])
	if err != nil {
		return 0, "", err
	}
	sensitive := spec["case_sensitive"] == nil || spec["case_sensitive"] == true
	text := func(v any) string {
		s := matchText(v)
		if !sensitive {
			s = strings.ToLower(s)
		}
		return s
	}
	yes := func(holds bool) (float64, string, error) {
		if holds {
			return 1, "", nil
		}
		return 0, "", nil
	}
	switch kind := textOr(spec["match"], "valid"); kind {
	case "valid":
		return yes(isValid(actual, textOr(spec["mode"], "text")))
	case "exact":
		return yes(text(actual) == text(reference))
	case "starts_with":
		return yes(strings.HasPrefix(text(actual), text(reference)))
	case "ends_with":
		return yes(strings.HasSuffix(text(actual), text(reference)))
	case "contains":
		holds, err := m.contains(spec, text(actual), text)
		if err != nil {
			return 0, "", err
		}
		return yes(holds)
	case "regex":
		holds, err := m.patterns.match(matchText(reference), sensitive, matchText(actual))
		if handler.ProblemOf(err) == handler.RegexPattern {
			return 0, err.Error(), nil // it is the verdict of this matcher
		}
		if err != nil {
			return 0, "", err
		}
		return yes(holds)
	case "similarity":
		return m.similar(textOr(spec["similarity"], "jaccard"), text(actual), text(reference))
	case "diff":
		want, ok1 := documentOf(reference)
		got, ok2 := documentOf(actual)
		if !ok1 || !ok2 {
			return 0, "", nil
		}
		mode := textOr(spec["diff"], "full")
		score, err = difference(want, got, diffRules{schemaOnly: mode == "schema", bothKeys: mode == "strict", foldKeys: !sensitive})
		return score, "", err
	default:
		return 0, "There is no match '" + kind + "': it is one of valid, exact, starts_with, ends_with, contains, regex, similarity, diff.", nil
	}
}

// reference is a value, or what a path into the data leads to; a path that
// leads nowhere is taken for a text that looks like one.
func (m *matching) reference(v any) (any, error) {
	text, ok := v.(string)
	if !ok || !strings.HasPrefix(text, "$") && !strings.HasPrefix(text, "/") {
		return v, nil
	}
	found, err := m.paths.Resolve(text)
	if domain.KindOf(err) == domain.TooLarge {
		return nil, handler.WithProblem(err, handler.InvalidParameter)
	}
	if err != nil {
		return v, nil //nolint:nilerr // it is a text
	}
	return found, nil
}

func (m *matching) contains(spec map[string]any, actual string, text func(any) string) (bool, error) {
	references, ok := spec["references"].([]any)
	if !ok || len(references) == 0 {
		references = []any{spec["reference"]}
	}
	found := 0
	for _, r := range references {
		if m.ctx.Err() != nil {
			return false, context.Cause(m.ctx)
		}
		value, err := m.reference(r)
		if err != nil {
			return false, err
		}
		if strings.Contains(actual, text(value)) {
			found++
		}
	}
	if textOr(spec["contains"], "all") == "any" {
		return found > 0, nil
	}
	return found == len(references), nil
}

func (m *matching) similar(kind, actual, reference string) (float64, string, error) {
	var score float64
	var err error
	switch kind {
	case "jaccard": // the reference's name for shared blocks
		score, err = sharedRatio(m.ctx, []rune(actual), []rune(reference))
	case "levenshtein":
		score, err = closeness(m.ctx, []rune(actual), []rune(reference))
	case "cosine": // of embeddings
		var vectors [][]float64
		if vectors, err = m.invoke.embed(m.ctx, m.call, textOr(m.call.Parameters["embedding_model"], "text-embedding-3-small"), []string{actual, reference}); err == nil {
			score = cosine(vectors[0], vectors[1])
		}
	default:
		return 0, "", handler.Invalid("similarity", "one of jaccard, levenshtein, cosine", kind)
	}
	return score, "", err
}

// isValid tells whether a value is of a mode: text or json.
func isValid(v any, mode string) bool {
	text, isText := v.(string)
	switch mode {
	case "text":
		return isText
	case "json":
		if isText {
			_, err := jsonvalue.ParseString(text)
			return err == nil
		}
		_, ok := documentOf(v)
		return ok
	default:
		return false
	}
}

// matchText is a value as matchers read it.
func matchText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		return string(jsonvalue.Append(nil, v))
	}
}

// combine makes one verdict of several: score weighted (default), min or max;
// success threshold (default), any or all. None is a success.
func combine(children []matched, spec map[string]any) (matched, error) {
	out := matched{score: 1, success: true}
	if len(children) == 0 {
		return out, nil
	}
	threshold, err := matchThreshold(spec)
	if err != nil {
		return matched{}, err
	}
	lowest, highest, sum, weights := children[0].score, children[0].score, 0.0, 0.0
	anyOf, allOf := false, true
	for _, child := range children {
		lowest, highest = min(lowest, child.score), max(highest, child.score)
		sum += child.score * child.weight
		weights += child.weight
		anyOf, allOf = anyOf || child.success, allOf && child.success
	}
	switch how := textOr(spec["score"], "weighted"); how {
	case "weighted":
		out.score = 0
		if weights > 0 {
			out.score = sum / weights
		}
	case "min":
		out.score = lowest
	case "max":
		out.score = highest
	default:
		return matched{}, handler.Invalid("score", "one of weighted, min, max", how)
	}
	switch how := textOr(spec["success"], "threshold"); how {
	case "threshold":
		out.success = out.score >= threshold
	case "any":
		out.success = anyOf
	case "all":
		out.success = allOf
	default:
		return matched{}, handler.Invalid("success", "one of threshold, any, all", how)
	}
	return out, nil
}
