package app

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"colonnade/cmd/internal/server"
	"colonnade/domain/credential"
	accountsapi "colonnade/write/api/accounts"
	invokeapi "colonnade/write/api/invoke"
	"colonnade/write/ingest"
	"colonnade/write/invoke"
	"colonnade/write/secrets"
	"colonnade/write/stream"
)

// buildInvoke wires the runtime of handlers -> ingest -> stream, and the
// secrets that it uses.
func (p *process) buildInvoke(h *house, s stores, commands commandSet) error {
	key, err := p.encryptionKey()
	if err != nil {
		return fmt.Errorf("app: the key that encrypts secrets: %w", err)
	}
	cfg := p.cfg.Secrets
	cfg.EncryptionKey = key
	secrets, err := secrets.New(cfg, secrets.Deps{Pool: s.postgres, Now: p.Now, Random: credential.Random()})
	if err != nil {
		return err
	}
	accountsapi.MountSecrets(h.commands, secrets)
	taking, err := p.promptly(h)
	if err != nil {
		return err
	}
	stored, err := ingest.NewStored(p.cfg.Commands, s.clickhouse)
	if err != nil {
		return err
	}
	runtime, err := invoke.New(p.cfg.Invoke, invoke.Deps{
		Registry: commands.entities, Ingest: taking, Stored: stored, Secret: secrets.Open, Log: p.log, Now: p.Now, Random: credential.Random(), Registerer: p.reg,
	})
	if err != nil {
		return err
	}
	h.closers = append(h.closers, runtime)
	const slack = 10 * time.Second
	invokeapi.Mount(h.commands, invokeapi.Deps{
		Invoke: runtime, Timeout: p.cfg.Invoke.Timeout + p.cfg.Invoke.PublishTimeout + slack, Status: server.StatusOf,
	})
	return p.buildEvaluations(h, s, commands, runtime, stored)
}

// promptly is the ingest for traces that a caller waits for: its producer does
// not wait for company. Its numbers are counted with the room that uses it.
func (p *process) promptly(h *house) (*ingest.Ingest, error) {
	cfg := p.cfg.Kafka
	cfg.Linger = 0
	cfg.ClientID += "-invoke"
	reg := prometheus.WrapRegistererWithPrefix("colonnade_invoke_", p.reg)
	producer, err := stream.NewProducer(cfg, p.Now, p.log, reg)
	if err != nil {
		return nil, err
	}
	h.closers = append(h.closers, producer)
	return ingest.New(p.cfg.Ingest, producer, p.Now, p.log, reg)
}
