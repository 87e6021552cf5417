package otlp

import (
	"encoding/hex"
	"encoding/json"
	"strconv"

	"colonnade/write/ingest"
)

// exportReply describes the body of a reply. Source: deploy/docs/api.md.
type exportReply struct {
	Count          int             `json:"count"`
	Links          []ingest.Link   `json:"links"`
	PartialSuccess *partialSuccess `json:"partialSuccess,omitempty"`
}

type partialSuccess struct {
	RejectedSpans int64  `json:"rejectedSpans"`
	ErrorMessage  string `json:"errorMessage"`
}

// appendReceipt appends an exportReply without reflection, because the body names every span
// of every request.
func appendReceipt(dst []byte, r ingest.Receipt) []byte {
	const linkBytes = len(`{"trace_id":"","span_id":""},`) + 32 + 16
	if dst == nil {
		dst = make([]byte, 0, 64+len(r.Links)*linkBytes)
	}
	dst = append(dst, `{"count":`...)
	dst = strconv.AppendInt(dst, int64(r.Count), 10)
	dst = append(dst, `,"links":[`...)
	for i := range r.Links {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"trace_id":"`...)
		dst = hex.AppendEncode(dst, r.Links[i].TraceID[:])
		dst = append(dst, `","span_id":"`...)
		dst = hex.AppendEncode(dst, r.Links[i].SpanID[:])
		dst = append(dst, `"}`...)
	}
	dst = append(dst, ']')
	if n := r.Rejected.Count; n > 0 {
		dst = append(dst, `,"partialSuccess":{"rejectedSpans":`...)
		dst = strconv.AppendInt(dst, int64(n), 10)
		dst = append(dst, `,"errorMessage":`...)
		message, _ := json.Marshal(r.Message()) // a string always marshals
		dst = append(dst, message...)
		dst = append(dst, '}')
	}
	return append(dst, '}')
}
