package otlpjson

import (
	"errors"

	"colonnade/domain"
)

// ConvertLogs brings an OTLP/JSON body of log records to a LogsData message. Unlike spans,
// a body with one bad record is Rejected whole: the service keeps few of them.
func ConvertLogs(body string) ([]byte, error) {
	c := converter{reader: reader{s: body}}
	dst, err := c.members(make([]byte, 0, len(body)/2), func(dst []byte, key string) ([]byte, bool, error) {
		if key != "resourceLogs" && key != "resource_logs" {
			return dst, false, nil
		}
		dst, err := c.messages(dst, 1, c.resourceLogs)
		return dst, true, err
	})
	if err == nil && c.peek() != 0 {
		err = c.fail("something follows the end")
	}
	if err != nil {
		return nil, domain.E(domain.Rejected, "Failed to parse OTLP stream. %s.", upperFirst(err.Error()))
	}
	return dst, nil
}

func (c *converter) resourceLogs(dst []byte) ([]byte, error) {
	return c.members(dst, func(dst []byte, key string) ([]byte, bool, error) {
		var err error
		switch key {
		case "resource":
			dst, err = c.message(dst, 1, c.resource)
		case "scopeLogs", "scope_logs":
			dst, err = c.messages(dst, 2, c.scopeLogs)
		default:
			return dst, false, nil
		}
		return dst, true, err
	})
}

func (c *converter) scopeLogs(dst []byte) ([]byte, error) {
	return c.members(dst, func(dst []byte, key string) ([]byte, bool, error) {
		var err error
		switch key {
		case "scope":
			dst, err = c.message(dst, 1, c.scope)
		case "logRecords", "log_records":
			dst, err = c.messages(dst, 2, c.logRecord)
		default:
			return dst, false, nil
		}
		return dst, true, err
	})
}

func (c *converter) logRecord(dst []byte) ([]byte, error) {
	return c.members(dst, func(dst []byte, key string) ([]byte, bool, error) {
		var err error
		switch key {
		case "timeUnixNano", "time_unix_nano":
			dst, err = c.fixed64(dst, 1)
		case "severityNumber", "severity_number":
			dst, err = c.enum(dst, 2, func(string) (uint64, bool) { return 0, true }) // no severity matters here
		case "severityText", "severity_text":
			dst, err = c.string(dst, 3)
		case "body":
			dst, err = c.message(dst, 5, c.anyValue)
		case "attributes":
			dst, err = c.messages(dst, 6, c.attribute)
		case "traceId", "trace_id":
			dst, err = c.id(dst, 9, 16)
		case "spanId", "span_id":
			dst, err = c.id(dst, 10, 8)
		case "observedTimeUnixNano", "observed_time_unix_nano":
			dst, err = c.fixed64(dst, 11)
		case "eventName", "event_name":
			dst, err = c.string(dst, 12)
		default:
			return dst, false, nil
		}
		return dst, true, err
	})
}

// CountMetrics returns the number of metrics in an OTLP/JSON body of metrics.
func CountMetrics(body string) (n int, err error) {
	r := reader{s: body}
	err = nested(&r, []string{"resourceMetrics", "scopeMetrics", "metrics"}, &n)
	if err == nil && r.peek() != 0 {
		err = errors.New("something follows the end")
	}
	if err != nil {
		return 0, domain.E(domain.Rejected, "Failed to parse OTLP stream. %s.", upperFirst(err.Error()))
	}
	return n, nil
}

// nested counts the elements of a list in a list in a list, by the names of the members
// that hold them.
func nested(r *reader, names []string, n *int) error {
	return r.object(func(key string) error {
		if key != names[0] || r.peek() != '[' {
			_, err := r.skip()
			return err
		}
		return r.array(func() error {
			if len(names) > 1 {
				return nested(r, names[1:], n)
			}
			*n++
			_, err := r.skip()
			return err
		})
	})
}
