package app

import (
	"github.com/prometheus/client_golang/prometheus"

	"colonnade/domain/credential"
	"colonnade/write/api/simpletraces"
	spansapi "colonnade/write/api/spans"
	"colonnade/write/ingest"
	"colonnade/write/normalize"
)

// buildDoors wires the doors that speak JSON: traces, and simple traces with
// the entities that they refer to.
func (p *process) buildDoors(h *house, s stores, taking *ingest.Ingest, commands commandSet) error {
	stored, err := ingest.NewStored(p.cfg.Commands, s.clickhouse)
	if err != nil {
		return err
	}
	// This fitter makes replies; what the sink's counts is what is stored.
	fitter, err := normalize.New(prometheus.NewRegistry())
	if err != nil {
		return err
	}
	deps := spansapi.Deps{Ingest: taking, Stored: stored, Fitter: fitter, Now: p.Now}
	if err := spansapi.Mount(h.commands, p.cfg.TracesAPI, deps); err != nil {
		return err
	}
	simpletraces.Mount(h.commands, simpletraces.Deps{Deps: deps, Entities: commands.entities, Random: credential.Random()})
	return nil
}
