// Package token translates the tokens of writes at the border of the service: handlers read
// and write positions of the log, clients get them encrypted (token.go). It also lends the
// token of a caller's last write to its next requests (recent.go). cmd/internal/server passes
// every request through it, so that no handler can forget to.
package token

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
	"colonnade/domain/credential"
)

// Translator translates tokens. It is safe for concurrent use.
type Translator struct {
	positions func(ctx context.Context) (credential.Positions, error)
	log       *slog.Logger
	recent    recent
}

// New returns a translator. positions returns the cipher of tokens; nil means that there are none.
func New(positions func(ctx context.Context) (credential.Positions, error), now func() time.Time, log *slog.Logger) *Translator {
	if positions == nil {
		positions = func(context.Context) (credential.Positions, error) { return credential.Positions{}, errNoKey }
	}
	return &Translator{positions: positions, log: log, recent: recent{now: now, written: map[caller]written{}}}
}

var errNoKey = errors.New("token: there is no key")

// Serve runs the handler of a request between the two translations. With remember the next
// reads of the same caller wait for this write.
func (t *Translator) Serve(c *gin.Context, remember bool, h func(*gin.Context) error) error {
	carried, err := t.decrypt(c)
	if err != nil {
		return err
	}
	t.recent.recall(c)
	w := &writer{ResponseWriter: c.Writer, translator: t, c: c, carried: carried}
	c.Writer = w
	err = h(c)
	w.encrypt() // of a reply without a body, and of trailers
	c.Writer = w.ResponseWriter
	if remember {
		t.recent.remember(c.Request, w.written)
	}
	return err
}

// Encrypt returns a token as clients get it. It is empty for an empty token, and where the
// key cannot be read: the write is done, and its reader must do without waiting.
func (t *Translator) Encrypt(ctx context.Context, token domain.Token) string {
	if len(token) == 0 {
		return ""
	}
	p, err := t.positions(ctx)
	if err == nil {
		var text string
		if text, err = p.Encrypt(credential.Random(), token); err == nil {
			return text
		}
	}
	t.log.WarnContext(ctx, "encryption of a token failed, the reply is without one", slog.Any("error", err))
	return ""
}

// decrypt replaces the tokens of a request by the positions that they name together.
func (t *Translator) decrypt(c *gin.Context) (domain.Token, error) {
	texts := c.Request.Header.Values(domain.TokenHeader)
	if len(texts) == 0 {
		return nil, nil
	}
	c.Request.Header.Del(domain.TokenHeader)
	p, err := t.positions(c.Request.Context())
	if err != nil {
		return nil, err
	}
	token, err := p.Decrypt(strings.Join(texts, ","))
	if err == nil && len(token) > 0 {
		c.Request.Header.Set(domain.TokenHeader, token.String())
	}
	return token, err
}

// writer encrypts the tokens of a reply before its headers are written.
type writer struct {
	gin.ResponseWriter

	translator *Translator
	c          *gin.Context
	// carried is the token of the request. A write answers with the token of both, so that a
	// client needs to keep the last one alone.
	carried domain.Token
	// written is the token of the reply, without the carried one.
	written domain.Token
	// sent are the encrypted headers: a trailer is set after the first of them.
	sent map[string]string
}

// encrypt replaces the positions in the headers that the handler has set since the last time.
func (w *writer) encrypt() {
	for _, name := range [...]string{domain.TokenHeader, domain.TokenHeader + "-Pending"} {
		text := w.Header().Get(name)
		if text == "" || text == w.sent[name] {
			continue
		}
		token, err := domain.ParseToken(text)
		if err != nil {
			w.Header().Del(name) // a mistake of the handler, which no client should see
			continue
		}
		if name == domain.TokenHeader {
			w.written = append(domain.Token{}, token...)
			for _, p := range w.carried {
				token = token.Add(p)
			}
		}
		if text = w.translator.Encrypt(w.c.Request.Context(), token); text == "" {
			w.Header().Del(name)
			continue
		}
		w.Header().Set(name, text)
		if w.sent == nil {
			w.sent = map[string]string{}
		}
		w.sent[name] = text
	}
}

// Write encrypts and writes.
func (w *writer) Write(p []byte) (int, error) {
	w.encrypt()
	return w.ResponseWriter.Write(p)
}

// WriteString encrypts and writes.
func (w *writer) WriteString(s string) (int, error) {
	w.encrypt()
	return w.ResponseWriter.WriteString(s)
}

// WriteHeaderNow encrypts and writes the headers.
func (w *writer) WriteHeaderNow() {
	w.encrypt()
	w.ResponseWriter.WriteHeaderNow()
}

// Flush encrypts and flushes.
func (w *writer) Flush() {
	w.encrypt()
	w.ResponseWriter.Flush()
}

// Unwrap lets http.ResponseController reach the connection.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
