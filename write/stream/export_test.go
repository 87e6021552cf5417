package stream

import (
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// NewClientLog is what the Kafka client logs to.
func NewClientLog(log *slog.Logger, now func() time.Time) kgo.Logger { return newClientLog(log, now) }
