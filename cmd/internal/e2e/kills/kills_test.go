//go:build embedded

package kills_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/cespare/xxhash/v2"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/scram"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"colonnade/deploy/embedded"
	"colonnade/deploy/embedded/embeddedtest"
	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/migrations"
	"colonnade/write/cost"
	"colonnade/write/normalize"
	"colonnade/write/sink"
	"colonnade/write/stream"
	"colonnade/write/stream/consumer"
)

// faultsVariable makes a test process a sink: it holds a faultsChild.
const faultsVariable = "COLONNADE_TEST_SINK"

// faultsChild is what a sink process needs to know.
type faultsChild struct {
	Brokers    []string
	SASL       stream.SASL
	Topic      string
	ClickHouse string
	// Name tells one sink from another in the group.
	Name string
}

// envKafkaPIDFile names a file with the process of the broker that is given, and may be killed.
const envKafkaPIDFile = "COLONNADE_TEST_KAFKA_PID_FILE"

// The environment of a longer TestEverySpanOnceAcrossKills: how many spans flow
// (a multiple of faultPerRecord), and how many kills there are, of victims of chance.
const (
	envFaultSpans = "COLONNADE_FAULT_SPANS"
	envFaultKills = "COLONNADE_FAULT_KILLS"
)

const (
	faultSpans     = 200_000
	faultPerRecord = 8
	// faultRest is how many kills of engines there are between two orderly
	// restarts: the supervisor gives an engine up that keeps dying.
	faultRest = 8
	// faultRetries is the share of records that a client sends a second time.
	faultRetries = 10 // one in
	// faultSession is the shortest that brokers allow. The test does not even
	// wait for that: it takes killed sinks out of the group.
	faultSession = 6 * time.Second
)

