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
	"strings"
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

// entry is what the list says of one model.
type entry struct {
	Mode          string   `json:"mode"`
	Prompt        *float64 `json:"input_cost_per_token"`
	Completion    *float64 `json:"output_cost_per_token"`
	CacheRead     *float64 `json:"cache_read_input_token_cost"`
	CacheCreation *float64 `json:"cache_creation_input_token_cost"`
}

// trim keeps the models with a price, each as [prompt, completion, cache read,
// cache write]; what the list leaves out costs as much as the prompt. An entry
// under a provider's prefix is dropped where the name without it costs the
// same: the lookup goes on without prefixes.
func trim(text []byte) (map[string][4]float64, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, fmt.Errorf("refresh: parse the list: %w", err)
	}
	all := make(map[string][4]float64, len(raw))
	for name, text := range raw {
		var e entry
		if json.Unmarshal(text, &e) != nil { // the list begins with a sample that explains itself in words
			continue
		}
		switch e.Mode {
		case "chat", "responses", "completion", "embedding", "rerank":
		default:
			continue
		}
		prompt, completion := or(e.Prompt, 0), or(e.Completion, 0)
		if prompt <= 0 && completion <= 0 {
			continue // free and unknown look the same there: a client's own cost is better
		}
		all[strings.ToLower(name)] = [4]float64{prompt, completion, or(e.CacheRead, prompt), or(e.CacheCreation, prompt)}
	}
	kept := make(map[string][4]float64, len(all))
	for name, price := range all {
		if bare, ok := without(all, name); !ok || bare != price {
			kept[name] = price
		}
	}
	return kept, nil
}

// without gives the price that a lookup finds when it drops prefixes.
func without(all map[string][4]float64, name string) (price [4]float64, ok bool) {
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
func render(version, date string, prices map[string][4]float64) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\n  \"source\": \"PyPI litellm %s (MIT), %s\",\n  \"date\": %q,\n", version, list, date)
	b.WriteString("  \"unit\": \"US dollars per token: prompt, completion, cached read, cached write\",\n  \"models\": {\n")
	names := slices.Sorted(maps.Keys(prices))
	for i, name := range names {
		key, _ := json.Marshal(name) // strings and finite numbers always marshal
		price, _ := json.Marshal(prices[name])
		fmt.Fprintf(&b, "    %s: %s", key, price)
		if i < len(names)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString("  }\n}\n")
	return b.Bytes()
}
