package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"colonnade/cmd/internal/app"
	"colonnade/cmd/internal/config"
	"colonnade/write/stream/redrive"
)

func redriveCommand(env environment, load func() (config.Loaded, error)) *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "redrive",
		Short: "Send dead-lettered records through the sink again",
		Long: `Records that could not be decoded or stored are in the dead-letter topic, with the reason.
Once the cause is mended, redrive sends them again, each exactly once. Spans that were sent,
edited or deleted since then stay as they are; the table rejected_spans names the records
that were left out for that. Records that are dead-lettered again are left for the next
redrive. The broker is that of COLONNADE_KAFKA_BROKERS, or that of the embedded service with
this data directory.`,
		Example: `  colonnade redrive --dry-run
  COLONNADE_KAFKA_BROKERS=127.0.0.1:9092 colonnade redrive`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := load()
			if err != nil {
				return err
			}
			if len(cfg.Kafka.Brokers) == 0 && !app.UseEmbeddedBroker(&cfg) {
				return errors.New("there is no broker: set COLONNADE_KAFKA_BROKERS, or COLONNADE_DATA_DIR to that of an embedded service")
			}
			progress := func(r redrive.Result) { _, _ = fmt.Fprintf(cmd.ErrOrStderr(), "\r%d of %d", r.Done, r.Total) }
			done, err := redrive.Run(cmd.Context(), cfg.Kafka, redrive.Options{DryRun: dryRun, Progress: progress}, env.now, newLog(cmd.ErrOrStderr(), cfg.Log))
			if done.Done > 0 {
				_, _ = fmt.Fprintln(cmd.ErrOrStderr())
			}
			if err != nil {
				return err
			}
			verb := "sent again"
			if dryRun {
				verb = "waiting"
			}
			_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%d records %s\n", done.Done, verb)
			for _, reason := range slices.Sorted(maps.Keys(done.Reasons)) {
				_, _ = fmt.Fprintf(cmd.OutOrStdout(), "  %6d  %s\n", done.Reasons[reason], reason)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "count, and send nothing")
	return cmd
}
