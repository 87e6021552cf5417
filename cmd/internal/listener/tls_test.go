package listener_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/cmd/internal/listener"
)

// authority issues certificates for 127.0.0.1.
type authority struct {
	t      *testing.T
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	serial int64
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	a.key, a.cert = a.make(&x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil, nil)
	return a
}

func (a *authority) make(template, parent *x509.Certificate, signer *ecdsa.PrivateKey) (*ecdsa.PrivateKey, *x509.Certificate) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	a.serial++
	template.SerialNumber, template.Subject = big.NewInt(a.serial), pkix.Name{CommonName: "test"}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	require.NoError(a.t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(a.t, err)
	return key, cert
}

// issue returns a certificate and its key in PEM form.
func (a *authority) issue() (cert, key []byte) {
	a.t.Helper()
	k, c := a.make(&x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}, a.cert, a.key)
	der, err := x509.MarshalPKCS8PrivateKey(k)
	require.NoError(a.t, err)
	return a.pem(c), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func (a *authority) pem(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// handshake connects a client to a server over a pipe and returns the number of the server's
// certificate.
func handshake(t *testing.T, server, client *tls.Config) (serial int64, protocol string, err error) {
	t.Helper()
	near, far := net.Pipe()
	defer func() { _, _ = near.Close(), far.Close() }()
	answered := make(chan error, 1)
	go func() {
		conn := tls.Server(far, server)
		err := conn.HandshakeContext(t.Context())
		if err == nil {
			_, err = conn.Write([]byte("x")) // with TLS 1.3 a client learns here that its certificate was refused
		}
		answered <- err
		_ = far.Close()
	}()
	client.ServerName, client.NextProtos = "127.0.0.1", []string{"h2", "http/1.1"}
	conn := tls.Client(near, client)
	if err := conn.HandshakeContext(t.Context()); err != nil {
		return 0, "", err
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		return 0, "", err
	}
	require.NoError(t, <-answered)
	state := conn.ConnectionState()
	return state.PeerCertificates[0].SerialNumber.Int64(), state.NegotiatedProtocol, nil
}

// A renewed certificate is used without a restart, a broken one is not.
func TestTLSFilesAreReadAgain(t *testing.T) {
	t.Parallel()
	ca, dir := newAuthority(t), t.TempDir()
	files := listener.TLS{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	now := time.Now()
	keep := func(cert, key []byte) {
		now = now.Add(time.Second)
		for path, text := range map[string][]byte{files.Cert: cert, files.Key: key} {
			require.NoError(t, os.WriteFile(path, text, 0o600))
			require.NoError(t, os.Chtimes(path, now, now))
		}
	}
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	_, err := files.Server([]string{"h2"}, func() time.Time { return now }, logger)
	require.ErrorIs(t, err, os.ErrNotExist, "a start without the files")
	keep(ca.issue())
	first := ca.serial
	server, err := files.Server([]string{"h2", "http/1.1"}, func() time.Time { return now }, logger)
	require.NoError(t, err)
	connect := func() int64 {
		serial, protocol, err := handshake(t, server, &tls.Config{RootCAs: ca.pool(), MinVersion: tls.VersionTLS12})
		require.NoError(t, err)
		require.Equal(t, "h2", protocol)
		return serial
	}
	require.Equal(t, first, connect())

	cert, key := ca.issue()
	keep(cert, []byte("half a key"))
	require.Equal(t, first, connect(), "the former certificate stays")
	require.Contains(t, log.String(), "level=ERROR")
	keep(cert, key)
	require.Equal(t, first+1, connect())
	require.Contains(t, log.String(), "TLS files were read again")
	_, _, err = handshake(t, server, &tls.Config{RootCAs: ca.pool(), MaxVersion: tls.VersionTLS11})
	require.Error(t, err)
}

// With client_ca a client without a certificate of that authority gets nothing.
func TestTLSAsksClientsForCertificates(t *testing.T) {
	t.Parallel()
	ca, other, dir := newAuthority(t), newAuthority(t), t.TempDir()
	files := listener.TLS{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), ClientCA: filepath.Join(dir, "ca.pem")}
	cert, key := ca.issue()
	for path, text := range map[string][]byte{files.Cert: cert, files.Key: key, files.ClientCA: []byte("nothing")} {
		require.NoError(t, os.WriteFile(path, text, 0o600))
	}
	_, err := files.Server([]string{"h2"}, time.Now, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "holds no certificate")
	require.NoError(t, os.WriteFile(files.ClientCA, ca.pem(ca.cert), 0o600))
	server, err := files.Server([]string{"h2"}, time.Now, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	for _, tt := range []struct {
		name   string
		issuer *authority
		ok     bool
	}{{"of the authority", ca, true}, {"of another one", other, false}, {"none", nil, false}} {
		client := &tls.Config{RootCAs: ca.pool(), MinVersion: tls.VersionTLS12}
		if tt.issuer != nil {
			pair, err := tls.X509KeyPair(tt.issuer.issue())
			require.NoError(t, err)
			client.Certificates = []tls.Certificate{pair}
		}
		_, _, err := handshake(t, server, client)
		require.Equal(t, tt.ok, err == nil, "%s: %v", tt.name, err)
	}
}

func TestTLSConfig(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in listener.TLS
		ok bool
	}{
		{listener.TLS{}, true},
		{listener.TLS{Cert: "c", Key: "k"}, true},
		{listener.TLS{Cert: "c", Key: "k", ClientCA: "a"}, true},
		{listener.TLS{Cert: "c"}, false},
		{listener.TLS{Key: "k"}, false},
		{listener.TLS{ClientCA: "a"}, false},
	} {
		require.Equal(t, tt.ok, tt.in.Validate() == nil, "%+v", tt.in)
	}
	require.False(t, listener.TLS{}.Enabled())
}
