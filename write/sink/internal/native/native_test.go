package native_test

import (
	"bytes"
	"math"
	"strconv"
	"testing"
	"time"

	chproto "github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2/lib/column"
	"github.com/ClickHouse/clickhouse-go/v2/lib/proto"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/write/sink/internal/native"
)

// decode reads a block as the driver would.
func decode(t testing.TB, encoded []byte) *proto.Block {
	t.Helper()
	var block proto.Block
	block.ServerContext = &column.ServerContext{Timezone: time.UTC}
	r := chproto.NewReader(bytes.NewReader(encoded))
	require.NoError(t, block.Decode(r, 0))
	rest, err := r.ReadByte()
	require.Error(t, err, "a byte %x is left over", rest)
	return &block
}

func row(b *proto.Block, i int) []any {
	var out []any
	for _, c := range b.Columns {
		out = append(out, c.Row(i, false))
	}
	return out
}

func TestBlock(t *testing.T) {
	t.Parallel()
	var (
		b    native.Block
		id   = native.NewFixed(16)
		fs   = native.NewFixed(4)
		u8   = native.NewFixed(1)
		u16  = native.NewFixed(2)
		u32  = native.NewFixed(4)
		i64  = native.NewFixed(8)
		f64  = native.NewFixed(8)
		s    = &native.String{}
		word = native.NewDictionary()
		list = &native.String{}
		arr  = native.NewList(list)
		keys = native.NewDictionary()
		vals = native.NewFixed(8)
		m    = native.NewList(keys, vals)
	)
	b.Add("id", "UUID", id)
	b.Add("fs", "FixedString(4)", fs)
	b.Add("u8", "Bool", u8)
	b.Add("u16", "UInt16", u16)
	b.Add("u32", "UInt32", u32)
	b.Add("i64", "Int64", i64)
	b.Add("f64", "Float64", f64)
	b.Add("s", "String", s)
	b.Add("word", "LowCardinality(String)", word)
	b.Add("arr", "Array(String)", arr)
	b.Add("m", "Map(LowCardinality(String), Float64)", m)

	u := uuid.MustParse("00112233-4455-6677-8899-aabbccddeeff")
	for round := range 2 {
		for i := range 300 { // more than a byte's worth of words
			id.UUID(u)
			fs.Bytes([]byte("abcd"))
			u8.Bool(i%2 == 0)
			u16.Uint16(uint16(i))
			u32.Uint32(uint32(i))
			i64.Int64(int64(-i))
			f64.Float64(float64(i) / 2)
			s.Append3("s", strconv.Itoa(i), "!")
			word.Append("w" + strconv.Itoa(i))
			for k := range i % 3 {
				list.Append(strconv.Itoa(k))
				keys.Append("k" + strconv.Itoa(k))
				vals.Float64(float64(k))
			}
			arr.End()
			m.End()
		}
		encoded, err := b.AppendTo(nil)
		require.NoError(t, err)
		require.LessOrEqual(t, len(encoded), b.Size())
		require.Less(t, b.Size(), len(encoded)+2000, "a dictionary's numbers are narrower, the rest is exact")
		got := decode(t, encoded)
		require.Equal(t, 300, got.Rows())
		want := []any{u, "abcd", true, uint16(2), uint32(2), int64(-2), 1.0, "s2!", "w2", []string{"0", "1"}, map[string]float64{"k0": 0, "k1": 1}}
		if diff := cmp.Diff(want, row(got, 2)); diff != "" {
			t.Errorf("round %d (-want +got):\n%s", round, diff)
		}
		require.Equal(t, "w299", row(got, 299)[8])
		b.Reset()
		require.Zero(t, b.Rows())
	}
}

func TestBlockWithoutElements(t *testing.T) {
	t.Parallel()
	var b native.Block
	m := native.NewList(native.NewDictionary(), &native.String{})
	b.Add("m", "Map(LowCardinality(String), String)", m)
	m.End()
	m.End()
	encoded, err := b.AppendTo(nil)
	require.NoError(t, err)
	got := decode(t, encoded)
	require.Equal(t, 2, got.Rows())
	require.Empty(t, got.Columns[0].Row(1, false))

	b.Reset()
	encoded, err = b.AppendTo(nil)
	require.NoError(t, err)
	require.Zero(t, decode(t, encoded).Rows())
}

func TestBlockRefusesUnequalColumns(t *testing.T) {
	t.Parallel()
	var b native.Block
	a, c := native.NewFixed(8), native.NewFixed(8)
	b.Add("a", "UInt64", a)
	b.Add("c", "UInt64", c)
	a.Uint64(1)
	_, err := b.AppendTo(nil)
	require.ErrorContains(t, err, "column c has 0 rows, the block has 1")
}

func TestDictionaryWidths(t *testing.T) {
	t.Parallel()
	for _, words := range []int{1, 256, 257, math.MaxUint16 + 1, math.MaxUint16 + 2} {
		var b native.Block
		d := native.NewDictionary()
		b.Add("d", "LowCardinality(String)", d)
		for i := range words {
			d.Append(strconv.Itoa(i))
		}
		encoded, err := b.AppendTo(nil)
		require.NoError(t, err)
		got := decode(t, encoded)
		require.Equal(t, words, got.Rows())
		require.Equal(t, strconv.Itoa(words-1), got.Columns[0].Row(words-1, false))
	}
}

func FuzzBlock(f *testing.F) {
	f.Add("a", "", []byte{0, 1, 255})
	f.Fuzz(func(t *testing.T, a, b string, counts []byte) {
		var block native.Block
		s, words, list := &native.String{}, native.NewDictionary(), &native.String{}
		arr := native.NewList(list)
		block.Add("s", "String", s)
		block.Add("words", "LowCardinality(String)", words)
		block.Add("arr", "Array(String)", arr)
		for _, n := range counts {
			s.Append(a)
			words.Append(b + strconv.Itoa(int(n)))
			for range n {
				list.Append(b)
			}
			arr.End()
		}
		encoded, err := block.AppendTo(nil)
		require.NoError(t, err)
		require.LessOrEqual(t, len(encoded), block.Size())
		got := decode(t, encoded)
		require.Equal(t, len(counts), got.Rows())
		for i, n := range counts {
			require.Equal(t, a, got.Columns[0].Row(i, false))
			require.Equal(t, b+strconv.Itoa(int(n)), got.Columns[1].Row(i, false))
			require.Len(t, got.Columns[2].Row(i, false), int(n))
		}
	})
}
