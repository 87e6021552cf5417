package listener

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Remote returns the address of the client of a request, and whether the client speaks TLS.
// What X-Forwarded-For and X-Forwarded-Proto say counts from trusted proxies only.
func Remote(trusted []netip.Prefix) func(r *http.Request) (address string, secure bool) {
	return func(r *http.Request) (string, bool) {
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		if err != nil {
			return r.RemoteAddr, r.TLS != nil
		}
		if !within(trusted, host) {
			return host, r.TLS != nil
		}
		// The last address that no trusted proxy has is the client: those before it may be its invention.
		chain := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		for _, address := range slices.Backward(chain) {
			if hop := strings.TrimSpace(address); hop != "" {
				host = hop
				if !within(trusted, hop) {
					break
				}
			}
		}
		return host, r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
	}
}

func within(networks []netip.Prefix, address string) bool {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return false
	}
	for _, network := range networks {
		if network.Contains(ip.Unmap()) {
			return true
		}
	}
	return false
}
