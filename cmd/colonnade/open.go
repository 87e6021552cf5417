package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"colonnade/cmd/internal/client"
	"colonnade/cmd/internal/config"
)

func openCommand(env environment, load func() (config.Loaded, error)) *cobra.Command {
	var show bool
	cmd := &cobra.Command{
		Use:   "open",
		Short: "Open the web console in a browser, signed in",
		Long: `Makes a link that opens the console signed in as the calling key, prints it and starts
the browser with it. The link works once, within console.link_ttl (10 minutes).`,
		Example: `  colonnade open
  colonnade open --print      on a machine without a browser: paste the link elsewhere`,
		Args: cobra.NoArgs,
	}
	to := targetFlags(cmd)
	cmd.Flags().BoolVar(&show, "print", false, "print the link and start no browser")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := load()
		if err != nil {
			return err
		}
		if err := to.find(env, cfg); err != nil {
			return err
		}
		reply, err := client.New(to.url, to.key).Do(cmd.Context(), http.MethodPost, "/auth/links", "", nil)
		if err != nil {
			return err
		}
		var link struct {
			URL string `json:"url"`
		}
		if err := json.Unmarshal(reply.Body, &link); err != nil {
			return fmt.Errorf("reading the link: %w", err)
		}
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), link.URL); err != nil || show {
			return err
		}
		return startBrowser(cmd.Context(), link.URL)
	}
	return cmd
}

// startBrowser opens an address in the browser of the user.
func startBrowser(ctx context.Context, address string) error {
	name, args := "xdg-open", []string{address}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	default:
	}
	if err := exec.CommandContext(ctx, name, args...).Run(); err != nil { //nolint:gosec // the address is the service's own
		return fmt.Errorf("no browser was started (%s: %w): open the link yourself", name, err)
	}
	return nil
}
