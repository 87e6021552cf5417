//go:build embedded

package httpapi

import (
	"context"
	"strings"
	"sync"
	"time"
)

// killer ends the statements of clients that have gone. The engine lets nobody
// choose a query id, so a statement is found by the tag of its connection, with
// which its log_comment begins.
//
// One KILL ends all that are to end by then. With one for each, which takes the
// engine milliseconds on the one connection that there is for it, statements that
// were cancelled by the hundred waited for their turn for ten seconds, and kept
// their memory and their tables for as long.
type killer struct {
	exec func(sql string) // runs a statement on the control connection, one at a time

	mu      sync.Mutex
	wanted  map[*session]struct{} // are to end
	aimed   map[*session]struct{} // those that the KILL which runs may hit
	passed  *sync.Cond            // aimed is empty again
	running bool                  // run does
}

// killEvery is how long after a KILL the next one follows where something is still to
// end: it may not have been listed yet.
const killEvery = 50 * time.Millisecond

// killAtOnce bounds the length of a KILL.
const killAtOnce = 500

func newKiller(exec func(sql string)) *killer {
	k := &killer{exec: exec, wanted: make(map[*session]struct{})}
	k.passed = sync.NewCond(&k.mu)
	return k
}

// whenDone ends the session's statement when ctx ends before stop is called. The
// connection is spoiled then.
func (k *killer) whenDone(ctx context.Context, s *session) (stop func()) {
	asked := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer close(asked)
		k.want(s)
	})
	return func() {
		if cancel() {
			return
		}
		<-asked
		k.spare(s)
		s.spoiled = true
	}
}

// want has the session's statement end, until it is spared.
func (k *killer) want(s *session) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.wanted[s] = struct{}{}
	if !k.running {
		k.running = true
		go k.run()
	}
}

// spare returns when no KILL can hit the session any more: a late one must not hit
// the next statement of a client's named session.
func (k *killer) spare(s *session) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.wanted, s)
	for {
		if _, is := k.aimed[s]; !is {
			return
		}
		k.passed.Wait()
	}
}

// run kills as long as something is to end.
func (k *killer) run() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.wanted) > 0 {
		k.aimed = make(map[*session]struct{}, min(len(k.wanted), killAtOnce))
		tags := make([]string, 0, min(len(k.wanted), killAtOnce))
		for s := range k.wanted { // in any order, so that none is left out for ever
			if len(tags) == killAtOnce {
				break
			}
			k.aimed[s] = struct{}{}
			tags = append(tags, s.tag)
		}
		k.mu.Unlock()
		k.kill(tags)
		k.mu.Lock()
		k.aimed = nil
		k.passed.Broadcast()
		k.mu.Unlock()
		time.Sleep(killEvery)
		k.mu.Lock()
	}
	k.running = false
}

// kill ends what runs under the tags now.
func (k *killer) kill(tags []string) {
	quoted := make([]string, len(tags))
	for i, tag := range tags {
		quoted[i] = quote(tag)
	}
	k.exec("KILL QUERY WHERE splitByChar(' ', Settings['log_comment'])[1] IN (" + strings.Join(quoted, ", ") + ") ASYNC")
}
