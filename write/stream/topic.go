package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The topic settings this package creates or reads.
const (
	settingMaxMessage = "max.message.bytes"
	settingRetention  = "retention.ms"
	settingInSync     = "min.insync.replicas"
)

// manyReplicas is the replication factor from which on a record is acknowledged by two
// brokers at least: one of the others may be away, and writing goes on. Kafka's own
// default is one, which may be the only one that has the record.
const manyReplicas = 3

// retryPause is the pause before an unreachable broker is asked again.
const retryPause = time.Second

// limits are the largest messages that the topic and its dead-letter topic accept, in bytes.
type limits struct{ main, dead int }

// Topics are the topics as the broker has them.
type Topics struct {
	limits
	// mainID and deadID are the broker's ids of the topics: a topic that is deleted and
	// created again has another one. Zero where the broker has none.
	mainID, deadID [16]byte
}

// EnsureTopics creates the topic and its dead-letter topic where they are missing, and
// returns their ids and limits, at most those that are configured. Topics that exist are
// left as they are, because they belong to the operator.
func EnsureTopics(ctx context.Context, cl *kgo.Client, cfg Config, log *slog.Logger) (Topics, error) {
	wanted := limits{main: cfg.MaxRecordBytes + envelopeBytes, dead: cfg.MaxRecordBytes + 2*envelopeBytes}
	main, err := ensureTopic(ctx, cl, cfg, cfg.Topic, cfg.Partitions, cfg.Retention, wanted.main)
	if err != nil {
		return Topics{}, err
	}
	// A dead-lettered record has its reason beside all that it had before.
	dead, err := ensureTopic(ctx, cl, cfg, cfg.DeadTopic(), 1, cfg.DeadLetterRetention, wanted.dead)
	if err != nil {
		return Topics{}, err
	}
	f := Topics{limits: limits{main: main.limit, dead: dead.limit}, mainID: main.id, deadID: dead.id}
	if main.replicas >= manyReplicas && main.inSync < 2 {
		log.WarnContext(ctx, "one broker alone may acknowledge a record: set min.insync.replicas of the topic to 2",
			slog.String("topic", cfg.Topic), slog.Int("replicas", main.replicas), slog.Int("min_insync_replicas", main.inSync))
	}
	if f.main < wanted.main || f.dead < wanted.dead {
		log.WarnContext(ctx, "topics accept smaller records than configured, larger ones are refused", slog.Int("max_message_bytes", f.main),
			slog.Int("dead_max_message_bytes", f.dead), slog.Int("configured_bytes", cfg.MaxRecordBytes))
	}
	f.limits = limits{main: min(f.main, f.dead, wanted.main), dead: min(f.dead, wanted.dead)}
	return f, nil
}

// BatchBytes returns the largest batch of a topic, which may be a single record.
func (l limits) BatchBytes(cfg Config) func(topic string) int32 {
	return func(topic string) int32 {
		if topic == cfg.DeadTopic() {
			return int32(l.dead) //nolint:gosec // Validate bounds it by 1 GiB
		}
		return int32(l.main) //nolint:gosec // Validate bounds it by 1 GiB
	}
}

// topicState is a topic as the broker has it.
type topicState struct {
	// id is the broker's, zero where it gives none.
	id [16]byte
	// limit is the largest message it takes; replicas how many brokers hold a record of
	// it, and inSync how many of them at least when it is acknowledged.
	limit, replicas, inSync int
}

// ensureTopic creates a topic where it is missing and returns its state.
func ensureTopic(ctx context.Context, cl *kgo.Client, cfg Config, topic string, partitions int32, retention time.Duration, limit int) (topicState, error) {
	there, err := DescribeTopic(ctx, cl, topic)
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		there, err = createTopic(ctx, cl, cfg, topic, partitions, retention, limit)
	}
	if err != nil {
		return topicState{}, err
	}
	s := topicState{id: there.TopicID}
	if len(there.Partitions) > 0 {
		s.replicas = len(there.Partitions[0].Replicas)
	}
	return s, s.readSettings(ctx, kadm.NewClient(cl), topic)
}

// createTopic creates a topic and waits until the brokers agree that it exists.
func createTopic(ctx context.Context, cl *kgo.Client, cfg Config, topic string, partitions int32, retention time.Duration, limit int) (kmsg.MetadataResponseTopic, error) {
	settings := map[string]*string{settingMaxMessage: new(strconv.Itoa(limit))}
	if retention > 0 {
		settings[settingRetention] = new(strconv.FormatInt(retention.Milliseconds(), 10))
	}
	if cfg.ReplicationFactor >= manyReplicas {
		settings[settingInSync] = new("2")
	}
	_, err := kadm.NewClient(cl).CreateTopic(ctx, partitions, cfg.ReplicationFactor, settings, topic)
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) { // another process may be faster
		return kmsg.MetadataResponseTopic{}, fmt.Errorf("stream: create topic %s: %w", topic, err)
	}
	return appears(ctx, cl, topic)
}