// sinkChild runs this process as a sink if it was asked to.
func sinkChild() (handled bool, exit int) {
	raw := os.Getenv(faultsVariable)
	if raw == "" {
		return false, 0
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if err := runSink(raw, log); err != nil {
		log.Error("sink", slog.Any("error", err))
		return true, 1
	}
	return true, 0
}

func runSink(raw string, log *slog.Logger) error {
	var c faultsChild
	if err := json.Unmarshal([]byte(raw), &c); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	options, err := clickhouse.ParseDSN(c.ClickHouse)
	if err != nil {
		return err
	}
	conn, err := clickhouse.Open(options)
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	producer, err1 := stream.NewProducer(c.stream(), time.Now, log, registry)
	member, err2 := consumer.New(c.stream(), time.Now, log, registry)
	normalizer, err3 := normalize.New(cost.DefaultConfig(), registry)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	cfg := sink.DefaultConfig()
	cfg.MinLinger, cfg.FinalizeAfter, cfg.MaxBackoff = 50*time.Millisecond, time.Second, time.Second
	s, err := sink.New(cfg, sink.Deps{Store: conn, Consumer: member, Dead: producer, Normalizer: normalizer, Now: time.Now, Log: log, Registerer: registry})
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

func (c faultsChild) stream() stream.Config {
	cfg := stream.DefaultConfig()
	cfg.SASL = c.SASL
	cfg.Brokers, cfg.Topic, cfg.Group, cfg.SessionTimeout, cfg.ClientID = c.Brokers, c.Topic, c.Topic, faultSession, c.Name
	return cfg
}

// faults is a service whose parts are killed while spans arrive.
type faults struct {
	*testing.T
	ctx      context.Context //nolint:containedctx // of the test
	dir      string
	child    faultsChild
	stack    *embedded.Stack
	conn     driver.Conn
	producer *stream.Producer
	project  domain.ProjectID
	spans    int

	group *kgo.Client // to take dead sinks out of the group
	sinks map[string]*exec.Cmd
	began int
	kills map[string]int
	// pidFile names the process of a broker that is not embedded, and may be killed.
	pidFile string

	// sum and names are what the store must hold in the end.
	sum, names uint64
	sent       atomic.Int64
}

// TestEverySpanOnceAcrossKills kills sinks, broker and store with SIGKILL while
// 200 000 spans flow, some of them sent twice by their clients. Afterwards each
// is stored once, unchanged, and no more. The environment asks for more of it
// (design §9: 100 kills over 10 million spans), and of a broker that is there
// already: it dies as well where its process is known, as that of make test-kafka is.
func TestEverySpanOnceAcrossKills(t *testing.T) {
	ctx, dir := t.Context(), filepath.Join(t.TempDir(), "stack")
	f := &faults{
		T: t, ctx: ctx, dir: dir, pidFile: os.Getenv(envKafkaPIDFile), project: domain.ProjectID(uuid.New()),
		spans: fromEnvironment(t, envFaultSpans, faultSpans), kills: map[string]int{}, sinks: map[string]*exec.Cmd{},
	}
	require.Zero(t, f.spans%faultPerRecord, envFaultSpans)
	require.NoError(t, f.startStack())
	f.child = faultsChild{Brokers: f.stack.Kafka, SASL: stream.SASL(f.stack.KafkaSASL), Topic: "faults-" + f.project.String(), ClickHouse: f.stack.ClickHouse, Name: "test"}
	if len(f.stack.Kafka) == 0 {
		f.child.Brokers, f.child.SASL = embeddedtest.Kafka(t), stream.SASL(embeddedtest.KafkaSASL(t))
	}
	opts := []kgo.Opt{kgo.SeedBrokers(f.child.Brokers...)}
	if access := f.child.SASL; access.Mechanism != "" {
		opts = append(opts, kgo.SASL(scram.Auth{User: access.Username, Pass: access.Password}.AsSha256Mechanism()))
	}
	var err error
	f.group, err = kgo.NewClient(opts...)
	require.NoError(t, err)
	t.Cleanup(f.group.Close)
	t.Cleanup(func() {
		f.stopSinks()
		require.NoError(t, f.stack.Close(context.Background()))
	})
	options, err := clickhouse.ParseDSN(f.stack.ClickHouse)
	require.NoError(t, err)
	f.conn, err = clickhouse.Open(options)
	require.NoError(t, err)
	_, err = migrations.ClickHouse(ctx, f.conn, migrations.Deployment{})
	require.NoError(t, err)
	f.producer, err = stream.NewProducer(f.child.stream(), time.Now, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	require.NoError(t, err)

	began := time.Now()
	f.startSink()
	f.startSink()
	plan := victims(fromEnvironment(t, envFaultKills, 0), f.brokers())
	sending := make(chan error, 1) // one answer
	pace := make(chan struct{}, len(plan))
	go func() { sending <- f.send(ctx, len(plan), pace) }()
	for i, victim := range plan {
		pace <- struct{}{} // another part of the spans may go while this one dies
		f.waitForSent(i * (f.spans / len(plan)))
		f.kill(victim)
		t.Logf("%3d of %d kills (%s) after %s, %d spans sent, %d stored", i+1, len(plan), victim, time.Since(began).Round(time.Second), f.sent.Load(), f.stored())
	}
	close(pace)
	require.NoError(t, <-sending)
	t.Logf("all sent after %s", time.Since(began).Round(time.Second))

	patience := 4*time.Minute + time.Duration(f.spans)*100*time.Microsecond
	require.Eventually(t, func() bool { return f.lag() == 0 }, patience, 200*time.Millisecond, "the sinks catch up")
	t.Logf("caught up after %s, kills %v", time.Since(began).Round(time.Second), f.kills)
	f.check()
}

// fromEnvironment is a number of the environment, or what stands in for it.
func fromEnvironment(t *testing.T, name string, otherwise int) int {
	t.Helper()
	given := os.Getenv(name)
	if given == "" {
		return otherwise
	}
	n, err := strconv.Atoi(given)
	require.NoError(t, err, name)
	require.Positive(t, n, name)
	return n
}

// brokers is how many of five kills of the store a broker dies beside: an embedded one is
// there again at once, another after seconds, and one whose process is not known does not die.
func (f *faults) brokers() int {
	switch {
	case len(f.stack.Kafka) > 0:
		return 5
	case f.pidFile != "":
		return 1
	default:
		return 0
	}
}

// victims is who is killed, in order; "stack" is an orderly restart, and no
// kill. Without a number it is the sinks first, twenty times; then the store
// twenty times, the broker beside it as often as brokers of five, with a sink
// among them now and then.
func victims(kills, brokers int) (plan []string) {
	if kills > 0 {
		random := rand.New(rand.NewPCG(3, 4))
		who := []string{"sink", embedded.ClickHouse, embedded.Kafka}
		if brokers == 0 {
			who = who[:2]
		}
		engines := 0
		for range kills {
			victim := who[random.IntN(len(who))]
			plan = append(plan, victim)
			if victim == "sink" {
				continue
			}
			if engines++; engines%faultRest == 0 {
				plan = append(plan, "stack")
			}
		}
		return plan
	}
	for range 20 {
		plan = append(plan, "sink")
	}
	for range 4 {
		for n := range 5 {
			if n < brokers {
				plan = append(plan, embedded.Kafka)
			}
			plan = append(plan, embedded.ClickHouse)
		}
		plan = append(plan, "sink", "stack")
	}
	return plan
}

// startStack starts the store, and a broker where none is given.
func (f *faults) startStack() error {
	engines := []string{embedded.ClickHouse}
	if os.Getenv(embeddedtest.EnvKafka) == "" {
		engines = append(engines, embedded.Kafka)
	}
	stack, err := embedded.Start(f.ctx, embedded.Config{Dir: f.dir, Only: engines})
	if err == nil {
		f.stack = stack
	}
	return err
}

// pid is the process of an engine, 0 while there is none.
func (f *faults) pid(engine string) int {
	if engine != embedded.Kafka || len(f.stack.Kafka) > 0 {
		return f.stack.PID(engine)
	}
	raw, err := os.ReadFile(f.pidFile)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(string(raw))
	if err != nil {
		return 0
	}
	return pid
}

// send publishes all spans, a part for each kill.
func (f *faults) send(ctx context.Context, parts int, pace <-chan struct{}) error {
	records := f.spans / faultPerRecord
	random := rand.New(rand.NewPCG(1, 2))
	chunk := 100
	for from := 0; from < records; from += chunk {
		if from%(records/parts) < chunk { // once a part
			<-pace
		}
		var batch []stream.Record
		for i := from; i < min(from+chunk, records); i++ {
			r, err := f.record(uint64(i))
			if err != nil {
				return err
			}
			batch = append(batch, r)
			if random.IntN(faultRetries) == 0 {
				r.ReceivedAt = r.ReceivedAt.Add(time.Millisecond)
				batch = append(batch, r)
			}
		}
		for { // a client sends again what was not acknowledged
			_, err := f.producer.Publish(ctx, batch)
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				return err
			}
			for i := range batch {
				batch[i].ReceivedAt = time.Now().UTC()
			}
		}
		f.sent.Add(int64(min(chunk, records-from) * faultPerRecord))
	}
	return nil
}

// record makes one record and adds its spans to what is expected.
func (f *faults) record(n uint64) (stream.Record, error) {
	now := time.Now().UTC()
	r := stream.Record{Project: f.project, User: uuid.UUID(f.project), Source: "otlp", Operation: stream.Upsert, ReceivedAt: now}
	binary.BigEndian.PutUint64(r.Trace[:], n*0x9e3779b97f4a7c15)
	binary.BigEndian.PutUint64(r.Trace[8:], n+1)
	scope := &tracepb.ScopeSpans{}
	for i := range faultPerRecord {
		var id trace.SpanID
		binary.BigEndian.PutUint64(id[:], n*faultPerRecord+uint64(i)+1)
		s := &tracepb.Span{
			TraceId: r.Trace[:], SpanId: id[:], Name: fmt.Sprintf("span %d.%d", n, i),
			StartTimeUnixNano: uint64(now.UnixNano()), EndTimeUnixNano: uint64(now.UnixNano()) + 1e6,
			Attributes: []*commonpb.KeyValue{
				{Key: "ag.data.outputs", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: fmt.Sprintf("output %d of %d, which is long enough to be some text", i, n)}}},
				{Key: "ag.type.span", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: "chat"}}},
				{Key: "ag.metrics.unit.tokens.total", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: 1}}},
			},
		}
		if i > 0 {
			parent := make([]byte, 8)
			binary.BigEndian.PutUint64(parent, n*faultPerRecord+1)
			s.ParentSpanId = parent
		}
		f.sum += xxhash.Sum64(append(append([]byte{}, r.Trace[:]...), id[:]...))
		f.names += xxhash.Sum64String(s.Name)
		scope.Spans = append(scope.Spans, s)
	}
	var err error
	r.Value, err = proto.Marshal(&tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{scope}}}})
	return r, err
}

