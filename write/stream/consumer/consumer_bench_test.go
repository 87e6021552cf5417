package consumer_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/write/stream"
	"colonnade/write/stream/consumer"
	"colonnade/write/stream/streamtest"
)

// Spans of about 2 KB, eight to a record, half of their text as random as prose is.
const (
	benchSpans     = 8
	benchSpanBytes = 2048
)

func prose(r *rand.Rand, n int) []byte {
	words := strings.Fields(`the of and to in is that for it as was with be by on not he his but at are this have from or had an they which one
		you were her all she there would their we him been has when who will more no if out so what up its about into than them can only
		gen_ai.request.model gpt-4o assistant user content temperature "role": {"key": retrieval capital France history Paris tokens`)
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(words[r.IntN(len(words))])
		b.WriteByte(' ')
	}
	return []byte(b.String()[:n])
}

// BenchmarkPublish: so many requests at a time of eight records each, to a
// broker of another process that syncs every batch to disk.
func BenchmarkPublish(b *testing.B) {
	const callers, perCall = 32, 8
	for _, codec := range []string{"none", "lz4", "snappy", "zstd"} {
		b.Run(codec, func(b *testing.B) {
			broker := streamtest.StartBroker(b)
			cfg := streamtest.Config(b, broker.Addr)
			cfg.Compression = codec
			p := streamtest.Producer(b, cfg)
			require.NoError(b, p.Ready(b.Context()))
			r := rand.New(rand.NewPCG(1, 2))
			calls := make([][]stream.Record, callers)
			for i := range calls {
				for j := range perCall {
					rec := streamtest.Record(i*perCall + j)
					rec.Value = prose(r, benchSpans*benchSpanBytes)
					calls[i] = append(calls[i], rec)
				}
			}
			b.SetBytes(callers * perCall * benchSpans * benchSpanBytes)
			b.ReportAllocs()
			for b.Loop() {
				var wait sync.WaitGroup
				for _, records := range calls {
					wait.Go(func() {
						if _, err := p.Publish(b.Context(), records); err != nil {
							b.Error(err)
						}
					})
				}
				wait.Wait()
			}
			b.ReportMetric(float64(b.N)*callers*perCall*benchSpans/b.Elapsed().Seconds(), "spans/s")
		})
	}
}

// BenchmarkConsume reads what was published, as the sink does, to the end.
func BenchmarkConsume(b *testing.B) {
	const total = 4000
	broker := streamtest.StartBroker(b)
	cfg := streamtest.Config(b, broker.Addr)
	p := streamtest.Producer(b, cfg)
	r := rand.New(rand.NewPCG(1, 2))
	all := streamtest.Records(total)
	for i := range all {
		all[i].Value = prose(r, benchSpans*benchSpanBytes)
	}
	for i := 0; i < total; i += 500 {
		_, err := p.Publish(b.Context(), all[i:i+500])
		require.NoError(b, err)
	}
	b.SetBytes(total * benchSpans * benchSpanBytes)
	b.ReportAllocs()
	round := 0
	for b.Loop() {
		round++
		cfg.Group = cfg.Topic + strings.Repeat("x", round)
		left := make(chan int, total)
		c := newConsumer(b, cfg)
		ctx, cancel := context.WithCancel(b.Context())
		done := make(chan error, 1)
		go func() {
			done <- c.Run(ctx, func(ctx context.Context, p *consumer.Partition) error {
				for {
					batch, err := p.Poll(ctx, 8<<20, 50*time.Millisecond)
					if err != nil {
						return err
					}
					rng := stream.Range{First: batch[0].Offset, Last: batch[len(batch)-1].Offset}
					if err := p.Intend(ctx, rng); err != nil {
						return err
					}
					if err := p.Commit(ctx, rng.Last+1); err != nil {
						return err
					}
					left <- len(batch)
				}
			})
		}()
		for n := 0; n < total; {
			n += <-left
		}
		cancel()
		require.NoError(b, <-done)
	}
	b.ReportMetric(float64(b.N)*total*benchSpans/b.Elapsed().Seconds(), "spans/s")
}
