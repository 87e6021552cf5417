package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
)

// Media types of a reply that is either one JSON document or a stream of JSON events.
const (
	MediaJSON   = "application/json"
	MediaSSE    = "text/event-stream"
	MediaNDJSON = "application/x-ndjson"
	MediaJSONL  = "application/jsonl"
)

// StreamMedia returns the media types that NegotiateStream chooses from.
func StreamMedia() []string { return []string{MediaJSON, MediaSSE, MediaNDJSON, MediaJSONL} }

// NegotiateStream chooses the media type of a reply from the Accept header. A
// stream is chosen by its name, or by wantsStream where the client accepts any
// type. ok is false where the client accepts none of StreamMedia; media is then
// MediaJSON. Source: contract §6.
func NegotiateStream(c *gin.Context, wantsStream bool) (media string, stream, ok bool) {
	accept := c.GetHeader("Accept")
	natural := MediaJSON
	if wantsStream {
		natural = MediaNDJSON
	}
	if strings.TrimSpace(accept) == "" {
		return natural, wantsStream, true
	}
	best, bestQ := "", 0.0
	for part := range strings.SplitSeq(accept, ",") {
		name, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		name = strings.ToLower(strings.TrimSpace(name))
		if name == "*/*" || name == "application/*" {
			name = natural
		}
		if q := quality(params); q > bestQ && slices.Contains(StreamMedia(), name) {
			best, bestQ = name, q
		}
	}
	if best == "" {
		return MediaJSON, false, false
	}
	return best, best != MediaJSON, true
}

// quality returns the weight of a media type, 1 without one.
func quality(params string) float64 {
	for p := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if strings.EqualFold(name, "q") {
			var q float64
			if _, err := fmt.Sscanf(value, "%g", &q); err == nil {
				return q
			}
		}
	}
	return 1
}

// EventStream writes JSON events in the media type that NegotiateStream chose.
type EventStream struct {
	c       *gin.Context
	media   string
	started bool
}

// NewEventStream creates a stream, which writes nothing until Start.
func NewEventStream(c *gin.Context, media string) *EventStream {
	return &EventStream{c: c, media: media}
}

// Started reports whether Start was called.
func (s *EventStream) Started() bool { return s.started }

// Start writes the headers. From then on the status is 200, so that an error can
// only be reported by the last event.
func (s *EventStream) Start() {
	if s.started {
		return
	}
	s.started = true
	s.c.Header("Content-Type", s.media)
	s.c.Header("Cache-Control", "no-store")
	s.c.Header("X-Accel-Buffering", "no")
	s.c.Header("Trailer", domain.TokenHeader)
	s.c.Status(http.StatusOK)
}

// Send writes one event and flushes it. value is canonical JSON, as
// jsonvalue.Append takes it.
func (s *EventStream) Send(value any) error {
	var dst []byte
	if s.media == MediaSSE {
		dst = append(dst, "data: "...)
	}
	dst = append(jsonvalue.Append(dst, value), '\n')
	if s.media == MediaSSE {
		dst = append(dst, '\n')
	}
	if _, err := s.c.Writer.Write(dst); err != nil {
		return err
	}
	s.c.Writer.Flush()
	return nil
}
