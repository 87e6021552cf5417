package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/cmd/internal/load"
)

func TestParseLoad(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     loadReport
	}{
		{"a build of November 2026", `seed 7, spans of 2048 bytes, 20 % annotations, 4 connections
sent                24987 spans in 1351 traces, 51.2 MB, 52 requests, 0 retries
accepted            15012 spans/s over 1.7 s
visible             11360 spans/s, all after 2.2 s
receipt to visible  p50 432ms, p99 1.021s, 9 timed
`, loadReport{spans: 24987, visible: 2200 * time.Millisecond, p50: 432 * time.Millisecond, p99: 1021 * time.Millisecond}},
		{
			"no probes", "sent      10 spans in 1 traces, 0.0 MB, 1 requests, 0 retries\naccepted  10 spans/s over 1.0 s\nvisible   5 spans/s, all after 2.0 s\n",
			loadReport{spans: 10, visible: 2 * time.Second},
		},
		{
			"nothing timed", "sent                10 spans in 1 traces\nvisible             5 spans/s, all after 2.0 s\nreceipt to visible  p50 0s, p99 0s, 0 timed\n",
			loadReport{spans: 10, visible: 2 * time.Second},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := parseLoad(tt.in)
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
	for _, text := range []string{"", "sent  10 spans", "colonnade: connection refused"} {
		_, err := parseLoad(text)
		require.Error(t, err, text)
	}
}

// This build's own load command must print what benchpair reads.
func TestParseLoadOfThisBuild(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, (&load.Report{
		Spans: 1000, Sending: time.Second, Visible: 2 * time.Second,
		Delays: []time.Duration{100 * time.Millisecond}, Reads: []load.ReadTimes{{Name: "latest 50 spans"}}, Verified: "all",
	}).Print(&out))
	got, err := parseLoad(out.String())
	require.NoError(t, err)
	require.Equal(t, loadReport{spans: 1000, visible: 2 * time.Second, p50: 100 * time.Millisecond, p99: 100 * time.Millisecond}, got)
}

func TestParseStat(t *testing.T) {
	t.Parallel()
	pid, parent, ticks, err := parseStat("42 (a b) c) S 7 42 42 0 -1 4194560 100 0 0 0 10 20 3 4 20 0 1 0 100\n")
	require.NoError(t, err)
	require.Equal(t, []int64{42, 7, 37}, []int64{int64(pid), int64(parent), ticks})
	for _, text := range []string{"", "42 sh S 7", "42 (sh) S 7", "x (sh) S 7 42 42 0 -1 4194560 100 0 0 0 10 20 3 4"} {
		_, _, _, err := parseStat(text)
		require.Error(t, err, text)
	}
}

// The time of a child counts as well, while it runs and after it has ended.
func TestCPUOfAProcessTree(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Log("this system has no /proc: benchpair runs on Linux only")
		return
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'; echo done; read line`)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = io.ReadFull(out, make([]byte, 5))
	require.NoError(t, err)
	used, err := (&service{cmd: cmd}).cpu()
	require.NoError(t, err)
	require.GreaterOrEqual(t, used, 10*time.Millisecond)
	require.NoError(t, in.Close())
	_ = cmd.Wait()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	_, err = (&service{name: "base", cmd: cmd, log: log}).cpu()
	require.ErrorContains(t, err, "base has ended")
	require.NoError(t, log.Close())
}

func TestMedian(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 2, median([]float64{9, 1, 2}), 0)
	require.InDelta(t, 3, median([]float64{9, 1, 2, 4}), 0)
	require.True(t, math.IsNaN(median(nil)))
}

