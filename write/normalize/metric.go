package normalize

import (
	"maps"
	"slices"

	"colonnade/domain/semconv"
)

// fitMetrics gives metrics their canonical names and parks what is not a
// number where one belongs. All four members are there afterwards. Source:
// contract §1.4, §1.5.
func (w *fitting) fitMetrics(ag map[string]any) {
	metrics := w.fitObject(ag, semconv.Metrics)
	if metrics == nil {
		metrics = make(map[string]any, 4)
		ag[semconv.Metrics] = metrics
	}
	w.rename(metrics, "unit", semconv.Incremental)
	w.rename(metrics, "acc", semconv.Cumulative)
	for _, name := range [...]string{semconv.Duration, semconv.Errors, semconv.Tokens, semconv.Costs} {
		w.fitMetric(metrics, name)
	}
	if len(metrics) == 4 {
		return
	}
	w.parkUnknown(metrics, metricName, semconv.Metrics)
}

func metricName(k string) bool {
	switch k {
	case semconv.Duration, semconv.Errors, semconv.Tokens, semconv.Costs:
		return true
	default:
		return false
	}
}

// rename moves metrics.<group>.tokens and .costs to where the schema has
// them; a metric that is there under its canonical name already stands.
func (w *fitting) rename(metrics map[string]any, group, to string) {
	object, ok := metrics[group].(map[string]any)
	if !ok {
		return
	}
	for _, name := range []string{semconv.Tokens, semconv.Costs} {
		from, ok := object[name].(map[string]any)
		if !ok {
			continue
		}
		delete(object, name)
		metric, there := metrics[name].(map[string]any)
		if !there {
			if other := metrics[name]; other != nil {
				w.park(other, semconv.Metrics, name)
			}
			metric = make(map[string]any, 2)
			metrics[name] = metric
		}
		vector, there := metric[to].(map[string]any)
		if !there && metric[to] == nil {
			metric[to] = from
			continue
		}
		for _, k := range slices.Sorted(maps.Keys(from)) {
			if _, taken := vector[k]; taken || vector == nil {
				w.parkUnequal(vector[k], from[k], semconv.Metrics, group, name, k)
				continue
			}
			vector[k] = from[k]
		}
	}
	if duration, ok := object[semconv.Duration].(map[string]any); ok && to == semconv.Cumulative {
		// The client's own reckoning of what is measured here.
		delete(duration, semconv.Total)
		if len(duration) == 0 {
			delete(object, semconv.Duration)
		}
	}
	if len(object) == 0 {
		delete(metrics, group)
	}
}

func (w *fitting) parkUnequal(there, value any, path ...string) {
	if !equal(there, value) {
		w.park(value, path...)
	}
}

func (w *fitting) fitMetric(metrics map[string]any, name string) {
	metric, ok := metrics[name].(map[string]any)
	if !ok {
		if value := metrics[name]; value != nil {
			w.park(value, semconv.Metrics, name)
		}
		metrics[name] = map[string]any{}
		return
	}
	var buffer [4]string
	for _, k := range sortedKeys(metric, buffer[:0]) {
		value := metric[k]
		known := k == semconv.Cumulative || k == semconv.Incremental
		if known && value != nil && semconv.Scalar(name) {
			value = w.fitScalar(value, name, k)
		} else if known && value != nil {
			value = w.fitVector(value, name, k)
		} else if !known {
			w.park(value, semconv.Metrics, name, k)
			value = nil
		}
		if value == nil {
			delete(metric, k)
		} else {
			metric[k] = value
		}
	}
}

// fitScalar wants a number; of an object it takes total, count or value.
func (w *fitting) fitScalar(value any, name, k string) any {
	if number(value) {
		return value
	}
	if object, ok := value.(map[string]any); ok {
		for _, m := range []string{semconv.Total, "count", "value"} {
			if v, there := object[m]; there && number(v) {
				delete(object, m)
				if len(object) > 0 {
					w.park(object, semconv.Metrics, name, k)
				}
				return v
			}
		}
	}
	w.park(value, semconv.Metrics, name, k)
	return nil
}

// fitVector wants an object of numbers and parks the members that are none.
func (w *fitting) fitVector(value any, name, k string) any {
	vector, ok := value.(map[string]any)
	if !ok {
		w.park(value, semconv.Metrics, name, k)
		return nil
	}
	numbers := 0
	for m, v := range vector {
		if v == nil {
			delete(vector, m)
		} else if number(v) {
			numbers++
		}
	}
	if numbers == len(vector) {
		return vector
	}
	w.parkUnknown(vector, func(m string) bool { return number(vector[m]) }, semconv.Metrics, name, k)
	return vector
}

func number(v any) bool {
	switch v.(type) {
	case int64, float64:
		return true
	default:
		return false
	}
}
