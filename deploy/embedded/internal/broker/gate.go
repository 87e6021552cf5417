//go:build embedded

package broker

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// mechanism is how clients authenticate. It never sends the password itself.
const mechanism = "SCRAM-SHA-256"

const (
	// authTimeout is how long a connection may take to authenticate.
	authTimeout = 10 * time.Second
	// maxFrame bounds a request before that, far above any that authentication needs.
	maxFrame = 64 << 10
	// scramRounds is how many answers SCRAM takes.
	scramRounds = 2
)

var errUnauthenticated = errors.New("broker: the client has not authenticated")

// gate lets through only what authentication needs until a connection has
// authenticated. The broker itself checks that as well, but only after it has
// read the request, whatever its size, and has shown it to our own handlers,
// which count bytes and create topics.
type gate struct{ net.Listener }

// Accept returns the next connection, closed to all but authentication.
func (g gate) Accept() (net.Conn, error) {
	conn, err := g.Listener.Accept()
	if err != nil {
		return nil, err
	}
	_ = conn.SetReadDeadline(time.Now().Add(authTimeout)) //nolint:forbidigo // a deadline of the system's clock; a connection that ended says so when it is read
	return &gated{Conn: conn, asked: map[int32]bool{}}, nil
}

type gated struct {
	net.Conn
	// frame is what has been read of a request and not been given out.
	frame  []byte
	passed atomic.Bool

	mu sync.Mutex // guards the following: one goroutine reads and another writes
	// asked are the authentications that have no answer yet, by correlation id, and
	// whether their answers have the flexible form.
	asked  map[int32]bool
	rounds int
}

// Read returns a part of one request at a time, and passes bytes on once the
// connection has authenticated.
func (c *gated) Read(p []byte) (int, error) {
	if len(c.frame) == 0 {
		if c.passed.Load() {
			return c.Conn.Read(p)
		}
		if err := c.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.frame)
	c.frame = c.frame[n:]
	return n, nil
}

// next reads a request: its size, key, version, correlation id, and the rest.
func (c *gated) next() error {
	header := make([]byte, 12)
	if _, err := io.ReadFull(c.Conn, header); err != nil {
		return err
	}
	c.frame = header
	if c.passed.Load() { // meanwhile
		return nil
	}
	size := binary.BigEndian.Uint32(header)
	if size < 8 || size > maxFrame {
		return errUnauthenticated
	}
	version := int16(binary.BigEndian.Uint16(header[6:]))  //nolint:gosec // the wire's own bits
	switch kmsg.Key(binary.BigEndian.Uint16(header[4:])) { //nolint:gosec // the wire's own bits
	case kmsg.ApiVersions, kmsg.SASLHandshake:
	case kmsg.SASLAuthenticate:
		request := kmsg.NewSASLAuthenticateRequest()
		request.SetVersion(version)
		c.mu.Lock()
		c.asked[int32(binary.BigEndian.Uint32(header[8:]))] = request.IsFlexible() //nolint:gosec // the wire's own bits
		c.mu.Unlock()
	default:
		return errUnauthenticated
	}
	c.frame = append(c.frame, make([]byte, size-8)...)
	_, err := io.ReadFull(c.Conn, c.frame[12:])
	return err
}

// Write sends an answer, one a call, and opens the connection before the last
// one of authentication is sent.
func (c *gated) Write(answer []byte) (int, error) {
	if !c.passed.Load() && c.accepted(answer) {
		if err := c.SetReadDeadline(time.Time{}); err != nil {
			return 0, err
		}
		c.passed.Store(true)
	}
	return c.Conn.Write(answer)
}

// accepted reports whether the answer ends an authentication that succeeded. It
// begins with its size, the correlation id, tags where it is flexible, and the
// error code. The broker ends a connection whose authentication fails.
func (c *gated) accepted(answer []byte) bool {
	const atCorrelation, atError = 4, 8
	if len(answer) < atError+3 {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	correlation := int32(binary.BigEndian.Uint32(answer[atCorrelation:])) //nolint:gosec // the wire's own bits
	flexible, asked := c.asked[correlation]
	if !asked {
		return false
	}
	delete(c.asked, correlation)
	at := atError
	if flexible {
		at++
	}
	if binary.BigEndian.Uint16(answer[at:]) == 0 {
		c.rounds++
	}
	return c.rounds == scramRounds
}
