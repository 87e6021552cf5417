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

// Names follow from those of fields: one that is split inside a word is a field's, which snake does not know.
func TestNamesAreWholeWords(t *testing.T) {
	t.Parallel()
	l, err := config.Load("", []string{"COLONNADE_READ_LIMITS_MAX_IDS=7"})
	require.NoError(t, err)
	require.Equal(t, 7, l.Read.Limits.MaxIDs)
	var printed strings.Builder
	require.NoError(t, l.Print(&printed))
	require.Contains(t, printed.String(), "COLONNADE_READ_LIMITS_MAX_IDS")
	require.NotRegexp(t, `_[A-Z](_|,|\s)`, printed.String())
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

// Who writes null, or nothing, means that there is none: a key of "null" would be easily guessed.
func TestNothingInAFileIsNothing(t *testing.T) {
	t.Parallel()
	for _, nothing := range []string{"null", "~", ""} {
		l, err := config.Load(file(t, "auth_key: "+nothing+"\npublic_url: "+nothing+"\ngrpc: {addr: "+nothing+"}\nkafka: {brokers: "+nothing+"}\n"), nil)
		require.NoError(t, err, nothing)
		require.Empty(t, l.AuthKey, nothing)
		require.Empty(t, l.PublicURL, nothing)
		require.Empty(t, l.GRPC.Addr, nothing)
		require.Empty(t, l.Kafka.Brokers, nothing)
	}
}

func TestASettingThatStandsTwiceIsNamed(t *testing.T) {
	t.Parallel()
	_, err := config.Load(file(t, "http:\n  addr: 127.0.0.1:1\n  addr: 127.0.0.1:2\nlog: {level: info}\nhttp: {drain_timeout: 1s}\n"), nil)
	require.ErrorContains(t, err, ":3: http.addr stands here twice")
	require.ErrorContains(t, err, ":5: http stands here twice")
}

// What is printed can be kept as a file: what was masked is not in it, and no
// mask becomes a key.
func TestNoMaskIsReadBack(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"postgres://me:hunter2@db/colonnade", "postgres://db/colonnade?user=me&password=hunter2", "host=db user=me password=hunter2 dbname=colonnade",
	} {
		l, err := config.Load("", []string{"COLONNADE_AUTH_KEY=hunter2", "COLONNADE_POSTGRES_URL=" + address, "COLONNADE_CLICKHOUSE_URL=http://ch/db?password=hunter2"})
		require.NoError(t, err)
		var b strings.Builder
		require.NoError(t, l.Print(&b))
		require.NotContains(t, b.String(), "hunter2")
		require.Contains(t, b.String(), "COLONNADE_AUTH_KEY, environment")
		again, err := config.Load(file(t, b.String()), nil)
		require.NoError(t, err, b.String())
		require.Empty(t, again.AuthKey)
		require.Empty(t, again.Postgres.URL)
		require.Empty(t, again.ClickHouse.URL)
	}
}

// An address that stands for all of a machine's is none that a client can call.
func TestClientsAreGivenAnAddress(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"0.0.0.0:8080": "http://localhost:8080", "[::]:8080": "http://localhost:8080", ":8080": "http://localhost:8080",
		"127.0.0.1:1": "http://127.0.0.1:1", "[::1]:1": "http://[::1]:1", "10.0.0.7:80": "http://10.0.0.7:80", "api:80": "http://api:80",
	} {
		l, err := config.Load("", []string{"COLONNADE_HTTP_ADDR=" + addr})
		require.NoError(t, err)
		require.Equal(t, want, l.BaseURL(), addr)
		require.Equal(t, want+"/services", l.Entities.Write.ServicesURL, addr)
	}
	l, err := config.Load("", []string{"COLONNADE_PUBLIC_URL=https://traces.example.com/"})
	require.NoError(t, err)
	require.Equal(t, "https://traces.example.com", l.BaseURL())
}

func TestEachStoreSaysWhatCannotWork(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		"AUTH_KEY=key\n":               "auth_key: must not begin or end with a blank",
		"CLICKHOUSE_MAX_OPEN_CONNS=0":  "clickhouse.max_open_conns: must be positive",
		"CLICKHOUSE_DIAL_TIMEOUT=-1s":  "clickhouse.dial_timeout: must be positive",
		"CLICKHOUSE_HTTP_PORT=81234":   "clickhouse.http_port: must be from 0 to 65535",
		"POSTGRES_MAX_CONNS=0":         "postgres.max_conns: must be positive",
		"KAFKA_PARTITIONS=0":           "kafka: stream: partitions must be at least 1",
		"KAFKA_COMPRESSION=brotli":     "kafka: stream: unknown compression",
		"MEMORY_LIMIT_BYTES=-1":        "memory_limit_bytes: must not be negative",
		"GC_PERCENT=-1":                "gc_percent: must not be negative",
		"EMBEDDED_POSTGRES_PORT=81234": "embedded: postgres_port: must be from 0 to 65535",
	} {
		_, err := config.Load("", []string{"COLONNADE_" + entry})
		require.ErrorContains(t, err, want, entry)
	}
}
