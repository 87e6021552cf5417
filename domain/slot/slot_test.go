package slot_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/slot"
)

// The projects of the tables: a uuid for each letter.
func project(letter byte) domain.ProjectID { return domain.ProjectID(uuid.UUID{letter}) }

func pool(count int) *slot.Pool {
	return slot.New(slot.Config{Count: count, WaitTimeout: 5 * time.Second}, "queries", time.Now)
}

// TestGrants plays arrivals and releases. An upper-case letter arrives with long
// work of that project, a lower-case one with short work; "-x" releases the
// oldest slot of project x. want is the order in which slots were granted.
func TestGrants(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		count int
		play  []string
		want  string
	}{
		{"one slot serves one after the other", 1, []string{"A", "A", "-a", "B", "-a", "-b"}, "AAB"},
		{"two slots keep one for another project", 2, []string{"A", "A", "B"}, "AB"},
		{"one project holds all but a quarter", 8, []string{"A", "A", "A", "A", "A", "A", "A", "A"}, "AAAAAA"},
		{"a project that holds none takes a kept slot", 8, []string{"A", "A", "A", "A", "A", "A", "A", "B", "C"}, "AAAAAABC"},
		{"a second slot of a light project is not a kept one", 8, []string{"A", "A", "A", "A", "A", "A", "B", "B"}, "AAAAAAB"},
		{"short work takes a kept slot, and leaves half of them", 8, []string{"A", "A", "A", "A", "A", "A", "a", "a", "B"}, "AAAAAAaB"},
		{"short work takes the only kept slot", 4, []string{"A", "A", "A", "a", "a"}, "AAAa"},
		{"a free slot goes to the project with the fewest", 8, []string{"A", "A", "A", "A", "A", "A", "A", "B", "B", "-a", "-a"}, "AAAAAABB"},
		{"equal projects are served in the order of arrival", 2, []string{"A", "B", "C", "D", "-a", "-b"}, "ABCD"},
		{"long work that must wait does not hold up short work behind it", 4, []string{"A", "A", "A", "A", "a"}, "AAAa"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := pool(test.count)
				ctx, cancel := context.WithCancel(t.Context())
				var got string
				held := map[byte][]func(){}
				granted := make(chan func())
				for _, step := range test.play {
					if step[0] == '-' {
						held[step[1]][0]()
						held[step[1]] = held[step[1]][1:]
					} else {
						go func() {
							class := slot.Long
							if step[0] >= 'a' {
								class = slot.Short
							}
							if release, err := p.Acquire(ctx, project(step[0]|0x20), class); err == nil {
								granted <- func() { got += step; held[step[0]|0x20] = append(held[step[0]|0x20], release) }
							}
						}()
					}
					for synctest.Wait(); ; synctest.Wait() {
						select {
						case note := <-granted:
							note()
							continue
						default:
						}
						break
					}
				}
				cancel()
				synctest.Wait()
				require.Equal(t, test.want, got)
			})
		})
	}
}

func TestWaitEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := pool(1)
		release, err := p.Acquire(t.Context(), project('a'), slot.Long)
		require.NoError(t, err)
		began := time.Now()
		_, err = p.Acquire(t.Context(), project('b'), slot.Short)
		require.Equal(t, domain.TooMany, domain.KindOf(err), "%v", err)
		require.Equal(t, 5*time.Second, time.Since(began))
		refusal, ok := errors.AsType[*domain.Error](err)
		require.True(t, ok)
		require.Equal(t, time.Second, refusal.RetryAfter)

		ours := errors.New("the request reached its timeout")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, ours)
		defer cancel()
		_, err = p.Acquire(ctx, project('b'), slot.Short)
		require.ErrorIs(t, err, ours, "the cause of the caller's context is the error")
		require.Equal(t, uint64(1), p.Stats().Refused)
		require.Zero(t, p.Stats().Waiting)

		release()
		release() // a second call gives nothing back
		require.Zero(t, p.Stats().InUse)
		_, ok = p.TryAcquire(project('b'))
		require.True(t, ok)
		_, ok = p.TryAcquire(project('c'))
		require.False(t, ok)
	})
}

