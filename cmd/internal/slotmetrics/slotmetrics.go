// Package slotmetrics registers the metrics of pools of slots, which belong to the domain
// and register none. cmd/internal/app is the only caller.
package slotmetrics

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"colonnade/domain/slot"
)

// Register registers the metrics of a pool, whose name becomes their label.
func Register(reg prometheus.Registerer, name string, pool *slot.Pool) error {
	labels := prometheus.Labels{"pool": name}
	waits := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "colonnade_slot_wait_seconds", Help: "Time until a slot was free, of those who got one.", ConstLabels: labels,
		Buckets: []float64{0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10},
	})
	pool.Observe(func(waited time.Duration) { waits.Observe(waited.Seconds()) })
	for _, c := range []prometheus.Collector{
		waits,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "colonnade_slots_in_use", Help: "Slots that are held.", ConstLabels: labels},
			func() float64 { return float64(pool.Stats().InUse) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "colonnade_slots_waiting", Help: "Callers that wait for a slot.", ConstLabels: labels},
			func() float64 { return float64(pool.Stats().Waiting) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "colonnade_slots_refused_total", Help: "Callers refused with 429 because no slot became free in time.", ConstLabels: labels},
			func() float64 { return float64(pool.Stats().Refused) }),
	} {
		if err := reg.Register(c); err != nil {
			return fmt.Errorf("slotmetrics: %w", err)
		}
	}
	return nil
}
