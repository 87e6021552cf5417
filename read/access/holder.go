package access

import (
	"time"

	"colonnade/domain"
)

// holder is the principal of a key and the digest of its secret. The zero holder stands for
// an unknown key: it matches no secret.
type holder struct {
	digest    []byte
	principal domain.Principal
	expires   *time.Time
}

func (h holder) alive(now time.Time) bool {
	return !h.principal.Project.IsZero() && (h.expires == nil || now.Before(*h.expires))
}

// cached is the holder of a key and the time at which Postgres was asked for it. expirable.LRU
// would need no time, but its goroutine never ends and it does not take the injected clock.
type cached struct {
	holder holder
	asked  time.Time
}
