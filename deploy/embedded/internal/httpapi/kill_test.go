//go:build embedded

package httpapi

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// While a KILL runs others come to be cancelled. The next one ends all of those that
// still run, and nobody waits for it whose statement has ended by itself.
func TestOneKillForAll(t *testing.T) {
	t.Parallel()
	began, goOn := make(chan string), make(chan struct{})
	var over atomic.Bool
	k := newKiller(func(sql string) {
		began <- sql
		<-goOn
		over.Store(true)
	})
	first := &session{tag: "first"}
	k.want(first)
	require.Equal(t, "KILL QUERY WHERE splitByChar(' ', Settings['log_comment'])[1] IN ('first') ASYNC", <-began)

	var left []*session
	for n := range 100 {
		one := &session{tag: fmt.Sprint("next-", n)}
		k.want(one)
		if n%2 == 0 {
			k.spare(one) // returns, though the KILL that runs does not end before goOn
			continue
		}
		left = append(left, one)
	}
	spared := make(chan bool)
	go func() {
		k.spare(first)
		spared <- over.Load()
	}()
	goOn <- struct{}{}
	require.True(t, <-spared, "the KILL that ran could hit the connection's next statement")

	sql := <-began
	require.NotContains(t, sql, "first")
	require.Equal(t, len(left), strings.Count(sql, "'next-"))
	for _, one := range left {
		require.Contains(t, sql, quote(one.tag))
	}
	goOn <- struct{}{}
	for _, one := range left {
		k.spare(one)
	}
}

// A KILL names a bounded number of statements, and the next ones name the others.
func TestKillsAreBounded(t *testing.T) {
	t.Parallel()
	const statements = 3*killAtOnce + 1
	began := make(chan string)
	k := newKiller(func(sql string) { began <- sql })
	all := make(map[string]*session, statements)
	for n := range statements {
		one := &session{tag: fmt.Sprint("t", n)}
		all[quote(one.tag)] = one
		k.want(one)
	}
	for len(all) > 0 {
		sql := <-began
		_, list, _ := strings.Cut(strings.TrimSuffix(sql, ") ASYNC"), " IN (")
		named := strings.Split(list, ", ")
		require.LessOrEqual(t, len(named), killAtOnce)
		for _, tag := range named {
			k.spare(all[tag])
			delete(all, tag)
		}
	}
}

func TestSpoiledByACancel(t *testing.T) {
	t.Parallel()
	k := newKiller(func(string) {})
	ctx, cancel := context.WithCancel(t.Context())
	cancelled, finished := new(session), new(session)
	k.whenDone(ctx, finished)()
	stop := k.whenDone(ctx, cancelled)
	cancel()
	stop()
	require.True(t, cancelled.spoiled)
	require.False(t, finished.spoiled)
}
