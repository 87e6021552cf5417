package app

import (
	"github.com/prometheus/client_golang/prometheus"

	"colonnade/write/ingest"
	"colonnade/write/logevents"
	"colonnade/write/normalize"
	"colonnade/write/stream/consumer"
)

// buildLogEvents joins log records to their spans. In a process of the write role too it
// shares the locks of traces with the edits of requests.
func (w *wiring) buildLogEvents() (err error) {
	// A registry of its own: the metrics of a consumer have no labels that would tell the
	// topic of log records from that of spans.
	member, err := consumer.New(w.cfg.LogEvents.Kafka(w.cfg.Kafka), w.Now, w.log, prometheus.NewRegistry())
	if err != nil {
		return err
	}
	w.closers = append(w.closers, member)
	deps := logevents.Deps{Consumer: member, Ingest: w.ingest, Stored: w.stored, Now: w.Now, Log: w.log, Registerer: w.reg}
	if deps.Ingest == nil {
		if deps.Ingest, err = ingest.New(w.cfg.Ingest, w.Producer, w.Now, w.log, w.pipeline("logs")); err != nil {
			return err
		}
	}
	if deps.Stored == nil {
		if deps.Stored, err = ingest.NewStored(w.cfg.Commands, w.Stores.ClickHouse); err != nil {
			return err
		}
	}
	normalizer := w.normalizer
	if normalizer == nil {
		if normalizer, err = normalize.New(w.cfg.Cost, prometheus.NewRegistry()); err != nil {
			return err
		}
	}
	deps.Normalize = normalizer.Spans
	w.LogEvents, err = logevents.New(w.cfg.LogEvents, deps)
	return err
}
