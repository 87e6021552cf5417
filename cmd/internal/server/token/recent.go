package token

import (
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
)

// A client that does not send the token of its writes back still reads them:
// for a short time the service remembers the last token of each caller and adds
// it to requests that carry none. The memory is this process's; with several
// processes a client that wants to be sure sends the token.
const (
	// recentFor is longer than a write normally takes to become visible.
	recentFor = 10 * time.Second
	// recentCallers bounds the memory; beyond it the oldest are forgotten.
	recentCallers = 4096
)

// caller is who wrote: one key in one project.
type caller struct {
	project domain.ProjectID
	user    uuid.UUID
	key     string
}

func callerOf(r *http.Request) (caller, bool) {
	p := domain.PrincipalFrom(r.Context())
	return caller{p.Project, p.User, p.KeyPrefix}, !p.Project.IsZero()
}

// recent is the memory of writes.
type recent struct {
	mu      sync.Mutex
	now     func() time.Time
	written map[caller]written
}

type written struct {
	token domain.Token
	at    time.Time
}

// recall lends a request the token of its caller's last writes, and says
// nothing where the caller has one of its own.
func (r *recent) recall(c *gin.Context) {
	who, ok := callerOf(c.Request)
	if !ok || c.GetHeader(domain.TokenHeader) != "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if w, ok := r.written[who]; ok && r.now().Sub(w.at) < recentFor {
		c.Request.Header.Set(domain.TokenHeader, w.token.String())
	}
}

// remember keeps the token of the reply to a request.
func (r *recent) remember(request *http.Request, token domain.Token) {
	who, ok := callerOf(request)
	if !ok || len(token) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if w, ok := r.written[who]; ok && now.Sub(w.at) < recentFor {
		for _, p := range w.token {
			token = token.Add(p)
		}
	}
	if len(r.written) >= recentCallers {
		r.forget(now)
	}
	r.written[who] = written{token, now}
}

// forget makes room: what is old goes, and if nothing is, whatever comes first.
func (r *recent) forget(now time.Time) {
	for who, w := range r.written {
		if now.Sub(w.at) >= recentFor {
			delete(r.written, who)
		}
	}
	for who := range r.written {
		if len(r.written) < recentCallers {
			return
		}
		delete(r.written, who)
	}
}
