package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// gaveUpError reports that the context of the attempts ended, and the last error that
// was not just a timeout.
type gaveUpError struct{ met, ended error }

func (e *gaveUpError) Error() string   { return fmt.Sprintf("given up after %v: %v", e.met, e.ended) }
func (e *gaveUpError) Unwrap() []error { return []error{e.met, e.ended} }

// DefectError is a defect of the sink that some rows reveal.
type DefectError struct{ Reason string }

func (e *DefectError) Error() string { return "sink: " + e.Reason }

// Fault is the reason of a failed statement.
type Fault int

const (
	// FaultUnavailable means that ClickHouse is unavailable or overloaded, whatever the statement.
	FaultUnavailable Fault = iota + 1
	// FaultTimeout means that the statement ran out of time, perhaps only this once.
	FaultTimeout
	// FaultRows means that ClickHouse refuses the rows or exceeds its limits with them.
	FaultRows
)

// answerTimeout bounds the probe whether ClickHouse answers.
const answerTimeout = 5 * time.Second

// Classify returns why a statement failed that may be too much for ClickHouse. Memory
// and time are the statement's fault only if ClickHouse answers another one.
func (s *DB) Classify(ctx context.Context, err error) Fault {
	if _, ok := errors.AsType[*DefectError](err); ok || refusesRows(err) {
		return FaultRows
	}
	met := err
	if gave, ok := errors.AsType[*gaveUpError](err); ok {
		met = gave.met
	}
	found := FaultUnavailable
	if exception, ok := errors.AsType[*clickhouse.Exception](met); ok {
		found = faultOf(exception.Code)
	} else if errors.Is(met, context.DeadlineExceeded) {
		found = FaultTimeout
	}
	if found == FaultUnavailable {
		return found
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if err := s.conn.Exec(ctx, "SELECT 1"); err != nil {
		return FaultUnavailable
	}
	return found
}

// faultOf returns the fault of an exception code. Source: ClickHouse ErrorCodes.cpp.
func faultOf(code int32) Fault {
	switch code {
	case 159, // TIMEOUT_EXCEEDED
		160: // TOO_SLOW
		return FaultTimeout
	case 49, // LOGICAL_ERROR
		158, // TOO_MANY_ROWS
		173, // CANNOT_ALLOCATE_MEMORY
		191, // SET_SIZE_LIMIT_EXCEEDED
		241, // MEMORY_LIMIT_EXCEEDED
		307, // TOO_MANY_BYTES
		396: // TOO_MANY_ROWS_OR_BYTES
		return FaultRows
	default:
		return FaultUnavailable
	}
}

// refusesRows reports whether ClickHouse will never take these rows, because of their
// content, by the code of its exception. Every other error (no connection, no memory,
// too many parts, an unexpected table, an unknown code) may pass or be repaired, so
// the insert is retried: a partition that waits is visible in the lag, while records
// sent to the dead-letter topic by mistake are not. Source: ClickHouse ErrorCodes.cpp.
func refusesRows(err error) bool {
	exception, ok := errors.AsType[*clickhouse.Exception](err)
	if !ok {
		return false
	}
	switch exception.Code {
	case 69, // ARGUMENT_OUT_OF_BOUND
		117, // INCORRECT_DATA
		128, // TOO_LARGE_ARRAY_SIZE
		131, // TOO_LARGE_STRING_SIZE
		321, // VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE
		407, // DECIMAL_OVERFLOW
		469, // VIOLATED_CONSTRAINT
		691: // UNKNOWN_ELEMENT_OF_ENUM
		return true
	default:
		return false
	}
}
