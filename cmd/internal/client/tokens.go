package client

import (
	"strings"
	"sync"
)

// maxTokens is how many tokens the service takes in one header.
const maxTokens = 16

// Tokens collects the tokens of many writes, which a client cannot read: the service answers
// a write that carries tokens with one for all of them. It is safe for concurrent use.
type Tokens struct {
	mu    sync.Mutex
	known []string
}

// Carry returns tokens for the next write to carry, once there are enough of them; often it is
// empty. Add them again if the write fails.
func (t *Tokens) Carry() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.known) < maxTokens {
		return ""
	}
	carried := strings.Join(t.known[:maxTokens], ",")
	t.known = append([]string{}, t.known[maxTokens:]...)
	return carried
}

// Add adds the token of a reply, or several joined by commas.
func (t *Tokens) Add(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for one := range strings.SplitSeq(token, ",") {
		if one != "" {
			t.known = append(t.known, one)
		}
	}
}

// All returns headers that together wait for all writes.
func (t *Tokens) All() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []string
	for at := 0; at < len(t.known); at += maxTokens {
		all = append(all, strings.Join(t.known[at:min(at+maxTokens, len(t.known))], ","))
	}
	return all
}
