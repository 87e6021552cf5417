//go:build embedded

package httpapi

import (
	"maps"
	"sync"
	"time"
)

// kept is a client's named session: it lives between requests and serves one at a time.
type kept struct {
	*session
	busy  bool
	timer *time.Timer
}

// sessions holds the named sessions.
type sessions struct {
	mu   sync.Mutex
	byID map[string]*kept
}

// session yields the connection that the request runs on, with its settings in
// force, and what to call after it.
func (d *Server) session(req *request) (*session, func(), error) {
	if req.sessionID == "" {
		s, err := d.pool.take(req.database, req.settings)
		if err != nil {
			return nil, nil, err
		}
		return s, func() { d.pool.give(s) }, nil
	}
	k, err := d.named(req)
	if err != nil {
		return nil, nil, err
	}
	undo, err := k.overlay(req)
	if err != nil {
		d.park(req, k)
		return nil, nil, err
	}
	d.pool.mark(k.session)
	return k.session, func() {
		d.pool.release(k.session)
		undo()
		if k.failed {
			_ = k.exec("SELECT 1") // it is the client's, so it stays; but it lets go
		}
		d.park(req, k)
	}, nil
}

// named finds or opens a client's session and locks it.
func (d *Server) named(req *request) (*kept, error) {
	d.sessions.mu.Lock()
	defer d.sessions.mu.Unlock()
	k, is := d.sessions.byID[req.sessionID]
	if is && k.busy {
		return nil, raise(codeSessionLocked, "SESSION_IS_LOCKED", "Session %s is locked by a concurrent client", req.sessionID)
	}
	if is {
		k.busy = true
		k.timer.Stop()
		return k, nil
	}
	if req.sessionCheck {
		return nil, raise(codeSessionNotFound, "SESSION_NOT_FOUND", "Session %s not found", req.sessionID)
	}
	s, err := d.pool.open()
	if err != nil {
		return nil, err
	}
	k = &kept{session: s, busy: true}
	id := req.sessionID
	k.timer = time.AfterFunc(time.Hour, func() { d.drop(id, k) })
	k.timer.Stop()
	d.sessions.byID[id] = k
	return k, nil
}

// park unlocks the session until its next request or its timeout.
func (d *Server) park(req *request, k *kept) {
	d.sessions.mu.Lock()
	k.busy = false
	k.timer.Reset(req.sessionTimeout)
	d.sessions.mu.Unlock()
	if req.sessionClose {
		d.drop(req.sessionID, k)
	}
}

// drop closes the session unless a request holds it.
func (d *Server) drop(id string, k *kept) {
	d.sessions.mu.Lock()
	gone := !k.busy && d.sessions.byID[id] == k
	if gone {
		delete(d.sessions.byID, id)
		k.timer.Stop()
	}
	d.sessions.mu.Unlock()
	if gone {
		k.conn.Close()
	}
}

func (d *Server) dropAll() {
	d.sessions.mu.Lock()
	all := maps.Clone(d.sessions.byID)
	d.sessions.mu.Unlock()
	for id, k := range all {
		d.drop(id, k)
	}
}

// overlay puts the request's settings on a named session for this one
// statement; undo restores what the client's own SETs had made of them.
func (k *kept) overlay(req *request) (undo func(), err error) {
	if k.database != req.database && req.query.Get("database") != "" {
		if err := k.exec("USE " + ident(req.database)); err != nil {
			return nil, err
		}
		k.database = req.database
	}
	var assign, restore []string
	for name, value := range req.settings {
		if !isSettingName(name) {
			return nil, raise(codeUnknownSetting, "UNKNOWN_SETTING", "Unknown setting %q", name)
		}
		if name == "log_comment" || name == "readonly" {
			continue // the comment finds the statement; readonly could not be undone
		}
		before, changed := k.current(name)
		if changed && before == value {
			continue
		}
		assign = append(assign, name+"="+quote(value))
		if changed {
			restore = append(restore, name+"="+quote(before))
		} else {
			restore = append(restore, name+"=DEFAULT")
		}
	}
	if len(assign) == 0 {
		return func() {}, nil
	}
	if err := k.set(assign); err != nil {
		return nil, err
	}
	return func() { _ = k.set(restore) }, nil // what could be set can be unset
}

// current reads one setting as the session has it.
func (k *kept) current(name string) (value string, changed bool) {
	r := k.conn.Query("SELECT value FROM system.settings WHERE changed AND name="+quote(name), "RawBLOB", nil)
	defer r.Destroy()
	return string(r.Bytes()), r.Err() == "" && len(r.Bytes()) > 0
}
