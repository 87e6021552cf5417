//go:build embedded

package httpapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"colonnade/deploy/embedded/internal/chdb"
)

// session is one connection of the engine and what was set on it.
type session struct {
	conn     *chdb.Conn
	tag      string // no other's; its log_comment is the tag, and what the client sent
	database string
	settings map[string]string
	spoiled  bool // not fit for another request
	failed   bool // its last statement
}

// pool keeps connections between requests. A request gets a connection that
// has its settings already, or any other and the difference is set.
type pool struct {
	lib  *chdb.Library
	path string // the data directory, which every connection must name

	mu     sync.Mutex
	idle   []*session
	busy   map[*session]struct{}
	serial int
	closed bool

	killer  *killer
	control sync.Mutex // guards boot
	boot    *chdb.Conn // the first connection, on which statements are killed; nil at the end
}

// maxIdle bounds the connections that wait; each costs some 100 KB.
const maxIdle = 16

func newPool(lib *chdb.Library, path string, boot *chdb.Conn) *pool {
	p := &pool{lib: lib, path: path, boot: boot, busy: make(map[*session]struct{})}
	p.killer = newKiller(p.onBoot)
	return p
}

// onBoot runs a statement whose result nobody needs.
func (p *pool) onBoot(sql string) {
	p.control.Lock()
	defer p.control.Unlock()
	if p.boot != nil {
		p.boot.Query(sql, "Null", nil).Destroy()
	}
}

// open yields a fresh connection.
func (p *pool) open() (*session, error) {
	conn, err := p.lib.Connect("--path=" + p.path)
	if err != nil {
		return nil, raise(codeNetwork, "NETWORK_ERROR", "%v", err)
	}
	p.mu.Lock()
	p.serial++
	s := &session{conn: conn, tag: fmt.Sprintf("colonnade-%d", p.serial), database: "default", settings: map[string]string{}}
	p.mu.Unlock()
	// The library is set up as a command line: expressions stand for a SELECT, addresses of code can be read. A server is not.
	if err := s.set([]string{"log_comment=" + quote(s.tag), "implicit_select=0", "allow_introspection_functions=0"}); err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}

// take yields a connection on which the database and the settings are in force.
func (p *pool) take(database string, settings map[string]string) (*session, error) {
	s := p.pick(database, settings)
	if s == nil {
		var err error
		if s, err = p.open(); err != nil {
			return nil, err
		}
	}
	if err := s.apply(database, settings); err != nil {
		s.conn.Close()
		return nil, err
	}
	p.mark(s)
	return s, nil
}

func (p *pool) pick(database string, settings map[string]string) *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	best := len(p.idle) - 1
	for i, s := range slices.Backward(p.idle) {
		if s.database == database && maps.Equal(s.settings, settings) {
			best = i
			break
		}
	}
	s := p.idle[best]
	p.idle = slices.Delete(p.idle, best, best+1)
	return s
}

func (p *pool) mark(s *session) {
	p.mu.Lock()
	p.busy[s] = struct{}{}
	p.mu.Unlock()
}

// release marks the end of a statement on a connection that is not pooled.
func (p *pool) release(s *session) {
	p.mu.Lock()
	delete(p.busy, s)
	p.mu.Unlock()
}

// give takes a connection back, or closes it when it is no longer as it should be.
func (p *pool) give(s *session) {
	p.mu.Lock()
	delete(p.busy, s)
	keep := !s.spoiled && !s.failed && !p.closed && len(p.idle) < maxIdle
	if keep {
		p.idle = append(p.idle, s)
	}
	p.mu.Unlock()
	if !keep {
		s.conn.Close()
	}
}

// close kills what runs and closes what waits.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = nil
	tags := make([]string, 0, len(p.busy))
	for s := range p.busy {
		tags = append(tags, s.tag)
	}
	p.mu.Unlock()
	for some := range slices.Chunk(tags, killAtOnce) {
		p.killer.kill(some)
	}
	for _, s := range idle {
		s.conn.Close()
	}
}

// shut closes the control connection, the last one.
func (p *pool) shut() {
	p.control.Lock()
	defer p.control.Unlock()
	p.boot.Close()
	p.boot = nil
}

// apply brings the connection from what was set before to what is wanted now,
// in at most two statements. readonly goes last, since nothing can be set after it.
func (s *session) apply(database string, settings map[string]string) error {
	if s.database != database {
		if err := s.exec("USE " + ident(database)); err != nil {
			return err
		}
		s.database = database
	}
	var assign []string
	for name := range s.settings {
		if _, wanted := settings[name]; !wanted {
			if name == "log_comment" {
				assign = append(assign, "log_comment="+quote(s.tag))
				continue
			}
			assign = append(assign, name+"=DEFAULT")
		}
	}
	readonly := ""
	for name, value := range settings {
		if old, is := s.settings[name]; is && old == value {
			continue
		}
		if !isSettingName(name) {
			return raise(codeUnknownSetting, "UNKNOWN_SETTING", "Setting %q is neither a builtin setting nor started with the prefix 'SQL_'", name)
		}
		switch name {
		case "readonly":
			readonly = value
			continue
		case "log_comment":
			value = s.tag + " " + value
		default:
		}
		assign = append(assign, name+"="+quote(value))
	}
	slices.Sort(assign)
	if len(assign) > 0 {
		if err := s.set(assign); err != nil {
			return err
		}
	}
	if readonly != "" && readonly != "0" {
		s.spoiled = true // it cannot be unset
		if err := s.set([]string{"readonly=" + quote(readonly)}); err != nil {
			return err
		}
	}
	s.settings = settings
	return nil
}

func (s *session) set(assign []string) error {
	return s.exec("SET " + strings.Join(assign, ", "))
}

func (s *session) exec(sql string) error { return exec(s.conn, sql) }

func exec(conn *chdb.Conn, sql string) error {
	r := conn.Query(sql, "Null", nil)
	defer r.Destroy()
	if text := r.Err(); text != "" {
		return exception(text)
	}
	return nil
}

func isSettingName(name string) bool {
	for i := range len(name) {
		if name[i] >= 0x80 || !isWordByte(name[i]) && name[i] != '.' {
			return false
		}
	}
	return name != ""
}

func quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

func ident(s string) string {
	return "`" + strings.NewReplacer(`\`, `\\`, "`", "\\`").Replace(s) + "`"
}
