package config

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

var golden = flag.Bool("golden", false, "rewrite the golden files")

// The golden file lists the spellings of every setting: its key in a configuration
// file, its variable and its flag. A setting has no flag of its own: the commands
// take a file by --config, all else are variables. The default is
// listed beside them.
func TestSpellingsOfSettings(t *testing.T) {
	t.Parallel()
	const path = "testdata/settings.txt"
	l := Loaded{Config: Default()}
	var b strings.Builder
	row := func(key, variable, flag, value string) {
		b.WriteString(strings.TrimRight(fmt.Sprintf("%-38s %-52s %-5s %s", key, variable, flag, value), " ") + "\n")
	}
	row("# file", "environment", "flag", "default")
	for _, s := range l.leaves() {
		value, _ := scalar(s)
		row(s.name, s.variable(), "-", value)
	}
	if *golden {
		require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")), "(-want +got)")
}

// Deployments, SDKs and guides depend on these variables: their names never change.
func TestPermanentVariables(t *testing.T) {
	t.Parallel()
	l, err := Load("", []string{
		"COLONNADE_DATA_DIR=d", "COLONNADE_HTTP_ADDR=127.0.0.1:1", "COLONNADE_GRPC_ADDR=127.0.0.1:2", "COLONNADE_AUTH_KEY=k", "COLONNADE_KAFKA_BROKERS=b:1",
		"COLONNADE_CLICKHOUSE_URL=http://c", "COLONNADE_POSTGRES_URL=postgres://p", "COLONNADE_OTLP_SUCCESS_STATUS=200",
	})
	require.NoError(t, err)
	require.Empty(t, l.Unknown)
	require.Equal(t, []any{"d", "127.0.0.1:1", "127.0.0.1:2", "k", []string{"b:1"}, "http://c", "postgres://p", 200},
		[]any{l.DataDir, l.HTTP.Addr, l.GRPC.Addr, l.AuthKey, l.Kafka.Brokers, l.ClickHouse.URL, l.Postgres.URL, l.OTLP.SuccessStatus})
}