func turnsOf(p99 float64, medians ...float64) []turn {
	var turns []turn
	for _, m := range medians {
		turns = append(turns, turn{median: m, p99: p99 * m})
	}
	return turns
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	l := limits{ingest: 1.10, reads: 1.25, tail: 1.5}
	tests := []struct {
		name                   string
		base, again, candidate []turn
		ingest                 bool
		failures               [services]int
		want                   string
	}{
		{name: "equal", base: turnsOf(2, 10, 11, 12), again: turnsOf(2, 10, 11, 12), candidate: turnsOf(2, 10, 11, 12), want: "pass"},
		{name: "one slow turn of three", base: turnsOf(2, 10, 11, 12), again: turnsOf(2, 10, 11, 12), candidate: turnsOf(2, 10, 11, 90), want: "pass"},
		{name: "reads at their limit", base: turnsOf(2, 100), again: turnsOf(2, 100), candidate: turnsOf(2, 125), want: "pass"},
		{name: "reads above their limit", base: turnsOf(2, 100), again: turnsOf(2, 100), candidate: turnsOf(2, 126), want: "FAIL: median"},
		{name: "ingest has its own limit", base: turnsOf(0, 100), again: turnsOf(0, 100), candidate: turnsOf(0, 120), ingest: true, want: "FAIL: median"},
		{name: "within the base's own spread", base: turnsOf(2, 100), again: turnsOf(2, 140), candidate: turnsOf(2, 139), want: "pass"},
		{name: "the spread counts both ways", base: turnsOf(2, 140), again: turnsOf(2, 100), candidate: turnsOf(2, 190), want: "pass"},
		{name: "p99", base: turnsOf(2, 100), again: turnsOf(2, 100), candidate: turnsOf(4, 100), want: "FAIL: p99"},
		{name: "faster", base: turnsOf(2, 100), again: turnsOf(2, 100), candidate: turnsOf(1, 10), want: "pass"},
		{name: "no p99", base: turnsOf(0, 100), again: turnsOf(0, 100), candidate: turnsOf(0, 100), want: "pass"},
		{name: "errors", base: turnsOf(2, 100), again: turnsOf(2, 100), failures: [services]int{candidate: 3}, want: "FAIL: 3 errors"},
		{name: "a read that the base does not have", candidate: turnsOf(2, 100), failures: [services]int{base: 3, baseAgain: 3}, want: "not compared: the base answers with errors"},
		{name: "nothing", want: "not compared: nothing was measured"},
		{name: "nothing of the candidate", base: turnsOf(2, 100), again: turnsOf(2, 100), want: "FAIL: nothing was measured of the candidate"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := &row{name: "row", unit: "ms", ingest: tt.ingest, turns: [services][]turn{tt.base, tt.again, tt.candidate}, failures: tt.failures}
			require.Equal(t, tt.want, r.verdict(l))
		})
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	all := table{
		{name: "CPU", unit: "us", ingest: true, turns: [services][]turn{turnsOf(0, 100), turnsOf(0, 105), turnsOf(0, 130)}},
		{name: "spans", unit: "ms", turns: [services][]turn{turnsOf(2, 10), turnsOf(2, 10), turnsOf(2, 9)}, failure: [services]error{candidate: errors.New("refused")}},
	}
	l := limits{ingest: 1.10, reads: 1.10, tail: 1.5}
	require.Equal(t, []string{"CPU"}, all.failed(l))
	var out bytes.Buffer
	all.print(&out, l)
	require.Equal(t, `row    base      candidate  ratio  base/base  p99 base  p99 candidate  ratio  base/base  
CPU    100.0 us  130.0 us   1.30   1.05       -         -              -      -          FAIL: median
spans  10.0 ms   9.0 ms     0.90   1.00       20.0 ms   18.0 ms        0.90   1.00       pass
  candidate: refused
`, out.String())
}

func TestOptions(t *testing.T) {
	t.Parallel()
	o, err := parseOptions([]string{"-base", "abc", "-spans", "50000", "-turns", "2", "-reads-limit", "1.25"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, limits{ingest: 1.1, reads: 1.25, tail: 1.5}, o.limits)
	for _, args := range [][]string{{}, {"-base", "abc", "-turns", "0"}, {"-base", "abc", "-spans", "5"}, {"-base", "abc", "-rate", "-1"}} {
		_, err := parseOptions(args, io.Discard)
		require.Error(t, err, args)
	}
	_, err = parseOptions([]string{"-help"}, io.Discard)
	require.ErrorIs(t, err, flag.ErrHelp)
}
