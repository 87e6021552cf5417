package main

import (
	"archive/zip"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"colonnade/domain/price"
)

const sampleList = `{
	"sample_spec": {"mode": "one of: chat, embedding", "input_cost_per_token": "free text"},
	"m": {"mode": "chat", "input_cost_per_token": 2e-6, "output_cost_per_token": 4e-6, "cache_read_input_token_cost": 5e-7,
		"input_cost_per_token_above_200k_tokens": 4e-6, "output_cost_per_token_batches": 1e-6, "output_cost_per_reasoning_token": 5e-6},
	"same/m": {"mode": "chat", "input_cost_per_token": 2e-6, "output_cost_per_token": 4e-6, "cache_read_input_token_cost": 5e-7,
		"input_cost_per_token_above_200k_tokens": 4e-6, "output_cost_per_token_batches": 1e-6, "output_cost_per_reasoning_token": 5e-6},
	"dear/M": {"mode": "responses", "input_cost_per_token": 3e-6, "output_cost_per_token": 4e-6, "cache_creation_input_token_cost": 4e-6},
	"lone/x": {"mode": "embedding", "input_cost_per_token": 1e-8},
	"free": {"mode": "chat", "input_cost_per_token": 0, "output_cost_per_token": 0},
	"picture": {"mode": "image_generation", "input_cost_per_token": 1}
}`

func TestRefresh(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	wheel, out := filepath.Join(dir, "litellm-1.2.3-py3-none-any.whl"), filepath.Join(dir, "prices.json")
	file, err := os.Create(wheel)
	require.NoError(t, err)
	archive := zip.NewWriter(file)
	w, err := archive.Create(list)
	require.NoError(t, err)
	_, err = w.Write([]byte(sampleList))
	require.NoError(t, err)
	require.NoError(t, archive.Close())
	require.NoError(t, file.Close())

	require.NoError(t, run(wheel, "2026-01-02", out))
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	var got struct {
		Source, Date string
		Models       map[string]price.Price
	}
	require.NoError(t, json.Unmarshal(text, &got))
	require.Contains(t, got.Source, "litellm 1.2.3")
	require.Equal(t, "2026-01-02", got.Date)
	f := func(v float64) *float64 { return &v }
	want := map[string]price.Price{
		"m": {
			Rates: price.Rates{Prompt: f(2e-6), Completion: f(4e-6), CacheRead: f(5e-7), Reasoning: f(5e-6)},
			Tiers: []price.Tier{{Above: 200_000, Rates: price.Rates{Prompt: f(4e-6)}}},
			Batch: &price.Rates{Completion: f(1e-6)},
		},
		"dear/m": {Rates: price.Rates{Prompt: f(3e-6), Completion: f(4e-6), CacheCreation: f(4e-6)}},
		"lone/x": {Rates: price.Rates{Prompt: f(1e-8)}},
	}
	if diff := cmp.Diff(want, got.Models); diff != "" {
		t.Errorf("prices (-want +got):\n%s", diff)
	}
	require.Error(t, run("", "", out))
	require.Error(t, run(filepath.Join(dir, "none.whl"), "2026-01-02", out))
}
