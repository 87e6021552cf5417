package traces

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/domain/trace"
	"colonnade/read/statements"
)

func lengths(of ...int) string {
	var out []byte
	for _, n := range of {
		out = binary.LittleEndian.AppendUint32(out, uint32(n))
	}
	return string(out)
}

func TestCut(t *testing.T) {
	t.Parallel()
	d := documentRow{text: "iioopaae", head: "lrrsHEAD", lengths: lengths(2, 2, 1, 0, 2, 1, 1, 2, 1)}
	got, err := d.cut()
	require.NoError(t, err)
	own, err := (&documentRow{head: d.head, lengths: d.lengths}).ownHead()
	require.NoError(t, err)
	require.Equal(t, got.head, own, "with its text or without")
	require.Equal(t, texts{data: [4]string{"ii", "oo", "p", ""}, events: "aa", attributes: "e", links: "l", resource: "rr", scope: "s", head: "HEAD"}, got)
	for name, bad := range map[string]documentRow{
		"no lengths":         {text: "a", head: "b"},
		"one length less":    {lengths: lengths(0, 0, 0, 0, 0, 0, 0, 0)},
		"longer than text":   {text: "abc", lengths: lengths(4, 0, 0, 0, 0, 0, 0, 0, 0)},
		"shorter than text":  {text: "abc", lengths: lengths(2, 0, 0, 0, 0, 0, 0, 0, 0)},
		"longer than head":   {head: "abc", lengths: lengths(0, 0, 0, 0, 0, 0, 0, 0, 4)},
		"too long to add up": {text: "abc", head: "abc", lengths: strings.Repeat("\xff", 36)},
	} {
		_, err := bad.cut()
		require.Error(t, err, name)
		bad.text = ""
		_, err = bad.ownHead()
		require.Equal(t, strings.HasSuffix(name, "text"), err == nil, name)
	}
}

// Whatever a row holds, it is read or refused.
func FuzzDocumentRow(f *testing.F) {
	f.Add(`{}{"a":1}`, "", lengths(2, 0, 0, 0, 0, 7, 0, 0, 0))
	f.Add("", strings.Repeat("\x01", 120), lengths(0, 0, 0, 0, 0, 0, 0, 0, 0))
	f.Fuzz(func(t *testing.T, text, head, lengths string) {
		d := documentRow{text: text, head: head, lengths: lengths}
		own, _ := d.ownHead()
		if got, err := d.cut(); err == nil {
			require.Equal(t, got.head, own)
			require.Equal(t, text+head, strings.Join(got.data[:], "")+got.events+got.attributes+got.links+got.resource+got.scope+got.head)
		}
		var from producers
		_, _ = d.parse(&from)
	})
}

// What one lookup names is bounded, and every record of every trace is named once.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	var bounds []statements.Bounds
	next := uint64(0)
	for i, n := range []int{1, 0, 1999, 1, 2000, 5000, 3, 2000} {
		b := statements.Bounds{Trace: trace.TraceID{byte(i)}}
		for range n {
			b.Records = append(b.Records, next)
			next++
		}
		bounds = append(bounds, b)
	}
	var all []uint64
	for some := range atOnce(bounds) {
		records := 0
		for _, b := range some {
			require.Equal(t, bounds[b.Trace[0]].Trace, b.Trace)
			require.Subset(t, bounds[b.Trace[0]].Records, b.Records)
			all, records = append(all, b.Records...), records+len(b.Records)
		}
		require.NotZero(t, records)
		require.LessOrEqual(t, records, recordsAtOnce)
	}
	require.Len(t, all, int(next))
	require.True(t, slices.IsSorted(all))
	for some := range atOnce(bounds) {
		require.Len(t, some, 2, "it may be left at any time")
		break
	}
	for range atOnce(nil) {
		t.Fatal("nothing is nothing")
	}
}
