//go:build embedded

package embedded_test

import (
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"colonnade/deploy/embedded/embeddedtest"
)

// The driver checks in this file and its neighbours run clickhouse-go as it is
// against any ClickHouse: the embedded one, or the server that
// COLONNADE_TEST_CLICKHOUSE_URL names. Both must give the same.

// TestDriverTypes writes a value of each type in a batch and reads it back.
func TestDriverTypes(t *testing.T) {
	t.Parallel()
	conn := open(t, embeddedtest.Database(t))
	at := time.Date(2026, 3, 4, 5, 6, 7, 123456789, time.UTC)
	day := time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)
	id := uuid.MustParse("0190a5e0-1111-7000-8000-000000000001")
	text := "naïve \x00 \t\n'\"`\\ 🙂"
	checks := []struct {
		name, kind string
		in         any
		out        any // a pointer to scan into
		want       any
	}{
		{"uint8", "UInt8", uint8(255), new(uint8), uint8(255)},
		{"int64", "Int64", int64(-1 << 63), new(int64), int64(-1 << 63)},
		{"uint64", "UInt64", uint64(1<<64 - 1), new(uint64), uint64(1<<64 - 1)},
		{"int128", "Int128", big.NewInt(-42), new(big.Int), *big.NewInt(-42)},
		{"float64", "Float64", 1.5e300, new(float64), 1.5e300},
		{"bool", "Bool", true, new(bool), true},
		{"string", "String", text, new(string), text},
		{"fixed string", "FixedString(16)", "0123456789abcdef", new(string), "0123456789abcdef"},
		{"low cardinality", "LowCardinality(String)", "gpt-5", new(string), "gpt-5"},
		{"low cardinality nullable", "LowCardinality(Nullable(String))", "x", new(string), "x"},
		{"nullable null", "Nullable(Int32)", (*int32)(nil), new(*int32), (*int32)(nil)},
		{"uuid", "UUID", id, new(uuid.UUID), id},
		{"date", "Date", day, new(time.Time), day},
		{"date32", "Date32", day, new(time.Time), day},
		{"datetime", "DateTime('UTC')", at.Truncate(time.Second), new(time.Time), at.Truncate(time.Second)},
		{"datetime64 micro", "DateTime64(6, 'UTC')", at.Truncate(time.Microsecond), new(time.Time), at.Truncate(time.Microsecond)},
		{"datetime64 nano", "DateTime64(9, 'UTC')", at, new(time.Time), at},
		{"decimal", "Decimal(18, 6)", decimal.RequireFromString("1234.567891"), new(decimal.Decimal), decimal.RequireFromString("1234.567891")},
		{"enum", "Enum8('ok' = 1, 'error' = 2)", "error", new(string), "error"},
		{"ipv4", "IPv4", net.ParseIP("10.1.2.3").To4(), new(net.IP), net.ParseIP("10.1.2.3").To4()},
		{"ipv6", "IPv6", net.ParseIP("2001:db8::1"), new(net.IP), net.ParseIP("2001:db8::1")},
		{"array", "Array(String)", []string{"a", "", text}, new([]string), []string{"a", "", text}},
		{"nested array", "Array(Array(UInt32))", [][]uint32{{1, 2}, {}}, new([][]uint32), [][]uint32{{1, 2}, {}}},
		{"map", "Map(String, Float64)", map[string]float64{"a": 1, "b": 2}, new(map[string]float64), map[string]float64{"a": 1, "b": 2}},
		{"map low cardinality", "Map(LowCardinality(String), String)", map[string]string{"k": "v"}, new(map[string]string), map[string]string{"k": "v"}},
		{"tuple", "Tuple(a String, b Int64)", []any{"x", int64(7)}, new(map[string]any), map[string]any{"a": "x", "b": int64(7)}},
		{"array of tuples", "Array(Tuple(String, String))", [][]any{{"t", "s"}}, new([][]any), [][]any{{"t", "s"}}},
	}
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			table := "t_" + uuid.NewString()[:8]
			require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE "+table+" (id UInt8, v "+c.kind+") ENGINE=MergeTree ORDER BY id"))
			batch, err := conn.PrepareBatch(t.Context(), "INSERT INTO "+table)
			require.NoError(t, err)
			require.NoError(t, batch.Append(uint8(1), c.in))
			require.NoError(t, batch.Send())
			require.NoError(t, conn.QueryRow(t.Context(), "SELECT v FROM "+table).Scan(c.out))
			if diff := cmp.Diff(c.want, pointed(c.out), cmp.Comparer(func(a, b big.Int) bool { return a.Cmp(&b) == 0 })); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestDriverJSON writes JSON as text and reads it as the driver's object and as text.
func TestDriverJSON(t *testing.T) {
	t.Parallel()
	conn := open(t, embeddedtest.Database(t))
	require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE j (id UInt8, v JSON) ENGINE=MergeTree ORDER BY id"))
	asText := clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"output_format_native_write_json_as_string": 1}))
	batch, err := conn.PrepareBatch(asText, "INSERT INTO j")
	require.NoError(t, err)
	require.NoError(t, batch.Append(uint8(1), `{"a":{"b":1},"s":"x"}`))
	require.NoError(t, batch.Send())
	var object clickhouse.JSON
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT v FROM j").Scan(&object))
	value, found := object.ValueAtPath("s")
	require.True(t, found)
	got, is := value.(clickhouse.Dynamic)
	require.True(t, is)
	require.Equal(t, "x", got.Any())
	var text string
	require.NoError(t, conn.QueryRow(asText, "SELECT v FROM j").Scan(&text))
	require.JSONEq(t, `{"a":{"b":1},"s":"x"}`, text)
	var number int64
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT v.a.b::Int64 FROM j").Scan(&number))
	require.Equal(t, int64(1), number)
}

func pointed(p any) any {
	switch v := p.(type) {
	case *uint8:
		return *v
	case *int64:
		return *v
	case *uint64:
		return *v
	case *big.Int:
		return *v
	case *float64:
		return *v
	case *bool:
		return *v
	case *string:
		return *v
	case **int32:
		return *v
	case *uuid.UUID:
		return *v
	case *time.Time:
		return *v
	case *decimal.Decimal:
		return *v
	case *net.IP:
		return *v
	case *[]string:
		return *v
	case *[][]uint32:
		return *v
	case *map[string]float64:
		return *v
	case *map[string]string:
		return *v
	case *map[string]any:
		return *v
	case *[][]any:
		return *v
	default:
		return p
	}
}
