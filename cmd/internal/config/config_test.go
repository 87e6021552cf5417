package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/cmd/internal/config"
)

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "colonnade.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestLaterSourcesOverride(t *testing.T) {
	t.Parallel()
	path := file(t, "http:\n  addr: 127.0.0.1:1\n  max_body_bytes: 64MiB\n  request_timeout: 5s\nlog: {level: debug}\n")
	l, err := config.Load(path, []string{"COLONNADE_HTTP_ADDR=127.0.0.1:2", "COLONNADE_AUTH_KEY=k", "PATH=/bin"})
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:2", l.HTTP.Addr)
	require.Equal(t, int64(64<<20), l.HTTP.MaxBodyBytes)
	require.Equal(t, 5*time.Second, l.HTTP.RequestTimeout)
	require.Equal(t, "DEBUG", l.Log.Level.String())
	require.Equal(t, "127.0.0.1:4317", l.GRPC.Addr)
	require.Equal(t, config.FromEnv, l.Sources["http.addr"])
	require.Equal(t, config.FromFile, l.Sources["http.request_timeout"])
	require.Equal(t, "http://127.0.0.1:2", l.BaseURL())
}

func TestMistakesAreNamedWithTheirPlace(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file string
		env        []string
		want       []string
	}{
		{"unknown key", "http:\n  adr: x\nfoo: 1\n", nil, []string{":2: unknown setting http.adr", ":3: unknown setting foo"}},
		{"wrong types", "http:\n  request_timeout: soon\n  addr: [a]\n", nil, []string{":2: http.request_timeout", ":3: http.addr: must be one value"}},
		{"a section that is a word", "http: yes\n", nil, []string{":1: http must hold settings"}},
		{"no document", "- a\n", nil, []string{"the file must hold settings"}},
		{"not yaml", "a: [", nil, []string{"colonnade.yaml"}},
		{"environment", "", []string{"COLONNADE_HTTP_MAX_BODY_BYTES=many", "COLONNADE_LOG_LEVEL=loud"}, []string{"COLONNADE_HTTP_MAX_BODY_BYTES", "COLONNADE_LOG_LEVEL"}},
		{"out of range", "", []string{"COLONNADE_POSTGRES_MAX_CONNS=9GiB"}, []string{"COLONNADE_POSTGRES_MAX_CONNS"}},
		{"validation", "log: {format: xml}\nhttp: {addr: nowhere}\n", nil, []string{"log.format", "http: addr"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := config.Load(file(t, tt.file), tt.env)
			for _, want := range tt.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
	_, err := config.Load("/nowhere/colonnade.yaml", nil)
	require.ErrorContains(t, err, "does not exist")
}

func TestUnknownVariablesAreReportedNotRefused(t *testing.T) {
	t.Parallel()
	l, err := config.Load("", []string{"COLONNADE_SERVICE_HOST=10.0.0.1", "COLONNADE_CONFIG=x", "COLONNADE_TEST_KAFKA_BROKERS=y"})
	require.NoError(t, err)
	require.Equal(t, []string{"COLONNADE_SERVICE_HOST"}, l.Unknown)
}

func TestPrintMasksSecretsAndReadsBack(t *testing.T) {
	t.Parallel()
	l, err := config.Load("", []string{
		"COLONNADE_AUTH_KEY=hunter2", "COLONNADE_POSTGRES_URL=postgres://me:hunter3@db/colonnade",
		"COLONNADE_CLICKHOUSE_URL=clickhouse://me:hunter4@a,b:9000/x", "COLONNADE_DATA_DIR=/var/lib/colonnade",
		"COLONNADE_KAFKA_TLS=true",
	})
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, l.Print(&b))
	for _, secret := range []string{"hunter2", "hunter3", "hunter4"} {
		require.NotContains(t, b.String(), secret)
	}
	require.Contains(t, b.String(), "COLONNADE_DATA_DIR, environment")

	again, err := config.Load(file(t, b.String()), nil)
	require.NoError(t, err, b.String())
	require.Equal(t, l.DataDir, again.DataDir)
	require.Equal(t, l.HTTP, again.HTTP)
	require.Equal(t, l.Access, again.Access)
}

func FuzzLoad(f *testing.F) {
	f.Add("http:\n  addr: 127.0.0.1:1\n", "COLONNADE_HTTP_ADDR=x:1")
	f.Add("a: &b [*b]\n", "COLONNADE_LOG_LEVEL=info+2")
	f.Fuzz(func(t *testing.T, text, entry string) {
		l, err := config.Load(file(t, text), []string{entry})
		if err == nil {
			require.NoError(t, l.Print(&strings.Builder{}))
		}
	})
}

func TestTheExampleIsUnderstood(t *testing.T) {
	t.Parallel()
	l, err := config.Load("../../../deploy/colonnade.example.yaml", nil)
	require.NoError(t, err)
	require.Len(t, l.Kafka.Brokers, 3)
	require.NotNil(t, l.Kafka.TLS)
	require.True(t, l.ClickHouse.Replicated)
}

func TestSizesHaveUnits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"3GiB": 3 << 30, "512MiB": 512 << 20, "1048576KiB": 1 << 30, "1073741824": 1 << 30, "2 GiB": 2 << 30, "0": 0} {
		l, err := config.Load("", []string{"COLONNADE_EMBEDDED_CLICKHOUSE_MEMORY_BYTES=" + text})
		require.NoError(t, err, text)
		require.Equal(t, want, l.Embedded.ClickHouseMemoryBytes, text)
		l, err = config.Load(file(t, "embedded:\n  clickhouse_memory_bytes: "+text+"\n"), nil)
		require.NoError(t, err, text)
		require.Equal(t, want, l.Embedded.ClickHouseMemoryBytes, text)
	}
	for _, text := range []string{"3GB", "3.5GiB", "GiB", "9999999999GiB", "3gib"} {
		_, err := config.Load("", []string{"COLONNADE_EMBEDDED_CLICKHOUSE_MEMORY_BYTES=" + text})
		require.ErrorContains(t, err, "such as 4096, 512KiB, 64MiB or 3GiB", text)
	}
}

func TestTheEmbeddedEnginesHaveBounds(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		"CLICKHOUSE_MEMORY_BYTES=1":       "embedded: clickhouse_memory_bytes: 1 bytes: must be from 512MiB to 1024GiB",
		"CLICKHOUSE_MEMORY_BYTES=-1":      "clickhouse_memory_bytes",
		"CLICKHOUSE_MEMORY_BYTES=2048GiB": "clickhouse_memory_bytes",
		"KAFKA_RETAIN_BYTES=1MiB":         "embedded: kafka_retain_bytes: 1048576 bytes: must be from 128MiB",
	} {
		_, err := config.Load("", []string{"COLONNADE_EMBEDDED_" + entry})
		require.ErrorContains(t, err, want, entry)
	}
}
