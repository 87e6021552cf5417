package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"colonnade/cmd/internal/client"
	"colonnade/cmd/internal/config"
	"colonnade/cmd/internal/demo"
	"colonnade/cmd/internal/load"
)

// target is a running service and the key to call it with.
type target struct {
	url, key string
	// keyFile holds the key; empty where it was given otherwise.
	keyFile string
}

// targetFlags let a client command be pointed elsewhere; without them it finds
// the service of the configuration and the key that its first start kept.
func targetFlags(cmd *cobra.Command) *target {
	t := &target{}
	cmd.Flags().StringVar(&t.url, "url", "", "address of the service (default: COLONNADE_HOST, or the configured one)")
	cmd.Flags().StringVar(&t.key, "key", "", "API key (default: COLONNADE_API_KEY, or the one in the data directory)")
	return t
}

func (t *target) find(env environment, cfg config.Loaded) error {
	t.findService(env, cfg)
	if t.key == "" {
		t.key = env.variable("COLONNADE_API_KEY")
	}
	if t.key != "" {
		return nil
	}
	var err error
	t.keyFile = cfg.KeyPath()
	t.key, err = client.StoredKey(t.keyFile)
	return err
}

// findService leaves no slash at the address's end: paths begin with one.
func (t *target) findService(env environment, cfg config.Loaded) {
	for _, url := range []string{env.variable("COLONNADE_HOST"), cfg.BaseURL()} {
		if t.url == "" {
			t.url = url
		}
	}
	t.url = strings.TrimRight(t.url, "/")
}

func demoCommand(env environment, load func() (config.Loaded, error)) *cobra.Command {
	plan := demo.Plan{}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Send realistic traces to a running service and query them back",
		Long: `Sends a few hundred agent runs (model calls with tokens, tools, errors) and annotation
traces that score them, through the official OpenTelemetry SDK, then queries them back
and prints a table and where to look next.`,
		Example: `  colonnade demo
  colonnade demo --url http://traces.example.com --key "$KEY" --traces 1000`,
		Args: cobra.NoArgs,
	}
	to := targetFlags(cmd)
	cmd.Flags().IntVar(&plan.Traces, "traces", 300, "number of agent runs")
	cmd.Flags().DurationVar(&plan.Over, "over", 6*time.Hour, "how far back the runs began")
	cmd.Flags().Uint64Var(&plan.Seed, "seed", 1, "seed of everything that chance decides")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := load()
		if err != nil {
			return err
		}
		if plan.Traces < 1 || plan.Over <= 0 {
			return errors.New("--traces and --over must be positive")
		}
		if err := to.find(env, cfg); err != nil {
			return err
		}
		plan.BaseURL, plan.Key, plan.KeyFile = to.url, to.key, to.keyFile
		return demo.Run(cmd.Context(), plan, cmd.OutOrStdout(), env.now)
	}
	return cmd
}

