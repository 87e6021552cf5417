package app

import (
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/stretchr/testify/require"

	"colonnade/cmd/internal/config"
)

func TestClickHouseAddresses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		protocol clickhouse.Protocol
		addr     []string
		tls      bool
		database string
		password string
	}{
		{"native", "clickhouse://u:p@h/db", clickhouse.Native, []string{"h:9000"}, false, "db", "p"},
		{"native with TLS", "clickhouses://h", clickhouse.Native, []string{"h:9440"}, true, "", ""},
		{"http", "http://u:p@h:1234/db", clickhouse.HTTP, []string{"h:1234"}, false, "db", "p"},
		{"https", "https://u:p@h/db?max_threads=4", clickhouse.HTTP, []string{"h:8443"}, true, "db", "p"},
		{"several hosts", "clickhouse://a,b:9001,c/db", clickhouse.Native, []string{"a:9000", "b:9001", "c:9000"}, false, "db", ""},
		{"an @ in the password", "clickhouse://u:p%40q@h/db", clickhouse.Native, []string{"h:9000"}, false, "db", "p@q"},
		{"IPv6", "http://[::1]/db", clickhouse.HTTP, []string{"[::1]:8123"}, false, "db", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			options, err := clickHouseOptions(config.ClickHouse{URL: tt.in})
			require.NoError(t, err)
			require.Equal(t, tt.protocol, options.Protocol)
			require.Equal(t, tt.addr, options.Addr)
			require.Equal(t, tt.tls, options.TLS != nil)
			require.Equal(t, tt.database, options.Auth.Database)
			require.Equal(t, tt.password, options.Auth.Password)
		})
	}
}

func TestClickHouseAddressesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", "h:9000", "ftp://h", "clickhouse://", "clickhouse://u:secret@", "http://u:secret@h/%zz", "http://h?%zz"} {
		_, err := clickHouseOptions(config.ClickHouse{URL: in})
		require.ErrorContains(t, err, "clickhouse.url", in)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestTheSinkSpeaksHTTP(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   config.ClickHouse
		want string
	}{
		{config.ClickHouse{URL: "http://u:p@h:1/db"}, "http://u:p@h:1/db"},
		{config.ClickHouse{URL: "clickhouse://u:p@a:9000,b/db?x=1"}, "http://u:p@a:8123,b:8123/db?x=1"},
		{config.ClickHouse{URL: "clickhouse://a:9000?username=u&password=p"}, "http://a:8123/?username=u&password=p"},
		{config.ClickHouse{URL: "clickhouses://[::1]:9440/db"}, "https://[::1]:8443/db"},
		{config.ClickHouse{URL: "clickhouse://a/db", HTTPPort: 81}, "http://a:81/db"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, overHTTP(tt.in).URL)
	}
}
