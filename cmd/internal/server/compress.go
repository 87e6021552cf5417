package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"
	"github.com/klauspost/compress/gzip"
)

// compress compresses a reply of at least the configured size with gzip, if the client accepts
// it. Smaller replies, replies that are already encoded, and streams that flush earlier
// are sent as they are. gzhttp is not used, because it compresses a stream at its first flush,
// and a flush before the first byte of a body does not send the headers.
func (s *Server) compress(c *gin.Context) {
	if !acceptsGzip(c.GetHeader("Accept-Encoding")) || c.Request.Method == http.MethodHead {
		c.Next()
		return
	}
	w := &gzipWriter{ResponseWriter: c.Writer, from: s.cfg.GzipMinBytes, pool: &s.zips}
	c.Writer = w
	defer func() {
		c.Writer = w.ResponseWriter
		if err := w.finish(); err != nil {
			_ = c.Error(fmt.Errorf("server: compressing: %w", err))
		}
	}()
	c.Next()
}

func acceptsGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		coding, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(coding, "gzip") || coding == "*" {
			q := strings.ReplaceAll(params, " ", "")
			return q != "q=0" && q != "q=0.0" && q != "q=0.00" && q != "q=0.000"
		}
	}
	return false
}

// gzipWriter holds back the first bytes of a body until it knows whether there are enough of them.
type gzipWriter struct {
	gin.ResponseWriter
	from    int
	pool    *sync.Pool // of *gzip.Writer: each has tables of some 300 KB
	held    []byte
	zip     *gzip.Writer
	decided bool
}

// Write holds, compresses or passes on.
func (w *gzipWriter) Write(p []byte) (int, error) {
	if !w.decided {
		w.held = append(w.held, p...)
		if len(w.held) < w.from {
			return len(p), nil
		}
		return len(p), w.decide(true)
	}
	if w.zip != nil {
		return w.zip.Write(p)
	}
	return w.ResponseWriter.Write(p)
}

// WriteString is Write for strings.
func (w *gzipWriter) WriteString(s string) (int, error) { return w.Write([]byte(s)) }

// Written also counts bytes that are still held: the handler has answered.
func (w *gzipWriter) Written() bool { return len(w.held) > 0 || w.ResponseWriter.Written() }

// Flush ends the holding: who flushes wants the bytes on the wire now.
func (w *gzipWriter) Flush() {
	if !w.decided {
		_ = w.decide(false)
	}
	if w.zip != nil {
		_ = w.zip.Flush()
	}
	w.ResponseWriter.Flush()
}

// Unwrap lets http.ResponseController reach the connection.
func (w *gzipWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Hijack gives the connection away, uncompressed.
func (w *gzipWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.decided = true
	return w.ResponseWriter.Hijack()
}

func (w *gzipWriter) decide(compress bool) (err error) {
	w.decided = true
	held := w.held
	w.held = nil
	header := w.Header()
	header.Add("Vary", "Accept-Encoding")
	if compress && header.Get("Content-Encoding") == "" && w.Status() != http.StatusNoContent {
		header.Set("Content-Encoding", "gzip")
		header.Del("Content-Length")
		if zip, ok := w.pool.Get().(*gzip.Writer); ok {
			zip.Reset(w.ResponseWriter)
			w.zip = zip
		} else if w.zip, err = gzip.NewWriterLevel(w.ResponseWriter, gzip.BestSpeed); err != nil {
			return err
		}
		_, err = w.zip.Write(held)
		return err
	}
	if len(held) == 0 {
		return nil
	}
	_, err = w.ResponseWriter.Write(held)
	return err
}

func (w *gzipWriter) finish() error {
	if !w.decided {
		return w.decide(false)
	}
	if w.zip == nil {
		return nil
	}
	err := w.zip.Close()
	w.zip.Reset(io.Discard) // the reply is not kept alive
	w.pool.Put(w.zip)
	return err
}