func loadCommand(env environment, loadConfig func() (config.Loaded, error)) *cobra.Command {
	plan := load.DefaultPlan()
	cmd := &cobra.Command{
		Use:   "load",
		Short: "Load a running service and measure it",
		Long: `Sends life-like traffic: agent runs of 5 to 40 spans, model calls that carry their
history, annotation traces that score earlier runs. Everything follows from the seed.
Reports the accepted and visible spans per second and the time from a receipt to
visibility, then reads back what was sent and compares counts and checksums. Readers
ask meanwhile for what a dashboard shows: the latest spans, roots, errors, annotations
and traces, pages of any moment, of a model, a score, an evaluator, a session or a word,
a trace by id.`,
		Example: `  colonnade load                                   half a minute, as fast as it goes
  colonnade load --rate 5000 --duration 5m         a steady rate
  colonnade load --traces 1000 --verify full       a fixed amount, every span checked
  colonnade load --traces 270000 --over 336h       spans of 14 days
  colonnade load --rate 2500 --readers 1           pages and traces are read meanwhile`,
		Args: cobra.NoArgs,
	}
	to := targetFlags(cmd)
	f := cmd.Flags()
	f.IntVar(&plan.Rate, "rate", plan.Rate, "spans per second; 0 is as fast as they are taken")
	f.DurationVar(&plan.Duration, "duration", plan.Duration, "how long to send; 0 is until --traces are sent")
	f.Uint64Var(&plan.Traces, "traces", 0, "how many traces to send; 0 is until --duration is over")
	f.DurationVar(&plan.Over, "over", 0, "how long ago the first trace ends, the others evenly until now; 0 is that each ends when it is sent")
	f.IntVar(&plan.SpanBytes, "span-size", plan.SpanBytes, "average bytes of an encoded span")
	f.Float64Var(&plan.AnnotationShare, "annotations", plan.AnnotationShare, "share of traces that are annotations, 0 to 0.9")
	f.IntVar(&plan.Connections, "connections", plan.Connections, "requests at a time")
	f.IntVar(&plan.Batch, "batch", plan.Batch, "spans in a request, about")
	f.IntVar(&plan.Runs, "runs", plan.Runs, "different agent runs before texts repeat")
	f.IntVar(&plan.Probes, "probes", plan.Probes, "queries at a time that time visibility; 0 is none")
	f.IntVar(&plan.Readers, "readers", plan.Readers, "how many read pages and traces meanwhile, each one request after the other; 0 is none")
	f.DurationVar(&plan.ReadsBack, "reads-back", plan.ReadsBack, "how long ago the earliest moment is that readers ask for; 0 is when the sending began")
	f.StringVar(&plan.Verify, "verify", plan.Verify, "full (every span), sample, none, or auto (full up to 300000 spans)")
	f.Uint64Var(&plan.Seed, "seed", 0, "seed of all ids and texts; 0 takes one from the clock")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := loadConfig()
		if err != nil {
			return err
		}
		if err := to.find(env, cfg); err != nil {
			return err
		}
		if plan.Seed == 0 {
			plan.Seed = uint64(env.now().UnixNano())
		}
		plan.Tag = fmt.Sprintf("load-%d", plan.Seed)
		if plan.Traces > 0 && !cmd.Flags().Changed("duration") {
			plan.Duration = 0
		}
		return runLoad(cmd, plan, client.New(to.url, to.key), env.now)
	}
	return cmd
}

func runLoad(cmd *cobra.Command, plan load.Plan, c *client.Client, now func() time.Time) error {
	out := cmd.OutOrStdout()
	// To make the traffic takes seconds: whether anybody is there is asked before.
	if _, err := c.Do(cmd.Context(), http.MethodGet, "/health", "", nil); err != nil {
		if _, answered := errors.AsType[*client.StatusError](err); !answered {
			return err
		}
	}
	runner, err := load.NewRunner(plan, c, cmd.ErrOrStderr(), isTerminal(cmd.ErrOrStderr()), now)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "seed %d, spans of %d bytes, %.0f %% annotations, %d connections\n", plan.Seed, plan.SpanBytes, 100*plan.AnnotationShare, plan.Connections)
	r, err := runner.Run(cmd.Context())
	if r != nil {
		_ = r.Print(out) // the terminal is gone when this fails
	}
	return err
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func keyCommand(env environment, load func() (config.Loaded, error)) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "key",
		Short: "Make, list, rotate and revoke API keys",
		Long: `Works on the keys of the project of the calling key. With --email, "key create" makes a
new account with a project of its own; that needs COLONNADE_AUTH_KEY.`,
		Example: `  colonnade key list
  colonnade key create --name ci --role editor
  colonnade key create --name page --purpose ingest
  colonnade key create --email ada@example.com
  colonnade key rotate AbCdEfGh --overlap 48h
  colonnade key revoke AbCdEfGh`,
	}
	cmd.AddCommand(keyCreate(env, load), keyList(env, load), keyRotate(env, load), keyRevoke(env, load))
	return cmd
}

func keyCreate(env environment, load func() (config.Loaded, error)) *cobra.Command {
	var name, role, purpose, email string
	cmd := &cobra.Command{
		Use: "create", Short: "Make a key and show it, once", Args: cobra.NoArgs,
		Example: "  colonnade key create --name ci --role editor",
	}
	to := targetFlags(cmd)
	cmd.Flags().StringVar(&name, "name", "", "what the key is for")
	cmd.Flags().StringVar(&role, "role", "", "owner, admin, developer, editor, annotator or viewer (default: that of the calling key)")
	cmd.Flags().StringVar(&purpose, "purpose", "", "full, ingest, read or sql: what the key is for, whatever its role (default: full)")
	cmd.Flags().StringVar(&email, "email", "", "make an account with its own project for this person")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := load()
		if err != nil {
			return err
		}
		if email != "" && (name != "" || role != "" || purpose != "" || to.key != "") {
			return errors.New("the key of a new account is its owner's: give --email without --role, --purpose and --name, and make keys of less with that one (--key)")
		}
		if email != "" {
			return createAccount(cmd, env, cfg, to, email)
		}
		if err := to.find(env, cfg); err != nil {
			return err
		}
		members := map[string]string{}
		for member, value := range map[string]string{"name": name, "role": role, "purpose": purpose} {
			if value != "" {
				members[member] = value
			}
		}
		body, err := json.Marshal(members)
		if err != nil {
			return err
		}
		reply, err := client.New(to.url, to.key).Do(cmd.Context(), http.MethodPost, "/keys/", "application/json", body)
		if err != nil {
			return err
		}
		var key string
		if err := json.Unmarshal(reply.Body, &key); err != nil {
			return fmt.Errorf("reading the key: %w", err)
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), key)
		return err
	}
	return cmd
}

