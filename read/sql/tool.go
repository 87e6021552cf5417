package sql

import (
	"context"
	"io"
	"net/url"
	"strconv"
	"strings"

	"colonnade/domain"
	"colonnade/migrations/schema"
	"colonnade/read/sql/guard"
)

// Tool is how a client of ClickHouse's HTTP interface asks. Its settings take effect where
// they choose a form or lower a limit; the others are ignored, because clients send them
// always and refuse to work without.
type Tool struct {
	// Settings are the parameters of the client's request.
	Settings url.Values
}

// hello is the first statement of clickhouse-go, whose reply the driver reads at the protocol
// version that it asks for: ClickHouse itself must answer it.
const hello = "SELECT displayName(), version(), revision(), timezone()"

func (t *Tool) greets(text string) bool { return strings.TrimSpace(text) == hello }

// maxSettingBytes bounds the value of a setting.
const maxSettingBytes = 100

// form returns the settings that choose the form of a result.
func (t *Tool) form() url.Values {
	v := url.Values{}
	for name := range t.Settings {
		if value := t.Settings.Get(name); len(value) <= maxSettingBytes && choosesForm(name) {
			v.Set(name, value)
		}
	}
	return v
}

// choosesForm reports whether a setting changes how a result looks and nothing else. None of
// them names a file, which settings of schemas and templates do.
func choosesForm(name string) bool {
	switch name {
	case "join_use_nulls", "date_time_input_format", "date_time_output_format", "max_block_size", "limit", "offset", "extremes",
		"compress", "network_compression_method", "network_zstd_compression_level", "client_protocol_version", "session_timezone",
		"output_format_native_write_json_as_string", "output_format_native_encode_types_in_binary_format", "output_format_native_use_flattened_dynamic_and_json_serialization",
		"output_format_binary_write_json_as_string", "output_format_binary_encode_types_in_binary_format", "output_format_decimal_trailing_zeros",
		"output_format_write_statistics", "output_format_enable_streaming":
		return true
	default:
	}
	for _, prefix := range []string{"output_format_json_", "output_format_csv_", "output_format_tsv_", "output_format_arrow_", "output_format_parquet_", "output_format_pretty_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// lower returns the client's limit where it is below ours.
func (t *Tool) lower(name string, limit int64) int64 {
	// Clients write seconds with and without a fraction.
	asked, err := strconv.ParseFloat(t.Settings.Get(name), 64)
	if err != nil || asked < 1 || asked >= float64(limit) {
		return limit
	}
	return int64(asked)
}

// cuts reports whether the client wants a result to end at its own maximum of rows without an
// error. Beyond ours a result is always an error.
func (t *Tool) cuts(rows int64) bool {
	return t != nil && t.Settings.Get("result_overflow_mode") == "break" && t.lower("max_result_rows", rows) < rows
}

// server describes the engine for tools. The engine is asked once.
func (r *Runner) server(ctx context.Context, q Query) (guard.Server, error) {
	r.mu.Lock()
	known := r.known
	r.mu.Unlock()
	if known == nil {
		resp, err := r.send(ctx, q, "SELECT version(), timezone()", "TabSeparated", limits{})
		if err != nil {
			return guard.Server{}, err
		}
		defer resp.Body.Close() //nolint:errcheck // it was read
		line, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		if err != nil {
			return guard.Server{}, domain.Wrap(domain.Unavailable, err, "ClickHouse did not reply.")
		}
		version, zone, _ := strings.Cut(strings.TrimSpace(string(line)), "\t")
		known = &guard.Server{Views: schema.ViewNames(), Version: version, TimeZone: zone}
		r.mu.Lock()
		r.known = known
		r.mu.Unlock()
	}
	server := *known
	server.Database = schema.ViewsDatabase(q.Project)
	return server, nil
}
