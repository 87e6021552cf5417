package access

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// storeUsesEvery is how far the stored time of a key's last use may lag behind.
const storeUsesEvery = time.Minute

// uses has the time of the last use of each key that was used since it was stored.
type uses struct {
	mu sync.Mutex // guards at
	at map[string]time.Time
}

func (u *uses) note(prefix string, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.at == nil {
		u.at = map[string]time.Time{}
	}
	u.at[prefix] = now
}

func (u *uses) take() map[string]time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	taken := u.at
	u.at = nil
	return taken
}

// Run stores when keys were last used, once a minute and when ctx ends, so that no request
// waits for it. A failure loses times of uses, which the next use of the key mends.
func (a *Access) Run(ctx context.Context, log *slog.Logger) error {
	if a.deps.Used == nil {
		return nil
	}
	ticker := time.NewTicker(storeUsesEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			a.storeUses(context.WithoutCancel(ctx), log)
			return nil
		case <-ticker.C:
			a.storeUses(ctx, log)
		}
	}
}

func (a *Access) storeUses(ctx context.Context, log *slog.Logger) {
	used := a.used.take()
	if len(used) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, a.cfg.LookupTimeout)
	defer cancel()
	if err := a.deps.Used(ctx, used); err != nil {
		log.WarnContext(ctx, "storing the last use of keys failed, their lists show an earlier one", slog.Any("error", err))
	}
}
