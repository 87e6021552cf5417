package cost

import (
	"math"

	"colonnade/domain/semconv"
)

// usage counts the tokens of one call. read, created (of these created1h for an
// hour) and audioIn are part of prompt; reasoning and audioOut of completion.
type usage struct {
	prompt, completion, read, created, created1h, reasoning, audioIn, audioOut float64
	known                                                                      bool
}

func usageOf(tokens map[string]any) (u usage) {
	prompt, hasPrompt := count(tokens[semconv.Prompt])
	completion, hasCompletion := count(tokens[semconv.Completion])
	u = usage{prompt: prompt, completion: completion, known: hasPrompt || hasCompletion}
	var hasRead bool
	if u.read, hasRead = count(tokens[semconv.CacheRead]); !hasRead {
		u.read, _ = count(tokens[semconv.Cached])
	}
	u.created, _ = count(tokens[semconv.CacheCreation])
	u.created1h, _ = count(tokens["cache_creation_1h"])
	u.created = max(u.created, u.created1h)
	u.reasoning, _ = count(tokens["reasoning"])
	u.audioIn, _ = count(tokens["audio_input"])
	u.audioOut, _ = count(tokens["audio_output"])
	return u
}

// count reads a number of tokens; what is none, or negative, counts as absent.
func count(v any) (float64, bool) {
	var f float64
	switch v := v.(type) {
	case int64:
		f = float64(v)
	case float64:
		f = v
	default:
		return 0, false
	}
	if f < 0 || math.IsNaN(f) {
		return 0, false
	}
	return f, true
}

// completeTokens makes the prompt include the tokens that were read from a cache
// and written to one, the completion include reasoning that was counted beside
// it, and the total their sum. disjoint says that the sender counts the prompt
// without cached tokens; else only numbers that admit one reading are completed.
// Source: contract §0 rows 32 and 37.
func completeTokens(tokens map[string]any, disjoint bool) {
	u := usageOf(tokens)
	if !u.known {
		return
	}
	sent, _ := count(tokens[semconv.Total])
	total := sent
	cached := u.read + u.created
	if cached > 0 && (disjoint || u.prompt < cached || total == u.prompt+u.completion+cached || u.reasoning > 0 && total == u.prompt+u.completion+cached+u.reasoning) {
		if total == u.prompt+u.completion { // a total of the same reckoning
			total += cached
		}
		u.prompt += cached
		tokens[semconv.Prompt] = whole(u.prompt)
	}
	if u.reasoning > 0 && (u.reasoning > u.completion || total == u.prompt+u.completion+u.reasoning) {
		u.completion += u.reasoning
		tokens[semconv.Completion] = whole(u.completion)
	}
	if sum := u.prompt + u.completion; sum != sent || tokens[semconv.Total] == nil {
		tokens[semconv.Total] = whole(sum)
	}
}

// whole returns a whole number as one.
func whole(f float64) any {
	if f == math.Trunc(f) && f < 1<<53 {
		return int64(f)
	}
	return f
}
