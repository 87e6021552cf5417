package access

import (
	"encoding/base64"
	"net/url"
	"strings"
)

// splitScheme separates the scheme of an Authorization header, in small letters, from its
// value; a value alone has none. Exporters that take headers from an environment variable
// send the blank as %20, some without decoding it. Source: contract §0 row 49.
func splitScheme(authorization string) (scheme, value string) {
	authorization = strings.TrimSpace(authorization)
	if !strings.Contains(authorization, " ") && strings.Contains(authorization, "%20") {
		if decoded, err := url.PathUnescape(authorization); err == nil {
			authorization = decoded
		}
	}
	scheme, value, ok := strings.Cut(authorization, " ")
	if !ok {
		return "", authorization
	}
	return strings.ToLower(scheme), strings.TrimSpace(value)
}

// apiKeyOf returns the text of the API key that a header carries; ok is false for a scheme
// that carries none. Basic has it as its password, so that senders that know a public and a
// secret half need no code.
func apiKeyOf(scheme, value string) (key string, ok bool) {
	switch scheme {
	case "", "apikey", "bearer":
		return value, true
	case "basic":
		encoding := base64.RawStdEncoding
		if strings.ContainsAny(value, "-_") {
			encoding = base64.RawURLEncoding
		}
		pair, err := encoding.DecodeString(strings.TrimRight(value, "="))
		if err != nil {
			return "", false
		}
		_, key, ok = strings.Cut(string(pair), ":")
		return key, ok
	default:
		return "", false
	}
}
