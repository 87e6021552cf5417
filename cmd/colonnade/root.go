package main

import (
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"colonnade/cmd/internal/app"
	"colonnade/cmd/internal/config"
)

// environment is what the process brings, so that commands take nothing from globals.
type environment struct {
	environ []string
	now     func() time.Time
	started time.Time
}

// variable is the last value of a variable of the environment; empty when it is not set.
func (e environment) variable(name string) string {
	value := ""
	for _, entry := range e.environ {
		if len(entry) > len(name) && entry[:len(name)] == name && entry[len(name)] == '=' {
			value = entry[len(name)+1:]
		}
	}
	return value
}

func newRoot(env environment) *cobra.Command {
	root := &cobra.Command{
		Use:   "colonnade",
		Short: "OpenTelemetry spans of LLM applications: in, durable, and out again",
		Long: `Colonnade takes OpenTelemetry spans in, carries them through Kafka, keeps them in
ClickHouse and answers queries about them; accounts and keys live in Postgres.

Settings come from a YAML file (--config or COLONNADE_CONFIG), overridden by
COLONNADE_* variables; "colonnade config" shows all of them. A number of bytes is
written 1048576 or 512KiB, 64MiB, 3GiB; a duration 500ms, 10s or 5m.`,
		Example: `  colonnade serve --embedded      everything in one process tree, nothing to install
  colonnade demo                  realistic traces in, a table of them out`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	path := root.PersistentFlags().String("config", env.variable(config.PathVariable), "configuration file (YAML)")
	load := func() (config.Loaded, error) { return config.Load(*path, env.environ) }
	root.AddCommand(
		serveCommand(env, load),
		roleCommand(env, load, "write", app.Roles{Write: true}, "Take spans and changes in", "the doors: OTLP over HTTP and gRPC, and every route that changes something"),
		roleCommand(env, load, "sink", app.Roles{Sink: true}, "Carry spans from Kafka to ClickHouse", "the sink: as many as there are partitions can share the work"),
		roleCommand(env, load, "read", app.Roles{Read: true}, "Answer queries", "every route that only looks"),
		migrateCommand(env, load),
		openCommand(env, load),
		keyCommand(env, load),
		retentionCommand(env, load),
		configCommand(load),
		tailCommand(env, load),
		demoCommand(env, load),
		loadCommand(env, load),
		redriveCommand(env, load),
		versionCommand(),
	)
	return root
}

func serveCommand(env environment, load func() (config.Loaded, error)) *cobra.Command {
	var inTree bool
	var names []string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run everything: write, sink and read in one process",
		Long: `Runs all roles in one process and applies the migrations first.

With --embedded it also brings Kafka, ClickHouse and Postgres, as children of this
process with their data in one directory. On its first start it makes a project and
an API key, keeps the key in the file api-key of that directory, and prints it if standard
output is a terminal. Ctrl-C drains: what was accepted is kept.

Without --embedded it uses the stores at COLONNADE_KAFKA_BROKERS,
COLONNADE_CLICKHOUSE_URL and COLONNADE_POSTGRES_URL. --roles takes some of the roles
only; then the stores must be migrated, as for the commands write, sink and read.`,
		Example: `  colonnade serve --embedded
  COLONNADE_DATA_DIR=/var/lib/colonnade COLONNADE_HTTP_ADDR=0.0.0.0:8080 colonnade serve --embedded
  COLONNADE_KAFKA_BROKERS=k1:9092,k2:9092 COLONNADE_CLICKHOUSE_URL=clickhouse://ch/colonnade \
    COLONNADE_POSTGRES_URL=postgres://pg/colonnade colonnade serve`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			roles, err := app.ParseRoles(names)
			if err != nil {
				return err
			}
			return serve(cmd, env, load, roles, inTree)
		},
	}
	cmd.Flags().StringSliceVar(&names, "roles", []string{"write", "sink", "read"}, "roles of this process")
	cmd.Flags().BoolVar(&inTree, "embedded", false, "bring Kafka, ClickHouse and Postgres along")
	return cmd
}

func roleCommand(env environment, load func() (config.Loaded, error), name string, roles app.Roles, short, long string) *cobra.Command {
	return &cobra.Command{
		Use:   name,
		Short: short + " (one role of serve)",
		Long: "Runs " + long + `.

Every role answers /healthz, /readyz and /status at COLONNADE_HTTP_ADDR, and /metrics at
COLONNADE_HTTP_ADMIN_ADDR or, without it, with the administration key. The stores
must be migrated: run "colonnade migrate" once per release.`,
		Example: "  COLONNADE_HTTP_ADDR=0.0.0.0:8080 colonnade " + name + " --config /etc/colonnade.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd, env, load, roles, false)
		},
	}
}

func serve(cmd *cobra.Command, env environment, load func() (config.Loaded, error), roles app.Roles, inTree bool) error {
	cfg, err := load()
	if err != nil {
		return err
	}
	return app.Serve(cmd.Context(), cfg, app.Options{
		Roles: roles, Embedded: inTree, Out: cmd.OutOrStdout(), Terminal: isTerminal(cmd.OutOrStdout()), Version: version(),
		Log: newLog(cmd.ErrOrStderr(), cfg.Log), Now: env.now, Started: env.started,
	})
}

func newLog(w io.Writer, c config.Log) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.Level}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

func migrateCommand(env environment, load func() (config.Loaded, error)) *cobra.Command {
	var script, reader bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Apply the migrations of ClickHouse and Postgres",
		Long: `Applies what is not applied yet, in both stores; a second run applies nothing.
"serve" does so by itself; separate roles do not.`,
		Example: `  colonnade migrate --config /etc/colonnade.yaml
  colonnade migrate --script          print ClickHouse's DDL instead
  colonnade migrate --reader-script   print the statements that create ClickHouse's user for reads`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := load()
			if err != nil {
				return err
			}
			if script {
				return app.Script(cmd.OutOrStdout(), cfg)
			}
			if reader {
				return app.ReaderScript(cmd.OutOrStdout(), cfg)
			}
			return app.Migrate(cmd.Context(), cfg, app.Options{Out: cmd.OutOrStdout(), Log: newLog(cmd.ErrOrStderr(), cfg.Log), Now: env.now})
		},
	}
	cmd.Flags().BoolVar(&script, "script", false, "print ClickHouse's DDL and apply nothing")
	cmd.Flags().BoolVar(&reader, "reader-script", false, "print the statements that create ClickHouse's user for reads and apply nothing")
	cmd.MarkFlagsMutuallyExclusive("script", "reader-script")
	return cmd
}

func configCommand(load func() (config.Loaded, error)) *cobra.Command {
	return &cobra.Command{
		Use:   "config",
		Short: "Show the effective configuration, secrets masked",
		Long: `Prints every setting with its value, its variable and where the value came from.
The output is a valid configuration file: secrets are masked and commented out.`,
		Example: "  colonnade config > colonnade.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := load()
			if err != nil {
				return err
			}
			if err := cfg.Print(cmd.OutOrStdout()); err != nil {
				return err
			}
			for _, variable := range cfg.Unknown {
				_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "%s sets nothing\n", variable)
			}
			return nil
		},
	}
}