// startSink starts one more sink process.
func (f *faults) startSink() {
	f.began++
	child := f.child
	child.Name = fmt.Sprintf("sink-%d", f.began)
	raw, err := json.Marshal(child)
	require.NoError(f, err)
	executable, err := os.Executable()
	require.NoError(f, err)
	c := exec.Command(executable)
	c.Env = append(os.Environ(), faultsVariable+"="+string(raw))
	if testing.Verbose() {
		c.Stderr = os.Stderr
	}
	require.NoError(f, c.Start())
	f.sinks[child.Name] = c
}

// kill kills one part once something has become visible since the last kill, and brings it back.
func (f *faults) kill(victim string) {
	f.kills[victim]++
	f.waitForWork()
	if victim == "stack" {
		// An orderly stop and start on the same data: the supervisor, which
		// gives an engine up that keeps dying, begins to count anew.
		require.NoError(f, f.stack.Close(f.ctx))
		require.NoError(f, f.startStack())
		return
	}
	if victim == "sink" {
		for name, c := range f.sinks { // any of them
			require.NoError(f, c.Process.Kill())
			_ = c.Wait() // it was killed
			delete(f.sinks, name)
			f.leave(name)
			break
		}
		f.startSink()
		return
	}
	old := 0 // which would be this process itself
	require.Eventually(f, func() bool { old = f.pid(victim); return old != 0 }, 2*time.Minute, 5*time.Millisecond)
	require.NoError(f, syscall.Kill(old, syscall.SIGKILL))
	require.Eventually(f, func() bool { pid := f.pid(victim); return pid != 0 && pid != old }, 2*time.Minute, 5*time.Millisecond)
}

