// Command refresh writes write/cost/prices.json from the price list that
// the Python package litellm ships: models that a span can be charged for
// (chat, completion, embedding, rerank), their list prices per token, nothing
// else. `make prices` fetches the package and calls it.
package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"colonnade/domain/price"
)

const list = "litellm/model_prices_and_context_window_backup.json"

func main() {
	wheel := flag.String("wheel", "", "path of the downloaded litellm wheel")
	date := flag.String("date", "", "day of the download, as 2006-01-02")
	out := flag.String("out", "write/cost/prices.json", "file to write")
	flag.Parse()
	if err := run(*wheel, *date, *out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func run(wheel, date, out string) error {
	if wheel == "" || date == "" {
		return errors.New("refresh: -wheel and -date are required")
	}
	archive, err := zip.OpenReader(wheel)
	if err != nil {
		return fmt.Errorf("refresh: open %s: %w", wheel, err)
	}
	defer archive.Close() //nolint:errcheck // only read
	file, err := archive.Open(list)
	if err != nil {
		return fmt.Errorf("refresh: find the list: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(file)
	if err != nil {
		return fmt.Errorf("refresh: read the list: %w", err)
	}
	prices, err := trim(text)
	if err != nil {
		return err
	}
	name := strings.SplitN(path.Base(wheel), "-", 3)
	if len(name) < 2 {
		return fmt.Errorf("refresh: %s is no wheel's name", wheel)
	}
	return os.WriteFile(out, render(name[1], date, prices), 0o644) //nolint:gosec // a file of the repository, readable by all
}

// entry is what the list says of one model, by the names that it uses.
type entry map[string]json.RawMessage

// rates reads the rates that the list has under these names with a suffix.
func (e entry) rates(suffix string) price.Rates {
	read := func(name string) *float64 {
		var f *float64
		if json.Unmarshal(e[name+suffix], &f) != nil || f == nil || *f < 0 {
			return nil
		}
		return f
	}
	return price.Rates{
		Prompt: read("input_cost_per_token"), Completion: read("output_cost_per_token"),
		CacheRead: read("cache_read_input_token_cost"), CacheCreation: read("cache_creation_input_token_cost"), CacheCreation1h: read("cache_creation_input_token_cost_above_1hr"),
		Reasoning: read("output_cost_per_reasoning_token"), AudioInput: read("input_cost_per_audio_token"), AudioOutput: read("output_cost_per_audio_token"),
	}
}

// price reads the whole price of one model.
func (e entry) price() price.Price {
	p := price.Price{Rates: e.rates("")}
	suffixes := map[float64]string{}
	for name := range e {
		_, suffix, ok := strings.Cut(name, "_above_")
		thousands, is := strings.CutSuffix(suffix, "k_tokens")
		n, err := strconv.ParseFloat(thousands, 64)
		if ok && is && err == nil {
			suffixes[n*1000] = "_above_" + suffix
		}
	}
	for _, above := range slices.Sorted(maps.Keys(suffixes)) {
		if rates := e.rates(suffixes[above]); rates != (price.Rates{}) {
			p.Tiers = append(p.Tiers, price.Tier{Above: above, Rates: rates})
		}
	}
	if batch := e.rates("_batches"); batch != (price.Rates{}) {
		p.Batch = &batch
	}
	return p
}

// trim keeps the models with a price. An entry under a provider's prefix is
// dropped where the name without it costs the same: the lookup goes on without
// prefixes.
func trim(text []byte) (map[string]json.RawMessage, error) {
	var raw map[string]entry
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, fmt.Errorf("refresh: parse the list: %w", err)
	}
	all := make(map[string]json.RawMessage, len(raw))
	for name, e := range raw {
		var mode string
		_ = json.Unmarshal(e["mode"], &mode) // one that is no text is none of these
		switch mode {
		case "chat", "responses", "completion", "embedding", "rerank":
		default:
			continue
		}
		p := e.price()
		if or(p.Prompt, 0) <= 0 && or(p.Completion, 0) <= 0 {
			continue // free and unknown look the same there: a client's own cost is better
		}
		text, err := json.Marshal(p)
		if err != nil {
			return nil, fmt.Errorf("refresh: write the price of %s: %w", name, err)
		}
		all[strings.ToLower(name)] = text
	}
	kept := make(map[string]json.RawMessage, len(all))
	for name, price := range all {
		if bare, ok := without(all, name); !ok || !bytes.Equal(bare, price) {
			kept[name] = price
		}
	}
	return kept, nil
}

// without returns the price that a lookup finds when it drops prefixes.
func without(all map[string]json.RawMessage, name string) (price json.RawMessage, ok bool) {
	for {
		_, rest, found := strings.Cut(name, "/")
		if !found {
			return price, false
		}
		if price, ok = all[rest]; ok {
			return price, true
		}
		name = rest
	}
}

func or(f *float64, other float64) float64 {
	if f == nil {
		return other
	}
	return *f
}

// render writes one model a line, sorted, so that a refresh reads as a list of price changes.
func render(version, date string, prices map[string]json.RawMessage) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\n  \"source\": \"PyPI litellm %s (MIT), %s\",\n  \"date\": %q,\n", version, list, date)
	b.WriteString("  \"unit\": \"US dollars per token\",\n  \"models\": {\n")
	names := slices.Sorted(maps.Keys(prices))
	for i, name := range names {
		key, _ := json.Marshal(name) // strings and finite numbers always marshal
		fmt.Fprintf(&b, "    %s: %s", key, prices[name])
		if i < len(names)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString("  }\n}\n")
	return b.Bytes()
}
