package main

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"colonnade/cmd/internal/client"
	"colonnade/cmd/internal/config"
)

func retentionCommand(env environment, load func() (config.Loaded, error)) *cobra.Command {
	days, payloadDays, set := 0, 0, false
	cmd := &cobra.Command{
		Use: "retention", Short: "Show or set for how many days a project keeps its spans", Args: cobra.NoArgs,
		Long: `Prints for how many days the project of the key keeps its spans and their payloads, and
how many the next night deletes. With --days or --payload-days and without --set it
prints what these would delete; with --set it sets them. 0 keeps everything. Days count
from the start of a span, and end at midnight UTC.`,
		Example: `  colonnade retention
  colonnade retention --days 90 --payload-days 14
  colonnade retention --days 90 --payload-days 14 --set`,
	}
	to := targetFlags(cmd)
	cmd.Flags().IntVar(&days, "days", 0, "days for which spans are kept; 0 keeps them")
	cmd.Flags().IntVar(&payloadDays, "payload-days", 0, "days for which inputs, outputs, parameters, internals and events are kept; 0 keeps them")
	cmd.Flags().BoolVar(&set, "set", false, "set both, instead of showing what they would delete")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := load()
		if err != nil {
			return err
		}
		if err := to.find(env, cfg); err != nil {
			return err
		}
		service := client.New(to.url, to.key)
		path := "/projects/current/retention"
		if set {
			body, err := json.Marshal(map[string]int{"days": days, "payload_days": payloadDays})
			if err != nil {
				return err
			}
			if _, err := service.Do(cmd.Context(), http.MethodPut, path, "application/json", body); err != nil {
				return err
			}
		} else if cmd.Flags().Changed("days") || cmd.Flags().Changed("payload-days") {
			path += fmt.Sprintf("?days=%d&payload_days=%d", days, payloadDays)
		}
		reply, err := service.Do(cmd.Context(), http.MethodGet, path, "", nil)
		if err != nil {
			return err
		}
		var r struct {
			Days        int `json:"days"`
			PayloadDays int `json:"payload_days"`
			Deletes     struct {
				Spans    uint64 `json:"spans"`
				Payloads uint64 `json:"payloads"`
			} `json:"deletes"`
		}
		if err := json.Unmarshal(reply.Body, &r); err != nil {
			return fmt.Errorf("reading the retention: %w", err)
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "Spans     %s; the next night deletes %d\nPayloads  %s; the next night deletes those of %d spans\n",
			kept(r.Days), r.Deletes.Spans, kept(r.PayloadDays), r.Deletes.Payloads)
		return err
	}
	return cmd
}

func kept(days int) string {
	if days == 0 {
		return "are kept"
	}
	return fmt.Sprintf("are kept for %d days", days)
}
