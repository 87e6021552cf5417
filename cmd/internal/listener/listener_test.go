package listener_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"colonnade/cmd/internal/listener"
)

// arrivals is a listener at which connections arrive from given addresses.
type arrivals struct {
	net.Listener

	from  []string
	conns []*conn
}

func (a *arrivals) Accept() (net.Conn, error) {
	if len(a.conns) == len(a.from) {
		return nil, errors.New("nobody else arrives")
	}
	c := &conn{from: net.TCPAddrFromAddrPort(netip.MustParseAddrPort(a.from[len(a.conns)]))}
	a.conns = append(a.conns, c)
	return c, nil
}

type conn struct {
	net.Conn

	from   net.Addr
	closed bool
}

func (c *conn) RemoteAddr() net.Addr { return c.from }
func (c *conn) Close() error         { c.closed = true; return nil }

func TestLimits(t *testing.T) {
	t.Parallel()
	const public, other = "203.0.113.7:1", "198.51.100.1:1"
	for _, tt := range []struct {
		name, from string
		max, per   int
		trusted    []string
		want       string // + admitted, - refused
	}{
		{"all fit", public + " " + other, 2, 2, nil, "++"},
		{"the listener is full", "10.0.0.1:1 10.0.0.1:2 10.0.0.2:1 " + public, 3, 3, nil, "+++-"},
		{"one address", public + " 203.0.113.7:2 203.0.113.7:3 " + other, 9, 2, nil, "++-+"},
		{"private addresses share", "192.168.0.1:1 192.168.0.1:2 [fd00::1]:1 [fd00::1]:2", 9, 1, nil, "++++"},
		{"loopback shares", "127.0.0.1:1 127.0.0.1:2 [::1]:1 [::1]:2", 9, 1, nil, "++++"},
		{"a proxy", public + " 203.0.113.7:2", 9, 1, []string{"203.0.113.7"}, "++"},
		{"a network of proxies", public + " 203.0.113.8:2 203.0.113.8:3 " + other + " 198.51.100.1:2", 9, 1, []string{"203.0.113.0/24"}, "++++-"},
		{"a /64 is one address", "[2001:db8::1]:1 [2001:db8::2]:1 [2001:db8:0:1::1]:1", 9, 1, nil, "+-+"},
		{"IPv4 within IPv6", "[::ffff:203.0.113.7]:1 " + public, 9, 1, nil, "+-"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			trusted, err := listener.ParseNetworks(tt.trusted)
			require.NoError(t, err)
			inner := &arrivals{from: strings.Fields(tt.from)}
			limiter, err := listener.New(time.Now, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
			require.NoError(t, err)
			l, err := limiter.Wrap(inner, listener.Config{Name: "x", Max: tt.max, MaxPerAddress: tt.per, Trusted: trusted})
			require.NoError(t, err)
			for err == nil {
				_, err = l.Accept()
			}
			var got strings.Builder
			for _, c := range inner.conns {
				got.WriteString(map[bool]string{false: "+", true: "-"}[c.closed])
			}
			require.Equal(t, tt.want, got.String())
		})
	}
}

// A closed connection makes room, once. Warnings come once a minute.
func TestRoomWarningsAndMetrics(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	now := time.Unix(0, 0)
	reg := prometheus.NewRegistry()
	limiter, err := listener.New(func() time.Time { return now }, slog.New(slog.NewTextHandler(&log, nil)), reg)
	require.NoError(t, err)
	inner := &arrivals{from: []string{"203.0.113.7:1", "203.0.113.7:2", "203.0.113.7:3", "203.0.113.7:4", "203.0.113.7:5", "203.0.113.7:6"}}
	l, err := limiter.Wrap(inner, listener.Config{Name: "x", Max: 2, MaxPerAddress: 2})
	require.NoError(t, err)
	first, err := l.Accept()
	require.NoError(t, err)
	_, err = l.Accept()
	require.NoError(t, err)
	require.NoError(t, first.Close())
	require.NoError(t, first.Close())
	_, err = l.Accept()
	require.NoError(t, err)
	_, err = l.Accept()
	require.ErrorContains(t, err, "nobody else arrives")
	require.True(t, inner.conns[3].closed && inner.conns[4].closed && inner.conns[5].closed)
	require.Equal(t, 1, strings.Count(log.String(), "has reached its limit"), log.String())
	require.Equal(t, 1, strings.Count(log.String(), "near its limit"), log.String())
	now = now.Add(time.Minute)
	inner.from = append(inner.from, "203.0.113.7:7")
	_, err = l.Accept()
	require.Error(t, err)
	require.Equal(t, 2, strings.Count(log.String(), "has reached its limit"), log.String())
	require.NoError(t, testutil.GatherAndCompare(reg, strings.NewReader(`
		# HELP colonnade_listener_connections Open connections, by listener.
		# TYPE colonnade_listener_connections gauge
		colonnade_listener_connections{listener="x"} 2
		# HELP colonnade_listener_refused_total Connections closed when they were accepted, by listener and by the limit they exceeded: listener or address.
		# TYPE colonnade_listener_refused_total counter
		colonnade_listener_refused_total{listener="x",reason="listener"} 4
	`), "colonnade_listener_connections", "colonnade_listener_refused_total"))
}

// All listeners together leave files to the rest of the process.
func TestShare(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		files     uint64
		listeners int
		want      int
	}{{0, 2, 16384}, {64, 2, 16}, {256, 2, 64}, {700, 2, 262}, {1024, 2, 384}, {1024, 3, 256}, {1 << 20, 2, 16384}, {1<<64 - 1, 2, 16384}} {
		require.Equal(t, tt.want, listener.Share(tt.files, tt.listeners), "%d files", tt.files)
	}
	require.Equal(t, 65, listener.PerAddress(262))
	require.Positive(t, listener.Files())
	_, err := listener.ParseNetworks([]string{"10.0.0.0/8", "somewhere"})
	require.ErrorContains(t, err, "somewhere")
}
