package app

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/cmd/internal/listener"
)

// Clear text is a warning where other machines reach the listener, and nowhere else.
func TestClearTextWarns(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		addr  string
		files listener.TLS
		warns bool
	}{
		{"127.0.0.1:8080", listener.TLS{}, false},
		{"[::1]:8080", listener.TLS{}, false},
		{"[::ffff:127.0.0.1]:8080", listener.TLS{}, false},
		{"0.0.0.0:8080", listener.TLS{}, true},
		{"[::]:8080", listener.TLS{}, true},
		{"192.168.0.7:8080", listener.TLS{}, true},
		{"0.0.0.0:8080", listener.TLS{Cert: "cert.pem", Key: "key.pem"}, false},
	} {
		var log bytes.Buffer
		p := &process{log: slog.New(slog.NewTextHandler(&log, nil))}
		p.warnClearText(t.Context(), "http", tt.addr, tt.files)
		require.Equal(t, tt.warns, log.Len() > 0, tt.addr)
	}
}
