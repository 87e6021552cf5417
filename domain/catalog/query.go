package catalog

import (
	"encoding/json"
	"errors"
	"maps"
	"time"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/filter/filterjson"
	"colonnade/domain/request"
	"colonnade/domain/trace"
)

// ReadQuery reads the data of a saved trace query: {formatting, filtering,
// windowing, trace_ids, traces}. A filter that no trace query would take is a
// problem here already. Source: contract §5.8.
func ReadQuery(o *request.Object) entity.Document {
	data := entity.Document{}
	if formatting := o.Object("formatting"); formatting != nil {
		m := map[string]any{}
		if focus := formatting.Enum("focus", "trace", "span"); focus != "" {
			m["focus"] = focus
		}
		if format := formatting.Enum("format", "agenta", "opentelemetry"); format != "" {
			m["format"] = format
		}
		formatting.FailUnknown()
		data["formatting"] = m
	}
	if o.Has("filtering") {
		data["filtering"] = o.Map("filtering")
		checkFilter(o, data["filtering"])
	}
	if windowing := o.Object("windowing"); windowing != nil {
		window := maps.Clone(o.Map("windowing"))
		data["windowing"] = window
		for _, end := range []string{"newest", "oldest"} {
			// One form of a moment is stored, whichever was sent.
			if at := windowing.Time(end); !at.IsZero() {
				window[end] = at.Format(time.RFC3339Nano)
			}
		}
		windowing.UUID("next")
		windowing.Int("limit", 1)
		windowing.Enum("order", string(domain.Ascending), string(domain.Descending))
		windowing.Int("interval", 1)
		checkRate(windowing)
		windowing.FailUnknown()
	}
	if ids := o.Strings("trace_ids"); ids != nil {
		data["trace_ids"] = ids
		for i, id := range ids {
			if _, err := trace.ParseTraceID(id); err != nil {
				o.Fail("value_error", err.Error(), id, "trace_ids", i)
			}
		}
	}
	if o.Has("traces") {
		data["traces"] = o.List("traces")
	}
	o.FailUnknown()
	return data
}

// checkRate refuses a share that no trace query would take. Source: contract §3.3.
func checkRate(o *request.Object) {
	value := o.Any("rate")
	if value == nil {
		return
	}
	number, ok := value.(json.Number)
	rate, err := number.Float64()
	if !ok || err != nil || rate < 0 || rate > 1 {
		o.Fail("value_error", "Input should be between 0 and 1", value, "rate")
	}
}

func checkFilter(o *request.Object, filtering any) {
	text, err := json.Marshal(filtering)
	if err == nil {
		_, err = filterjson.Parse(text)
	}
	e, ok := errors.AsType[*domain.Error](err)
	switch {
	case err == nil:
	case ok && len(e.Fields) > 0:
		for _, f := range e.Fields {
			o.Fail(f.Type, f.Msg, f.Input, append([]any{"filtering"}, f.Loc...)...)
		}
	default:
		o.Fail("value_error", err.Error(), nil, "filtering")
	}
}
