package credential

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Secret is a value that a project lends to its invocations, decrypted.
type Secret struct {
	Value string
	// Hosts are the hosts that may receive the value in a header, as ParseHost returns
	// them. Without hosts no header may hold it.
	Hosts []string
}

// MayReach reports whether a request to this address may have the value in a header.
func (s Secret) MayReach(u *url.URL) bool {
	port := u.Port()
	if port == "" {
		port = "443"
		if u.Scheme == "http" {
			port = "80"
		}
	}
	return slices.Contains(s.Hosts, net.JoinHostPort(canonicalHost(u.Hostname()), port))
}

// maxHostName is the longest name of a host. Source: RFC 1035.
const maxHostName = 253

var errHost = errors.New("not a host such as api.example.com or 10.0.0.7:8080")

// ParseHost parses a host with or without a port and returns it as host:port. Without a port
// it is 443, so that a request without TLS gets the value only where its port was named.
// Names are ASCII: an internationalized one is written in its xn-- form.
func ParseHost(text string) (string, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		host, port = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"), "443"
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
		return "", errHost
	}
	host = canonicalHost(host)
	if _, err := netip.ParseAddr(host); err != nil && !isHostName(host) {
		return "", errHost
	}
	return net.JoinHostPort(host, port), nil
}

// canonicalHost returns the one spelling of an address, or of a name in lower case and without
// the dot of the root.
func canonicalHost(host string) string {
	if address, err := netip.ParseAddr(host); err == nil {
		return address.String()
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

func isHostName(host string) bool {
	if len(host) > maxHostName {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}
