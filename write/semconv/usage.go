package semconv

import (
	"maps"
	"slices"
	"strings"

	"colonnade/write/semconv/convert"
)

// count notes a number of tokens. Of two spellings of one convention the larger
// stands; a stronger convention wins.
func (o *Overlay) count(kind string, value any) {
	if value == nil {
		return
	}
	value = convert.Number(value)
	f := &o.facts
	if f.tokens == nil {
		f.tokens = make(map[string]any, 4)
	}
	if n, ok := numeric(value); ok {
		f.hasUsage = f.hasUsage || n > 0
		if old, is := numeric(f.tokens[kind]); is && old > n {
			return
		}
	} else if f.tokens[kind] != nil {
		return
	}
	f.tokens[kind] = value
}

// usage notes the counts of an object of usage, whatever API it comes from.
// plain is the kind of tokens for a name that the API uses; see tokenKind.
func (o *Overlay) usage(value any) {
	object, _ := convert.Parsed(value).(map[string]any)
	for _, k := range slices.Sorted(maps.Keys(object)) {
		if below, ok := object[k].(map[string]any); ok {
			for _, inner := range slices.Sorted(maps.Keys(below)) {
				if kind := tokenKind(k + "." + inner); kind != "" {
					o.count(kind, below[inner])
				}
			}
			continue
		}
		if kind := tokenKind(k); kind != "" {
			o.count(kind, object[k])
		}
	}
}

// tokenKind returns the kind of tokens that a name stands for; empty where it is none.
func tokenKind(name string) string {
	switch strings.ReplaceAll(name, ".", "_") {
	case "input", "input_tokens", "prompt", "prompt_tokens", "promptTokens", "inputTokens", "promptTokenCount", "prompt_token_count", "input_token_count":
		return "prompt"
	case "output", "output_tokens", "completion", "completion_tokens", "completionTokens", "outputTokens", "candidatesTokenCount", "candidates_token_count", "output_token_count":
		return "completion"
	case "total", "total_tokens", "totalTokens", "totalTokenCount", "total_token_count":
		return "total"
	case "cache_read_input_tokens", "cache_read_tokens", "cached_tokens", "cached_input_tokens", "cachedInputTokens", "input_cached_tokens", "cache_read", "cacheReadInputTokens",
		"prompt_tokens_details_cached_tokens", "input_tokens_details_cached_tokens", "input_token_details_cache_read", "input_tokens_cached", "cachedContentTokenCount",
		"cached_content_token_count", "details_cache_read_tokens", "details_cached_tokens", "details_cache_read_input_tokens", "prompt_details_cache_read", "prompt_details_cache_input", "inputTokenDetails_cacheReadTokens",
		"input_cache_read", "input_cached", "prompt_cache_hit_tokens", "input_tokens_cache_read", "cache_read_input_token_count", "input_token_details_cached", "cached_input", "cache_tokens", "prompt_tokens_cached":
		return "cache_read"
	case "cache_creation_input_tokens", "cache_write_input_tokens", "cache_creation_tokens", "cache_write_tokens", "cache_write", "cache_creation", "cacheWriteInputTokens", "cacheCreationInputTokens",
		"input_token_details_cache_creation", "details_cache_write_tokens", "details_cache_creation_input_tokens", "prompt_details_cache_write", "inputTokenDetails_cacheWriteTokens", "input_cache_creation",
		"prompt_tokens_details_cache_creation_tokens", "prompt_tokens_details_cache_write_tokens", "input_tokens_details_cache_write_tokens", "input_tokens_cache_write", "input_cache_write", "input_tokens_details_cache_creation":
		return "cache_creation"
	case "cache_creation_ephemeral_1h_input_tokens", "cache_creation_1h_input_tokens", "input_token_details_ephemeral_1h_input_tokens", "details_cache_write_1h_tokens":
		return "cache_creation_1h"
	case "reasoning", "reasoning_tokens", "reasoning_output_tokens", "reasoningTokens", "completion_tokens_details_reasoning_tokens", "output_tokens_details_reasoning_tokens", "output_token_details_reasoning",
		"details_reasoning_tokens", "completion_details_reasoning", "outputTokenDetails_reasoningTokens", "thoughtsTokenCount", "thoughts_token_count", "output_reasoning_tokens", "output_reasoning", "thinking_tokens",
		"completion_tokens_reasoning", "output_tokens_reasoning", "experimental_reasoning_tokens", "thoughts_tokens", "details_thoughts_tokens":
		return "reasoning"
	case "audio_input_tokens", "input_audio_tokens", "prompt_tokens_details_audio_tokens", "input_tokens_details_audio_tokens", "input_token_details_audio", "prompt_details_audio", "details_input_audio_tokens", "input_audio", "audio_input":
		return "audio_input"
	case "audio_output_tokens", "output_audio_tokens", "completion_tokens_details_audio_tokens", "output_tokens_details_audio_tokens", "output_token_details_audio", "completion_details_audio", "details_output_audio_tokens", "output_audio", "audio_output":
		return "audio_output"
	case "image_input_tokens", "text_input_tokens", "text_output_tokens", "video_input_tokens":
		return strings.TrimSuffix(strings.ReplaceAll(name, ".", "_"), "_tokens")
	default:
		return ""
	}
}

// costs notes a part of the cost that the sender reports.
func (o *Overlay) costs(kind string, value any) {
	n, ok := numeric(convert.Number(value))
	if !ok {
		return
	}
	r := &o.facts.reported
	if r.Kinds == nil {
		r.Kinds = make(map[string]float64, 3)
	}
	r.Kinds[kind], r.Found = n, true
}

// costKind returns the side of a cost that a name stands for, and the name where it is neither.
func costKind(name string) string {
	switch name {
	case "input", "prompt", "input_cost", "prompt_cost":
		return "prompt"
	case "output", "completion", "output_cost", "completion_cost":
		return "completion"
	case "total", "total_cost", "cost":
		return "total"
	default:
		return name
	}
}