// leave takes a dead sink out of the group, as its session's end would some seconds later.
func (f *faults) leave(name string) {
	var described kadm.DescribedGroups
	require.Eventually(f, func() (there bool) { // a broker that was killed before may still be starting
		var err error
		described, err = kadm.NewClient(f.group).DescribeGroups(f.Context(), f.child.Topic)
		return err == nil && described.Error() == nil
	}, 2*time.Minute, 50*time.Millisecond)
	for _, member := range described[f.child.Topic].Members {
		if member.ClientID != name {
			continue
		}
		request := kmsg.NewPtrLeaveGroupRequest()
		request.Group = f.child.Topic
		m := kmsg.NewLeaveGroupRequestMember()
		m.MemberID = member.MemberID
		request.Members = append(request.Members, m)
		_, err := request.RequestWith(f.Context(), f.group)
		require.NoError(f, err)
	}
}

// waitForWork waits until the sinks have moved on a little, at a moment of chance.
func (f *faults) waitForWork() {
	before, deadline := f.stored(), time.Now().Add(10*time.Second)
	for f.stored() <= before && time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond)
	}
	time.Sleep(rand.N(300 * time.Millisecond)) // between any two steps of a batch
}

// waitForSent waits until so many spans are sent, or nothing more was for long:
// then the test goes on and tells what is lost.
func (f *faults) waitForSent(n int) {
	const long = 2 * time.Minute
	for last, since := int64(-1), time.Now(); f.sent.Load() < int64(n) && time.Since(since) < long; time.Sleep(20 * time.Millisecond) {
		if sent := f.sent.Load(); sent != last {
			last, since = sent, time.Now()
		}
	}
}

