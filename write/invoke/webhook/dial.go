package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"colonnade/domain"
	"colonnade/write/invoke/handler"
)

// Config bounds calls to addresses that users configure.
type Config struct {
	// Timeout bounds one call, redirects included.
	Timeout time.Duration
	// MaxRequestBytes and MaxReplyBytes bound the bodies.
	MaxRequestBytes int
	MaxReplyBytes   int64
	// AllowPrivate permits webhooks at loopback, private and link-local addresses.
	AllowPrivate bool
	// AllowNetworks are private networks that webhooks may reach, for example 10.1.0.0/16.
	AllowNetworks []string
	// SigningKey signs requests of projects that have no secret named "hook". With an
	// empty key those requests are not signed.
	SigningKey string
}

// DefaultConfig returns the settings of an unconfigured service, which calls no private
// address and signs with no key.
func DefaultConfig() Config {
	return Config{Timeout: 30 * time.Second, MaxRequestBytes: 8 << 20, MaxReplyBytes: 1 << 20}
}

// Validate returns an error that names every field that cannot work.
func (h Config) Validate() error {
	var errs []error
	if h.Timeout <= 0 || h.MaxRequestBytes <= 0 || h.MaxReplyBytes <= 0 {
		errs = append(errs, errors.New("timeout, max_request_bytes, max_reply_bytes: must be positive"))
	}
	for _, n := range h.AllowNetworks {
		if _, err := netip.ParsePrefix(n); err != nil {
			errs = append(errs, fmt.Errorf("allow_networks: %q is not a network such as 10.1.0.0/16", n))
		}
	}
	return errors.Join(errs...)
}

// check refuses an address by its text. The addresses that its name resolves to
// are checked by control, when the connection is made.
func (h Config) check(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return handler.Fail(domain.Rejected, handler.InvalidParameter, "Invalid parameter: the hook's url must be an http or https URL")
	}
	if u.User != nil {
		return handler.Fail(domain.Rejected, handler.InvalidParameter, "Invalid parameter: the hook's url must not hold credentials; use headers")
	}
	return nil
}

var (
	errForbiddenAddress = errors.New("invoke: the address is not one that hooks may reach")
	errRedirects        = errors.New("invoke: too many redirects")
)

const mostRedirects = 3

// client never goes through a proxy, which would resolve names for us, and
// looks at every address it is about to connect to, after resolution: a name
// that changes what it means between a check and the connection gains nothing.
func (h Config) client() *http.Client {
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second, ControlContext: h.control()}
	return &http.Client{
		Transport: &http.Transport{
			DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 5 * time.Second,
			MaxIdleConns: 128, MaxIdleConnsPerHost: 8, IdleConnTimeout: 30 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > mostRedirects {
				return errRedirects
			}
			downgraded := r.URL.Scheme == "http" && via[0].URL.Scheme != "http"
			if r.URL.Host != via[0].URL.Host || downgraded {
				// What the revision's headers and the signature prove is meant for the first host alone,
				// and under TLS where it was asked for so.
				for name := range r.Header {
					switch name {
					case "Content-Type", "Accept", "User-Agent": // ours
					default:
						r.Header.Del(name)
					}
				}
			}
			lentTo(r).fill(r, downgraded)
			return h.check(r.URL.String())
		},
	}
}

// control is called with the address of each connection before it is made.
func (h Config) control() func(ctx context.Context, network, address string, c syscall.RawConn) error {
	allowed := make([]netip.Prefix, 0, len(h.AllowNetworks))
	for _, n := range h.AllowNetworks {
		if p, err := netip.ParsePrefix(n); err == nil {
			allowed = append(allowed, p.Masked())
		}
	}
	return func(_ context.Context, _, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return errForbiddenAddress
		}
		ip := at.Addr().Unmap().WithZone("")
		if h.AllowPrivate || public(ip) {
			return nil
		}
		for _, p := range allowed {
			if p.Contains(ip) {
				return nil
			}
		}
		return errForbiddenAddress
	}
}

// public tells whether an address belongs to the internet at large. What is
// carved out of it for other uses, and what leads from one family into the
// other, is not. Source: IANA special-purpose address registries.
func public(ip netip.Addr) bool {
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsMulticast() {
		return false
	}
	for _, text := range [...]string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "240.0.0.0/4",
		"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fec0::/10",
	} {
		if netip.MustParsePrefix(text).Contains(ip) {
			return false
		}
	}
	return true
}
