package config

import (
	spansapi "colonnade/write/api/spans"
	"colonnade/write/cost"
	"colonnade/write/ingest"
	"colonnade/write/logevents"
	"colonnade/write/otlp"
	"colonnade/write/sink"
)

// Ingestion holds the sections of the way of a span into the store. The names of their
// settings are those of sections of Config.
type Ingestion struct {
	OTLP      otlp.Config
	Cost      cost.Config
	LogEvents logevents.Config
	Ingest    ingest.Config
	TracesAPI spansapi.Config
	Commands  ingest.StoredConfig
	Sink      sink.Config
}

func defaultIngestion() Ingestion {
	return Ingestion{
		OTLP:      otlp.DefaultConfig(),
		Cost:      cost.DefaultConfig(),
		LogEvents: logevents.DefaultConfig(),
		Ingest:    ingest.DefaultConfig(),
		TracesAPI: spansapi.DefaultConfig(),
		Commands:  ingest.DefaultStoredConfig(),
		Sink:      sink.DefaultConfig(),
	}
}

// validate passes the error of each section on.
func (i Ingestion) validate(section func(name string, err error)) {
	section("otlp", i.OTLP.Validate())
	section("cost", i.Cost.Validate())
	section("log_events", i.LogEvents.Validate())
	section("ingest", i.Ingest.Validate())
	section("traces_api", i.TracesAPI.Validate())
	section("commands", i.Commands.Validate())
	section("sink", i.Sink.Validate())
}
