package consumer_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"colonnade/write/stream"
	"colonnade/write/stream/consumer"
	"colonnade/write/stream/streamtest"
)

// A broker that was restarted forgets who is in the group. A member that is
// joining again at that moment is taken for a new one and keeps its partitions;
// but another may have had them meanwhile. What it had read counts no more.
func TestAForgottenMemberReadsAnewWhereItStands(t *testing.T) {
	t.Parallel()
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	cfg := streamtest.Config(t, c.ListenAddrs()...)
	cfg.Partitions = 1
	_, err = streamtest.Producer(t, cfg).Publish(t.Context(), streamtest.Records(10))
	require.NoError(t, err)

	taken, forgotten := make(chan struct{}), make(chan struct{})
	answers := make(chan error, 1) // of the first worker's commit
	type position struct{ next, first int64 }
	anew := make(chan position, 1)
	var workers atomic.Int64
	r := run(t, newConsumer(t, cfg), func(ctx context.Context, p *consumer.Partition) error {
		if workers.Add(1) == 1 {
			batch, err := p.PollTo(ctx, 4)
			if err != nil {
				return err
			}
			close(taken)
			<-forgotten
			// Beyond the end of ctx, as the worker of a batch under way does.
			answers <- p.Intend(context.WithoutCancel(ctx), stream.Range{First: batch[0].Offset, Last: batch[len(batch)-1].Offset})
			<-ctx.Done()
			return ctx.Err()
		}
		next := p.Next()
		batch, err := p.PollTo(ctx, 9)
		if err != nil {
			return err
		}
		anew <- position{next, batch[0].Offset}
		if err := p.Commit(ctx, 10); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	})
	<-taken

	// The broker makes the member join again. Before it has done so the broker knows it
	// no more, and another has read up to offset 7.
	client, err := kgo.NewClient(kgo.SeedBrokers(cfg.Brokers...))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	adm := kadm.NewClient(client)
	var begun, begins, joined atomic.Bool
	c.ControlKey(int16(kmsg.Heartbeat), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		resp, _ := req.ResponseKind().(*kmsg.HeartbeatResponse)
		resp.ErrorCode = kerr.RebalanceInProgress.Code
		return resp, nil, !joined.Load()
	})
	c.ControlKey(int16(kmsg.JoinGroup), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		join, _ := req.(*kmsg.JoinGroupRequest)
		resp, _ := req.ResponseKind().(*kmsg.JoinGroupResponse)
		if begun.CompareAndSwap(false, true) && join.MemberID != "" {
			resp.ErrorCode = kerr.UnknownMemberID.Code
			return resp, nil, true
		}
		resp.ErrorCode = kerr.CoordinatorLoadInProgress.Code
		return resp, nil, !begins.Load()
	})
	c.ControlKey(int16(kmsg.SyncGroup), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		joined.Store(true)
		return req.ResponseKind(), nil, false
	})
	require.Eventually(t, begun.Load, time.Minute, time.Millisecond)
	described, err := adm.DescribeGroups(t.Context(), cfg.Group)
	require.NoError(t, err)
	leave := kmsg.NewPtrLeaveGroupRequest()
	leave.Group, leave.Version = cfg.Group, leave.MaxVersion()
	for _, m := range described[cfg.Group].Members { // none where its session has ended already
		leave.Members = append(leave.Members, kmsg.LeaveGroupRequestMember{MemberID: m.MemberID})
	}
	_, err = leave.RequestWith(t.Context(), client)
	require.NoError(t, err)
	var at kadm.Offsets
	at.AddOffset(cfg.Topic, 0, 7, -1)
	committed, err := adm.CommitOffsets(t.Context(), cfg.Group, at)
	require.NoError(t, err)
	require.NoError(t, committed.Error())
	begins.Store(true)
	require.Eventually(t, func() bool {
		described, err := adm.DescribeGroups(t.Context(), cfg.Group)
		return err == nil && len(described[cfg.Group].Members) == 1 && described[cfg.Group].State == "Stable"
	}, time.Minute, 10*time.Millisecond)
	close(forgotten)

	require.Error(t, <-answers)
	require.Equal(t, position{7, 7}, <-anew)
	r.stop(t)
}
