package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"colonnade/cmd/internal/client"
	"colonnade/cmd/internal/config"
)

func keyRotate(env environment, load func() (config.Loaded, error)) *cobra.Command {
	overlap := 24 * time.Hour
	cmd := &cobra.Command{
		Use: "rotate PREFIX", Short: "Replace a key; the old one works until the overlap is over", Args: cobra.ExactArgs(1),
		Long: `Makes a key with the name, the role and the purpose of an existing key of the same member,
prints it, once, and lets the existing key end after --overlap. Bring the new key to
every client meanwhile; "key list" shows when the old one was last used.`,
		Example: "  colonnade key rotate AbCdEfGh --overlap 48h",
	}
	to := targetFlags(cmd)
	cmd.Flags().DurationVar(&overlap, "overlap", overlap, "how long the old key works beside the new one, at most 720h")
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
		body, err := json.Marshal(map[string]int{"overlap_seconds": int(overlap.Seconds())})
		if err != nil {
			return err
		}
		reply, err := client.New(to.url, to.key).Do(cmd.Context(), http.MethodPost, "/keys/"+args[0]+"/rotate", "application/json", body)
		if err != nil {
			return err
		}
		var made struct {
			Key            string    `json:"key"`
			PreviousEndsAt time.Time `json:"previous_ends_at"`
		}
		if err := json.Unmarshal(reply.Body, &made); err != nil {
			return fmt.Errorf("reading the key: %w", err)
		}
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "The key %s ends at %s.\n", args[0], made.PreviousEndsAt.Format(time.DateTime))
		_, err = fmt.Fprintln(cmd.OutOrStdout(), made.Key)
		return err
	}
	return cmd
}
