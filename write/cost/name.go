package cost

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"colonnade/domain/price"
)

// maxRemembered bounds the names whose entries are remembered: clients name models freely.
const maxRemembered = 4096

type counter struct{ n atomic.Int64 }

// index makes the maps by which names are found that the table spells otherwise.
func (p *Prices) index() {
	p.plain, p.undated = make(map[string]string, len(p.models)), map[string]string{}
	names := slices.Sorted(maps.Keys(p.models))
	for _, prefixed := range []bool{false, true} { // a vendor's own entry before those of clouds
		for _, name := range names {
			if strings.Contains(name, "/") {
				continue
			}
			plain := plainName(name)
			if prefixed == (plain == dashed(name)) {
				continue
			}
			if _, taken := p.plain[plain]; !taken {
				p.plain[plain] = name
			}
		}
	}
	for _, plain := range slices.Sorted(maps.Keys(p.plain)) { // the latest date comes last
		if bare := withoutDate(plain); bare != plain {
			p.undated[bare] = p.plain[plain]
		}
	}
}

// Of returns a model's price and the entry of the table that has it. provider,
// which may be empty, is what telemetry calls the provider or system: the table
// has some models only under its name. Source: contract §0 row 38.
func (p *Prices) Of(provider, model string) (found price.Price, entry string, ok bool) {
	key := model
	if provider != "" {
		key = provider + "\x00" + model
	}
	if known, is := p.found.Load(key); is {
		entry, _ = known.(string)
	} else {
		entry = p.resolve(provider, model)
		if p.known.n.Load() < maxRemembered {
			p.known.n.Add(1)
			p.found.Store(strings.Clone(key), entry)
		}
	}
	found, ok = p.models[entry]
	return found, entry, ok
}

// Find returns what Of returns and remembers nothing: the names in requests of readers
// must not take the place of those in spans.
func (p *Prices) Find(provider, model string) (found price.Price, entry string, ok bool) {
	entry = p.resolve(provider, model)
	found, ok = p.models[entry]
	return found, entry, ok
}

// resolve finds the entry of a model: by its name, without prefixes of gateways,
// under its provider, without the suffix of fine-tuning, by its plain name, and
// by the longest dated or undated form of it.
func (p *Prices) resolve(provider, model string) string {
	model = strings.ToLower(strings.TrimSpace(model))
	names := []string{model}
	if tuned, ok := strings.CutPrefix(model, "ft:"); ok {
		base, _, _ := strings.Cut(tuned, ":")
		names = append(names, "ft:"+base, base)
	}
	for _, name := range names {
		for rest := name; ; {
			if _, ok := p.models[rest]; ok {
				return rest
			}
			_, after, found := strings.Cut(rest, "/")
			if !found {
				break
			}
			rest = after
		}
	}
	if prefix := tablePrefix(provider); prefix != "" {
		if _, ok := p.models[prefix+"/"+model]; ok {
			return prefix + "/" + model
		}
	}
	for _, name := range names {
		plain := plainName(name)
		if entry := p.plain[plain]; entry != "" {
			return entry
		}
		bare := withoutDate(plain)
		if entry := p.plain[bare]; entry != "" {
			return entry
		}
		if bare == plain {
			if entry := p.undated[bare]; entry != "" {
				return entry
			}
		}
	}
	return ""
}

// dashed spells a name without dots, at signs and colons.
func dashed(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || r == '@' || r == ':' || r == '_' || r == ' ' {
			return '-'
		}
		return r
	}, name)
}

// plainName takes the names of gateway, region, vendor and cloud version off
// the name of a model: "us.anthropic.claude-3-5-sonnet-20240620-v1:0" is
// "claude-3-5-sonnet-20240620".
func plainName(name string) string {
	name = name[strings.LastIndexByte(name, '/')+1:]
	for {
		prefix, rest, ok := strings.Cut(name, ".")
		if !ok || !isNamespace(prefix) {
			break
		}
		name = rest
	}
	name = dashed(name)
	if at := strings.LastIndex(name, "-v"); at > 0 && isCloudVersion(name[at+2:]) {
		name = name[:at]
	}
	return strings.TrimSuffix(name, "-latest")
}

// isNamespace reports whether the part of a name before a dot is a region or a vendor.
func isNamespace(prefix string) bool {
	switch prefix {
	case "us", "eu", "apac", "ap", "jp", "au", "ca", "global", "us-gov", "sa", "anthropic", "meta", "amazon", "mistral", "cohere", "ai21", "deepseek", "qwen", "openai", "google", "moonshot", "minimax", "nvidia", "writer", "stability":
		return true
	default:
		return false
	}
}

// isCloudVersion reports whether a suffix is a version that a cloud adds, as in "-v1:0": dashed, "1-0".
func isCloudVersion(s string) bool {
	major, minor, ok := strings.Cut(s, "-")
	return ok && digits(major) && digits(minor)
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// withoutDate takes the date off a plain name: "-20240620" or "-2024-07-18".
func withoutDate(name string) string {
	n := len(name)
	if n > 9 && name[n-9] == '-' && name[n-8] == '2' && digits(name[n-8:]) {
		return name[:n-9]
	}
	if n > 11 && name[n-11] == '-' && name[n-6] == '-' && name[n-3] == '-' && digits(name[n-10:n-6]) && digits(name[n-5:n-3]) && digits(name[n-2:]) {
		return name[:n-11]
	}
	return name
}

// tablePrefix is the table's word for a provider. Source: the well-known
// values of gen_ai.provider.name and gen_ai.system.
func tablePrefix(provider string) string {
	switch provider = strings.ToLower(provider); provider {
	case "mistral_ai", "mistralai", "mistral.chat":
		return "mistral"
	case "x_ai":
		return "xai"
	case "gcp.gemini", "gcp.gen_ai", "google", "google.generative-ai":
		return "gemini"
	case "gcp.vertex_ai", "google.vertex.chat":
		return "vertex_ai"
	case "aws.bedrock", "amazon-bedrock":
		return "bedrock"
	case "azure.ai.openai", "az.ai.openai":
		return "azure"
	case "azure.ai.inference", "az.ai.inference":
		return "azure_ai"
	case "ibm.watsonx.ai":
		return "watsonx"
	case "voyageai":
		return "voyage"
	case "together":
		return "together_ai"
	case "fireworks":
		return "fireworks_ai"
	default:
		return provider
	}
}
