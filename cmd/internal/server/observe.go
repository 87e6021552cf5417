package server

import (
	"log/slog"
	"strconv"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
)

// observe counts, times and logs every request. The log names the key's
// prefix, never a credential, and the path without its query string.
func (s *Server) observe(c *gin.Context) {
	start := s.deps.Now()
	s.metrics.inFlight.Inc()
	defer func() {
		s.metrics.inFlight.Dec()
		s.record(c, s.deps.Now().Sub(start).Seconds())
	}()
	c.Next()
}

func (s *Server) record(c *gin.Context, seconds float64) {
	route := c.FullPath()
	if route == "" {
		route = "none"
	}
	status := c.Writer.Status()
	s.metrics.requests.WithLabelValues(method(c.Request.Method), route, strconv.Itoa(status)).Inc()
	s.metrics.duration.WithLabelValues(method(c.Request.Method), route).Observe(seconds)

	ctx := c.Request.Context()
	level := levelOf(status)
	if !s.log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("method", c.Request.Method),
		slog.String("path", c.Request.URL.Path),
		slog.Int("status", status),
		slog.Float64("seconds", seconds),
		slog.Int("bytes", c.Writer.Size()),
		slog.String("remote", c.Request.RemoteAddr),
	}
	if key := domain.PrincipalFrom(ctx).KeyPrefix; key != "" {
		attrs = append(attrs, slog.String("key_prefix", key))
	}
	if value, ok := c.Get(failureKey); ok {
		if f, ok := value.(failure); ok {
			attrs = append(attrs, slog.Any("error", f.err))
			if f.supportID != "" {
				attrs = append(attrs, slog.String("support_id", f.supportID))
			}
		}
	}
	s.log.LogAttrs(ctx, level, "request", attrs...)
}

// levelOf keeps a healthy, busy service quiet: what went well is for debugging,
// what the caller did wrong is information, what we did wrong asks for someone.
func levelOf(status int) slog.Level {
	switch {
	case status == 503:
		return slog.LevelWarn
	case status >= 500:
		return slog.LevelError
	case status >= 400:
		return slog.LevelInfo
	default:
		return slog.LevelDebug
	}
}

// method bounds the metric's label: a client may send any word as its verb.
func method(m string) string {
	switch m {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		return m
	default:
		return "other"
	}
}
