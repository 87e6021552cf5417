package api

import (
	"encoding/json"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/trace"
)

// FoundTraces are the traces that a saved query finds.
type FoundTraces struct {
	IDs []trace.TraceID
	// Traces are the traces as a list of JSON, where they were asked for.
	Traces json.RawMessage
	// Window is the one of the next page; its Next is zero when there is none.
	Window domain.Window
	// Release gives back the memory of the traces, once the reply is written.
	Release func()
}

// RunQuery runs the query of a revision of the caller's project. whole asks for the traces and
// not for their ids alone.
type RunQuery func(c *gin.Context, revision uuid.UUID, window *Windowing, whole bool) (FoundTraces, error)
