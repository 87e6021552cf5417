package listener

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// TLS names the files with which a listener speaks TLS. Empty names mean clear text.
type TLS struct {
	// Cert is a file with the certificate in PEM form, followed by those of its issuers. Empty
	// means clear text. Files are read again within seconds of a change.
	Cert string
	// Key is a file with the private key of the certificate in PEM form.
	Key string
	// ClientCA is a file with certificates in PEM form. With it every client shows a
	// certificate that one of them has issued. Empty asks clients for none.
	ClientCA string
}

// Enabled reports whether the listener speaks TLS.
func (c TLS) Enabled() bool { return c.Cert != "" }

// Validate returns an error that names every field that cannot work. It reads no file.
func (c TLS) Validate() error {
	switch {
	case (c.Cert == "") != (c.Key == ""):
		return errors.New("tls.cert and tls.key: both are needed, or none")
	case c.Cert == "" && c.ClientCA != "":
		return errors.New("tls.client_ca: needs tls.cert and tls.key")
	default:
		return nil
	}
}

// tlsCheckEvery is how often a handshake looks for changed files at most: a busy listener
// has thousands of handshakes a second.
const tlsCheckEvery = time.Second

// Server returns the configuration of a server that offers these protocols, or an error if the
// files cannot be used now. When the files change later, new connections use them; changed
// files that cannot be used are logged, and the last ones that could stay in use.
func (c TLS) Server(protocols []string, now func() time.Time, log *slog.Logger) (*tls.Config, error) {
	r := &reloader{files: c, protocols: protocols, now: now, log: log}
	if err := r.load(); err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: protocols,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return r.config(), nil },
	}, nil
}

// reloader holds the configuration of the files as they are.
type reloader struct {
	files     TLS
	protocols []string
	now       func() time.Time
	log       *slog.Logger

	mu      sync.Mutex
	current *tls.Config
	seen    [3]version
	checked time.Time
}

// version tells two states of a file apart.
type version struct {
	modified time.Time
	size     int64
}

// config returns the configuration for the next connection.
func (r *reloader) config() *tls.Config {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.now(); now.Sub(r.checked) >= tlsCheckEvery {
		r.checked = now
		if r.versions() != r.seen {
			if err := r.load(); err != nil {
				r.log.Error("changed TLS files cannot be used, the listener keeps the former ones", slog.Any("error", err))
			} else {
				r.log.Info("TLS files were read again")
			}
		}
	}
	return r.current
}

// versions returns the state of each file; a file that cannot be read has the zero version.
func (r *reloader) versions() (all [3]version) {
	for i, path := range [...]string{r.files.Cert, r.files.Key, r.files.ClientCA} {
		if info, err := os.Stat(path); path != "" && err == nil {
			all[i] = version{info.ModTime(), info.Size()}
		}
	}
	return all
}

// load reads the files. Their versions are taken before: a change while they are read is seen
// as a change by the next check.
func (r *reloader) load() error {
	r.seen = r.versions()
	certificate, err := tls.LoadX509KeyPair(r.files.Cert, r.files.Key)
	if err != nil {
		return fmt.Errorf("tls: %w", err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: r.protocols, Certificates: []tls.Certificate{certificate}}
	if r.files.ClientCA != "" {
		pem, err := os.ReadFile(r.files.ClientCA)
		if err != nil {
			return fmt.Errorf("tls: %w", err)
		}
		config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		if !config.ClientCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("tls: %s holds no certificate in PEM form", r.files.ClientCA)
		}
	}
	r.current = config
	return nil
}