func createAccount(cmd *cobra.Command, env environment, cfg config.Loaded, to *target, email string) error {
	if cfg.AuthKey == "" {
		return errors.New("--email needs the administration key: set COLONNADE_AUTH_KEY as the service has it")
	}
	to.findService(env, cfg)
	body, err := json.Marshal(map[string]any{"accounts": map[string]any{"account": map[string]any{"user": map[string]any{"email": email}}}})
	if err != nil {
		return err
	}
	reply, err := client.NewAdmin(to.url, cfg.AuthKey).Do(cmd.Context(), http.MethodPost, "/admin/simple/accounts/", "application/json", body)
	if err != nil {
		return err
	}
	var made struct {
		Accounts map[string]struct {
			APIKeys map[string]string `json:"api_keys"`
		} `json:"accounts"`
	}
	if err := json.Unmarshal(reply.Body, &made); err != nil {
		return fmt.Errorf("reading the account: %w", err)
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), made.Accounts["account"].APIKeys["key"])
	return err
}

func keyList(env environment, load func() (config.Loaded, error)) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List the keys of the project", Args: cobra.NoArgs, Example: "  colonnade key list"}
	to := targetFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := load()
		if err != nil {
			return err
		}
		if err := to.find(env, cfg); err != nil {
			return err
		}
		reply, err := client.New(to.url, to.key).Do(cmd.Context(), http.MethodGet, "/keys/", "", nil)
		if err != nil {
			return err
		}
		var keys []struct {
			Prefix     string     `json:"prefix"`
			Name       string     `json:"name"`
			Role       string     `json:"role"`
			Purpose    string     `json:"purpose"`
			CreatedAt  time.Time  `json:"created_at"`
			ExpiresAt  *time.Time `json:"expires_at"`
			LastUsedAt *time.Time `json:"last_used_at"`
		}
		if err := json.Unmarshal(reply.Body, &keys); err != nil {
			return fmt.Errorf("reading the keys: %w", err)
		}
		w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 3, ' ', 0)
		_, _ = fmt.Fprintln(w, "PREFIX\tNAME\tROLE\tPURPOSE\tCREATED\tLAST USED\tEXPIRES")
		for _, k := range keys {
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k.Prefix, k.Name, k.Role, k.Purpose,
				k.CreatedAt.Format(time.DateTime), timeOrNever(k.LastUsedAt), timeOrNever(k.ExpiresAt))
		}
		return w.Flush()
	}
	return cmd
}

func timeOrNever(t *time.Time) string {
	if t == nil {
		return "never"
	}
	return t.Format(time.DateTime)
}

func keyRevoke(env environment, load func() (config.Loaded, error)) *cobra.Command {
	cmd := &cobra.Command{
		Use: "revoke PREFIX", Short: "End a key; its callers are refused within a second", Args: cobra.ExactArgs(1),
		Example: "  colonnade key revoke AbCdEfGh",
	}
	to := targetFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := load()
		if err != nil {
			return err
		}
		if !isPrefix(args[0]) {
			return fmt.Errorf("%q is no prefix of a key: it has 8 letters and digits, those before the dot", args[0])
		}
		if err := to.find(env, cfg); err != nil {
			return err
		}
		_, err = client.New(to.url, to.key).Do(cmd.Context(), http.MethodDelete, "/keys/"+args[0], "", nil)
		return err
	}
	return cmd
}

// isPrefix tells whether a word may be the beginning of a key, which names it:
// a whole key would end up in logs.
func isPrefix(word string) bool {
	const length = 8
	return len(word) == length && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == ""
}
