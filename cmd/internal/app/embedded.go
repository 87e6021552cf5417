package app

import (
	"context"
	"fmt"
	"math"

	"github.com/prometheus/client_golang/prometheus"

	"colonnade/cmd/internal/config"
	"colonnade/deploy/embedded"
	"colonnade/write/stream"
)

// embeddedPartitions is what one machine works on best. Documents lie in the
// order of the stream: with one partition what came together lies together, and
// a page opens half the places. One worker keeps up, for it makes the rows of a
// batch while the one before is written; with 4 a span costs ClickHouse a
// quarter more. A log that was begun with two keeps them.
const embeddedPartitions = 1

// startEmbedded brings the engines up in the data directory and puts their
// addresses into the configuration, where nothing can tell them from real ones.
func (p *process) startEmbedded(ctx context.Context) (*embedded.Stack, error) {
	for name, given := range map[string]bool{
		"kafka.brokers": len(p.cfg.Kafka.Brokers) > 0, "clickhouse.url": p.cfg.ClickHouse.URL != "", "postgres.url": p.cfg.Postgres.URL != "",
	} {
		if given {
			return nil, fmt.Errorf("app: --embedded brings its own stores, but %s is set: drop one of the two", name)
		}
	}
	p.progress("Starting Kafka, ClickHouse and Postgres in " + p.cfg.DataDir + " ...")
	e := p.cfg.Embedded
	stack, err := embedded.Start(ctx, embedded.Config{
		Dir: p.cfg.DataDir, EnginesDir: e.EnginesDir, Log: p.log, Progress: p.progress,
		Ports:                 embedded.Ports{Kafka: e.KafkaPort, ClickHouse: e.ClickHousePort, Postgres: e.PostgresPort},
		KafkaRetainBytes:      e.KafkaRetainBytes,
		DiskReserveBytes:      e.DiskReserveBytes,
		ClickHouseMemoryBytes: e.ClickHouseMemoryBytes,
	})
	if err != nil {
		return nil, err
	}
	p.cfg.Kafka.Brokers, p.cfg.ClickHouse.URL, p.cfg.Postgres.URL = stack.Kafka, stack.ClickHouse, stack.Postgres
	p.cfg.Kafka.SASL = stream.SASL(stack.KafkaSASL)
	p.cfg.SQL.ClickHouseURL = stack.ClickHouse
	for setting, set := range map[string]func(){
		"sql.max_concurrent":             func() { p.cfg.SQL.MaxConcurrent = 2 },
		"sql.max_concurrent_per_project": func() { p.cfg.SQL.MaxConcurrentPerProject = 1 },
		// All SQL together takes at most half of the engine's memory, so that inserts never fail for it.
		"sql.max_memory_bytes": func() { p.cfg.SQL.MaxMemoryBytes = stack.ClickHouseMemoryBytes / 4 },
	} {
		if p.cfg.Sources[setting] == "" {
			set()
		}
	}
	if p.cfg.Sources["kafka.partitions"] == "" {
		p.cfg.Kafka.Partitions = embeddedPartitions
	}
	return stack, nil
}

// problems returns what the embedded stores found wrong with their data.
func (p *process) problems() []string {
	if p.engines == nil {
		return nil
	}
	return p.engines.Problems()
}

// watchDisk adds the room on the disk of the embedded stores to readiness and metrics.
func (w *wiring) watchDisk() error {
	w.check("disk", func(context.Context) error {
		disk, err := w.engines.Disk()
		if err != nil {
			return err
		}
		return disk.Err()
	})
	free := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "colonnade_embedded_disk_free_bytes", Help: "Free bytes on the disk of the embedded stores; NaN where it cannot be read.",
	}, func() float64 {
		disk, err := w.engines.Disk()
		if err != nil {
			return math.NaN()
		}
		return float64(disk.Free)
	})
	if err := w.reg.Register(free); err != nil {
		return fmt.Errorf("app: registering metrics: %w", err)
	}
	return nil
}

// UseEmbeddedBroker sets the broker of the embedded service in the data
// directory, and reports whether one was ever started there.
func UseEmbeddedBroker(cfg *config.Loaded) bool {
	address, access, ok := embedded.Broker(cfg.DataDir)
	if ok {
		cfg.Kafka.Brokers, cfg.Kafka.SASL = []string{address}, stream.SASL(access)
	}
	return ok
}
