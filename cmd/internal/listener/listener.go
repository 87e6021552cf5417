// Package listener bounds the connections of the process's listeners, so that
// a client that opens many and sends nothing cannot use up the open files on
// which every other request, the stores and the health probe depend. HTTP and
// gRPC use the same wrapper. It knows addresses and counts, no protocol: how
// long an idle connection may live is a setting of the server behind it.
// tls.go reads the certificates with which the servers speak TLS, remote.go finds
// the client behind proxies. cmd/internal/app and cmd/internal/server are its callers.
package listener

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Config bounds the connections of one listener.
type Config struct {
	// Name is the listener's in logs and metrics: http, grpc.
	Name string
	// Max bounds the open connections.
	Max int
	// MaxPerAddress bounds those of one remote address; of IPv6 a /64 counts as one.
	MaxPerAddress int
	// Trusted are the networks of proxies, for which MaxPerAddress does not count:
	// many clients share their addresses. Private networks are as good.
	Trusted []netip.Prefix
}

// Validate names every field that cannot work.
func (c Config) Validate() error {
	var errs []error
	if c.Max <= 0 {
		errs = append(errs, errors.New("max_connections: must be positive"))
	}
	if c.MaxPerAddress <= 0 {
		errs = append(errs, errors.New("max_connections_per_address: must be positive"))
	}
	return errors.Join(errs...)
}

const (
	// minReserve is kept for files, the stores and outgoing calls, where a quarter
	// of the open files is less: three pools of clients have about 60 connections.
	minReserve = 128
	// minShare is what a listener has under any limit.
	minShare = 16
	// maxShare is where memory would be the limit instead: a connection costs about 40 KB.
	maxShare = 16384
	// addressShare is the part of a listener that one public address may hold: 1/4.
	addressShare = 4
)

// Share returns how many connections each of several listeners may hold, so
// that all together stay below the limit of open files. A limit of zero is unknown.
func Share(files uint64, listeners int) int {
	if files == 0 {
		return maxShare
	}
	reserve := max(files/4, minReserve)
	if files <= reserve {
		return minShare
	}
	return int(min(max((files-reserve)/uint64(max(listeners, 1)), minShare), maxShare))
}

// PerAddress returns the default of MaxPerAddress for a listener of this size.
func PerAddress(limit int) int { return max(limit/addressShare, 1) }

// ParseNetworks reads addresses and networks in CIDR form.
func ParseNetworks(texts []string) ([]netip.Prefix, error) {
	networks := make([]netip.Prefix, 0, len(texts))
	for _, text := range texts {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			address, err := netip.ParseAddr(text)
			if err != nil {
				return nil, fmt.Errorf("%q is no address and no network such as 10.0.0.0/8", text)
			}
			network = netip.PrefixFrom(address, address.BitLen())
		}
		networks = append(networks, network.Masked())
	}
	return networks, nil
}

// Limiter makes listeners that share metrics and a log.
type Limiter struct {
	log     *slog.Logger
	now     func() time.Time
	metrics *metrics
}

// New creates a limiter.
func New(now func() time.Time, log *slog.Logger, reg prometheus.Registerer) (*Limiter, error) {
	m, err := newMetrics(reg)
	if err != nil {
		return nil, err
	}
	return &Limiter{log: log, now: now, metrics: m}, nil
}

// Wrap returns a listener that closes connections beyond the limits as soon as
// they are accepted.
func (l *Limiter) Wrap(inner net.Listener, cfg Config) (net.Listener, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.Name, err)
	}
	l.metrics.limit.WithLabelValues(cfg.Name).Set(float64(cfg.Max))
	return &limited{Listener: inner, cfg: cfg, limiter: l, log: l.log.With(slog.String("listener", cfg.Name)), byAddress: map[netip.Addr]int{}, warned: map[string]time.Time{}}, nil
}

type limited struct {
	net.Listener

	cfg     Config
	limiter *Limiter
	log     *slog.Logger

	mu        sync.Mutex
	open      int
	byAddress map[netip.Addr]int
	// warned is when each kind of warning was logged last: a reason, or nearLimit.
	warned map[string]time.Time
}

// Accept returns the next connection within the limits.
func (l *limited) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		address := addressOf(conn)
		reason := l.admit(address)
		if reason == "" {
			return &admitted{Conn: conn, release: sync.OnceFunc(func() { l.release(address) })}, nil
		}
		l.limiter.metrics.refused.WithLabelValues(l.cfg.Name, reason).Inc()
		_ = conn.Close() // the client sees a closed connection, and nothing was sent
	}
}

// Reasons of a refusal, as the metric's label.
const (
	reasonListener = "listener"
	reasonAddress  = "address"
)

// nearLimit is the kind of warning of a listener that is nearly full.
const nearLimit = "near"

// admit counts a connection, or returns why it is refused.
func (l *limited) admit(address netip.Addr) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	counted := !l.exempt(address)
	switch {
	case l.open >= l.cfg.Max:
		if l.warns(reasonListener) {
			l.log.Warn("connections refused: the listener has reached its limit", slog.Int("limit", l.cfg.Max))
		}
		return reasonListener
	case counted && l.byAddress[address] >= l.cfg.MaxPerAddress:
		if l.warns(reasonAddress) {
			l.log.Warn("connections refused: one address has reached its limit", slog.String("remote", address.String()), slog.Int("limit", l.cfg.MaxPerAddress))
		}
		return reasonAddress
	}
	l.open++
	if counted {
		l.byAddress[address]++
	}
	l.limiter.metrics.open.WithLabelValues(l.cfg.Name).Set(float64(l.open))
	if l.open*10 >= l.cfg.Max*9 && l.warns(nearLimit) {
		l.log.Warn("the listener is near its limit of connections", slog.Int("open", l.open), slog.Int("limit", l.cfg.Max))
	}
	return ""
}

func (l *limited) release(address netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if n := l.byAddress[address]; n > 1 {
		l.byAddress[address] = n - 1
	} else {
		delete(l.byAddress, address)
	}
	l.limiter.metrics.open.WithLabelValues(l.cfg.Name).Set(float64(l.open))
}

// warnEvery is the least time between two warnings of one kind: an attack must
// not fill the disk of the log.
const warnEvery = time.Minute

// warns reports whether a warning of a kind is due, and counts it as logged.
func (l *limited) warns(kind string) bool {
	now := l.limiter.now()
	if at, ok := l.warned[kind]; ok && now.Sub(at) < warnEvery {
		return false
	}
	l.warned[kind] = now
	return true
}

// exempt reports whether many clients may share the address.
func (l *limited) exempt(address netip.Addr) bool {
	return !address.IsValid() || address.IsLoopback() || address.IsPrivate() || address.IsLinkLocalUnicast() ||
		slices.ContainsFunc(l.cfg.Trusted, func(network netip.Prefix) bool { return network.Contains(address) })
}

// addressOf returns the remote address, of IPv6 its /64, which is what one
// client has; the zero Addr where there is none.
func addressOf(conn net.Conn) netip.Addr {
	tcp, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	address := tcp.AddrPort().Addr().Unmap().WithZone("")
	if address.Is4() {
		return address
	}
	network, err := address.Prefix(64)
	if err != nil || address.IsLoopback() {
		return address
	}
	return network.Addr()
}

// admitted gives its place back when it is closed.
type admitted struct {
	net.Conn

	release func()
}

// Close closes the connection.
func (a *admitted) Close() error {
	err := a.Conn.Close()
	a.release()
	return err
}