// appears waits until the brokers agree that a created topic is there.
func appears(ctx context.Context, cl *kgo.Client, topic string) (kmsg.MetadataResponseTopic, error) {
	for {
		t, err := ready(ctx, cl, topic)
		if err == nil || !kerr.IsRetriable(err) {
			return t, err
		}
		select {
		case <-time.After(retryPause / 20):
		case <-ctx.Done():
			return t, err
		}
	}
}

// readSettings asks how large a batch the topic takes and how many brokers have it then.
// A broker that does not answer the question (or does not permit it) is held to Kafka's
// default for the first, and believed to be well set for the second.
func (s *topicState) readSettings(ctx context.Context, adm *kadm.Client, topic string) error {
	const kafkaDefault = 1048588
	s.limit, s.inSync = kafkaDefault, s.replicas
	all, err := adm.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return fmt.Errorf("stream: describe settings of topic %s: %w", topic, err)
	}
	config, err := all.On(topic, nil)
	if err != nil || config.Err != nil {
		return nil //nolint:nilerr // no permission to look is no reason not to produce
	}
	for _, setting := range config.Configs {
		n, err := strconv.Atoi(setting.MaybeValue())
		switch {
		case err != nil:
		case setting.Key == settingMaxMessage:
			s.limit = n
		case setting.Key == settingInSync:
			s.inSync = n
		}
	}
	return nil
}

// DescribeTopic asks the broker for a topic and its partitions: the client's own list may
// still lack a topic that was just created. The error wraps kerr.UnknownTopicOrPartition for
// a topic that does not exist.
func DescribeTopic(ctx context.Context, cl *kgo.Client, topic string) (kmsg.MetadataResponseTopic, error) {
	req := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = &topic
	req.Topics = []kmsg.MetadataRequestTopic{t}
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return kmsg.MetadataResponseTopic{}, fmt.Errorf("stream: describe topic %s: %w", topic, err)
	}
	if len(resp.Topics) != 1 {
		return kmsg.MetadataResponseTopic{}, fmt.Errorf("stream: describe topic %s: %d answers", topic, len(resp.Topics))
	}
	if err := kerr.ErrorForCode(resp.Topics[0].ErrorCode); err != nil {
		return kmsg.MetadataResponseTopic{}, fmt.Errorf("stream: topic %s: %w", topic, err)
	}
	return resp.Topics[0], nil
}

// ready describes the topic; a partition without a leader is an error.
func ready(ctx context.Context, cl *kgo.Client, topic string) (kmsg.MetadataResponseTopic, error) {
	t, err := DescribeTopic(ctx, cl, topic)
	if err != nil {
		return t, err
	}
	for _, p := range t.Partitions {
		if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
			return t, fmt.Errorf("stream: topic %s partition %d: %w", topic, p.Partition, err)
		}
	}
	return t, nil
}

// Committed returns the offset that a group has committed of each partition that has one. It
// waits for transactions that are ending, because a broker may report the end of a
// transaction before its commits are visible.
func Committed(ctx context.Context, cl *kgo.Client, group, topic string, partitions []int32) (map[int32]int64, error) {
	t, err := DescribeTopic(ctx, cl, topic)
	if err != nil {
		return nil, err
	}
	for {
		offsets, err := committedNow(ctx, cl, group, t, partitions)
		if !errors.Is(err, kerr.UnstableOffsetCommit) {
			return offsets, err
		}
		select {
		case <-time.After(retryPause / 10):
		case <-ctx.Done():
			return nil, err
		}
	}
}

func committedNow(ctx context.Context, cl *kgo.Client, group string, t kmsg.MetadataResponseTopic, partitions []int32) (map[int32]int64, error) {
	rt := kmsg.NewOffsetFetchRequestGroupTopic()
	rt.Topic, rt.TopicID, rt.Partitions = *t.Topic, t.TopicID, partitions
	rg := kmsg.NewOffsetFetchRequestGroup()
	rg.Group, rg.Topics = group, []kmsg.OffsetFetchRequestGroupTopic{rt}
	req := kmsg.NewPtrOffsetFetchRequest()
	req.RequireStable, req.Groups = true, []kmsg.OffsetFetchRequestGroup{rg}
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return nil, fmt.Errorf("stream: fetch commits of group %s: %w", group, err)
	}
	offsets := make(map[int32]int64)
	for _, g := range resp.Groups {
		if err := kerr.ErrorForCode(g.ErrorCode); errors.Is(err, kerr.GroupIDNotFound) {
			return offsets, nil // never committed
		} else if err != nil {
			return nil, fmt.Errorf("stream: fetch commits of group %s: %w", group, err)
		}
		for _, topic := range g.Topics {
			for _, p := range topic.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					return nil, fmt.Errorf("stream: fetch commit of group %s, partition %d: %w", group, p.Partition, err)
				}
				if p.Offset >= 0 {
					offsets[p.Partition] = p.Offset
				}
			}
		}
	}
	return offsets, nil
}