// stored is the number of rows there, 0 while the store is away.
func (f *faults) stored() (n uint64) {
	ctx, cancel := context.WithTimeout(f.Context(), 2*time.Second)
	defer cancel()
	_ = f.conn.QueryRow(ctx, "SELECT count() FROM spans").Scan(&n)
	return n
}

// lag is how much of what was sent no progress covers.
func (f *faults) lag() int64 {
	member, err := consumer.New(f.child.stream(), time.Now, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	require.NoError(f, err)
	defer func() { require.NoError(f, member.Close()) }()
	lag, err := member.Lag(f.Context())
	if err != nil {
		return 1
	}
	var sum int64
	for _, n := range lag {
		sum += n
	}
	return sum
}

// check compares the store with what was sent: raw rows, nothing hidden by a merge.
func (f *faults) check() {
	var rows, distinct, sum, names, payloads uint64
	var tokens float64
	require.NoError(f, f.conn.QueryRow(f.Context(), "SELECT count(), uniqExact(trace_id, span_id), sum(sort_hash), sum(xxHash64(span_name)), sum(tokens_total) FROM spans").Scan(&rows, &distinct, &sum, &names, &tokens))
	spans := uint64(f.spans)
	require.Equal(f, spans, distinct, "lost spans")
	if rows != spans {
		require.Equal(f, spans, rows, "duplicates: %s", f.twice())
	}
	require.Equal(f, f.sum, sum, "ids")
	require.Equal(f, f.names, names, "content")
	require.InDelta(f, float64(spans), tokens, 0)
	require.NoError(f, f.conn.QueryRow(f.Context(), "SELECT uniqExact(trace_id, span_id) FROM span_payloads WHERE outputs LIKE '\"output %'").Scan(&payloads))
	require.Equal(f, spans, payloads, "payloads")
	var rejects, traces uint64
	require.NoError(f, f.conn.QueryRow(f.Context(), "SELECT count() FROM rejected_spans").Scan(&rejects))
	require.Zero(f, rejects)
	// Every trace is finalized in the end, also those whose sink died in between.
	require.Eventually(f, func() bool {
		_ = f.conn.QueryRow(f.Context(), "SELECT countIf(spans = ? AND tokens_total = ?) FROM trace_totals FINAL", faultPerRecord, faultPerRecord).Scan(&traces)
		return traces == spans/faultPerRecord
	}, 3*time.Minute, 500*time.Millisecond, "finalized")
}

// twice describes rows that are there more than once: of one offset (an insert
// was done twice) or of several (a client's retry was not recognised).
func (f *faults) twice() string {
	var found string
	require.NoError(f, f.conn.QueryRow(f.Context(), `SELECT toString(groupArray(tuple(stream_partition, offsets, spans, first, last, parts))) FROM (
		SELECT stream_partition, offsets, count() AS spans, min(low) AS first, max(high) AS last, arraySort(groupUniqArrayArray(places)) AS parts FROM (
			SELECT stream_partition, trace_id, span_id, uniqExact(version) AS offsets, bitShiftRight(min(version), 20) AS low, bitShiftRight(max(version), 20) AS high, groupArray(_part) AS places
			FROM spans GROUP BY stream_partition, trace_id, span_id HAVING count() > 1)
		GROUP BY stream_partition, offsets)`).Scan(&found))
	return found
}

func (f *faults) stopSinks() {
	for _, c := range f.sinks {
		_ = c.Process.Kill() // it may be gone
		_ = c.Wait()
	}
}