// TestRandomWork lets projects of random appetite work for a while and checks at
// each step what must hold.
func TestRandomWork(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			count := 1 + random.IntN(12)
			p := pool(count)
			for range 60 {
				who, class := project(byte(random.IntN(5))), slot.Class(1+random.IntN(2))
				takes, arrives := time.Duration(random.IntN(3000))*time.Millisecond, time.Duration(random.IntN(4000))*time.Millisecond
				leaves := random.IntN(8) == 0
				go func() {
					time.Sleep(arrives)
					ctx, cancel := context.WithCancel(context.Background())
					defer cancel()
					if leaves {
						time.AfterFunc(takes/2, cancel)
					}
					release, err := p.Acquire(ctx, who, class)
					if err != nil {
						return
					}
					time.Sleep(takes)
					release()
				}()
			}
			for range 400 {
				time.Sleep(50 * time.Millisecond)
				synctest.Wait()
				held, more := p.Held()
				s := p.Stats()
				sum := 0
				for _, n := range held {
					require.Positive(t, n)
					sum += n
				}
				require.Equal(t, sum, s.InUse)
				require.LessOrEqual(t, s.InUse, count)
				require.False(t, more && s.Waiting > 0, "somebody waits although any work may take a slot")
				if s.Waiting > 0 && count > 1 {
					require.GreaterOrEqual(t, s.InUse, count-max(1, count/4), "somebody waits although only kept slots should be free")
				}
			}
			require.Zero(t, p.Stats().InUse)
			require.Zero(t, p.Stats().Waiting)
		})
	}
}

// TestNoProjectStarves floods the pool with one project and checks that the
// statements of another one run as if the first held its share alone.
func TestNoProjectStarves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := pool(8)
		ctx, stop := context.WithCancel(context.Background())
		for range 64 {
			go func() {
				for ctx.Err() == nil {
					if release, err := p.Acquire(ctx, project('h'), slot.Short); err == nil {
						time.Sleep(700 * time.Millisecond)
						release()
					}
				}
			}()
		}
		var waits []time.Duration
		for range 50 {
			time.Sleep(130 * time.Millisecond)
			began := time.Now()
			release, err := p.Acquire(ctx, project('l'), slot.Short)
			require.NoError(t, err)
			waits = append(waits, time.Since(began))
			time.Sleep(10 * time.Millisecond)
			release()
		}
		require.Zero(t, slices.Max(waits), "a light project never waits for a heavy one")
		stop()
		synctest.Wait()
		time.Sleep(time.Second)
		require.Zero(t, p.Stats().InUse)
	})
}

// A project takes no more slots than its limit allows at the time, and waiters take the
// others when the limit rises.
func TestLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := pool(8)
		most := 1
		p.Limit(func(domain.ProjectID) int { return most })
		release, err := p.Acquire(t.Context(), project('a'), slot.Long)
		require.NoError(t, err)
		_, err = p.Acquire(t.Context(), project('a'), slot.Short)
		require.Equal(t, domain.TooMany, domain.KindOf(err))
		require.EqualError(t, err, "At most 1 queries of this project run at a time here, and none of them ended within 5s. Send fewer requests at once, or try again in a second.")
		_, err = p.Acquire(t.Context(), project('b'), slot.Long)
		require.NoError(t, err)

		granted := make(chan error, 1) // the one answer
		go func() {
			_, err := p.Acquire(t.Context(), project('a'), slot.Long)
			granted <- err
		}()
		synctest.Wait()
		require.Equal(t, map[domain.ProjectID]int{project('a'): 2, project('b'): 1}, p.Demand())
		most = 2
		p.Recheck()
		require.NoError(t, <-granted)
		release()
	})
}
