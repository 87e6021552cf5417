package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"colonnade/cmd/internal/client"
	"colonnade/cmd/internal/config"
)

func tailCommand(env environment, load func() (config.Loaded, error)) *cobra.Command {
	var filtering string
	var failed, whole bool
	cmd := &cobra.Command{
		Use:   "tail",
		Short: "Show spans as they become visible",
		Long: `Follows the spans of the key's project from now on, one line for each: when it was
received, its status, how long it took, its trace, type and name. A filter is the JSON
of "filtering" in queries. When the terminal does not keep up, it says how many spans it
did not get.`,
		Example: `  colonnade tail
  colonnade tail --errors
  colonnade tail --filter '{"conditions":[{"field":"span_type","value":"chat"}]}'
  colonnade tail --json | jq .attributes.ag.metrics`,
		Args: cobra.NoArgs,
	}
	to := targetFlags(cmd)
	cmd.Flags().StringVar(&filtering, "filter", "", "the spans to show, as queries filter (JSON)")
	cmd.Flags().BoolVar(&failed, "errors", false, "show failed spans only")
	cmd.Flags().BoolVar(&whole, "json", false, "print whole spans, one JSON document a line")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := load()
		if err != nil {
			return err
		}
		if failed && filtering != "" {
			return errors.New("give --errors or --filter, not both")
		}
		if failed {
			filtering = `{"conditions":[{"field":"status_code","value":"STATUS_CODE_ERROR"}]}`
		}
		if err := to.find(env, cfg); err != nil {
			return err
		}
		shown := &tailed{out: cmd.OutOrStdout(), notes: cmd.ErrOrStderr(), whole: whole}
		err = client.New(to.url, to.key).Events(cmd.Context(), "/spans/tail?filtering="+url.QueryEscape(filtering), shown.event)
		if errors.Is(err, context.Canceled) {
			return nil // Ctrl-C is how one leaves
		}
		return err
	}
	return cmd
}

// tailed prints the events of a tail.
type tailed struct {
	out, notes io.Writer
	whole      bool
}

func (t *tailed) event(name string, data []byte) error {
	switch name {
	case "ready":
		_, _ = fmt.Fprintln(t.notes, "Following. Ctrl-C ends it.") // a note that cannot be shown is no reason to stop
	case "span":
		return t.span(data)
	case "dropped":
		var m struct{ Count uint64 }
		if err := json.Unmarshal(data, &m); err != nil {
			return fmt.Errorf("reading an event: %w", err)
		}
		_, _ = fmt.Fprintf(t.notes, "... %d spans were dropped because the client read too slowly\n", m.Count)
	case "end":
		var e struct{ Reason string }
		if err := json.Unmarshal(data, &e); err != nil {
			return fmt.Errorf("reading an event: %w", err)
		}
		switch e.Reason {
		case "stopping":
			_, _ = fmt.Fprintln(t.notes, "The service stops.")
		case "forbidden":
			return errors.New("the key may no longer read spans")
		default:
			return fmt.Errorf("the tail was %s: spans may have passed unseen", e.Reason)
		}
	default: // a later service may tell more
	}
	return nil
}

func (t *tailed) span(data []byte) error {
	if t.whole {
		_, err := fmt.Fprintf(t.out, "%s\n", data)
		return err
	}
	var s struct {
		TraceID   string    `json:"trace_id"`
		Name      string    `json:"span_name"`
		Type      string    `json:"span_type"`
		Status    string    `json:"status_code"`
		StartTime time.Time `json:"start_time"`
		EndTime   time.Time `json:"end_time"`
		CreatedAt time.Time `json:"created_at"`
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("reading a span: %w", err)
	}
	status := strings.ToLower(strings.TrimPrefix(s.Status, "STATUS_CODE_"))
	_, err := fmt.Fprintf(t.out, "%s  %-5s  %9s  %s  %-10s  %s\n",
		s.CreatedAt.Local().Format("15:04:05.000"), status, s.EndTime.Sub(s.StartTime).Round(time.Microsecond), s.TraceID, s.Type, s.Name)
	return err
}
