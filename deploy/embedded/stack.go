//go:build embedded

package embedded

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"colonnade/deploy/embedded/internal/broker"
	"colonnade/deploy/embedded/internal/pgserver"
	"colonnade/deploy/embedded/internal/supervise"
)

// children are the engines' processes and what is held for them.
type children struct {
	c    Config
	lock *os.File

	mu        sync.Mutex
	processes map[string]*supervise.Process
	listeners []net.Listener
	files     []*os.File

	watching sync.WaitGroup
	done     chan struct{} // closed when one child has ended for good
	err      error         // why; set before done is closed
}

// child dispatches the subcommands.
func child(args []string) (bool, int) {
	if len(args) != 1 {
		return false, 0
	}
	switch args[0] {
	case "embedded-" + Kafka:
		return true, supervise.Serve(broker.Run)
	case "embedded-" + ClickHouse:
		return true, supervise.Serve(runClickHouse)
	case "embedded-" + Postgres:
		return true, supervise.Serve(pgserver.Run)
	default:
		return false, 0
	}
}

func start(ctx context.Context, c Config) (*Stack, error) {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	c.Dir = dir
	if err := makeDir(c.Dir); err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	lock, err := supervise.Lock(ctx, filepath.Join(c.Dir, "lock"), 2*time.Second)
	if errors.Is(err, supervise.ErrLocked) {
		return nil, fmt.Errorf("embedded: the data directory %s is in use by another process", c.Dir)
	}
	if err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	if slices.Contains(c.Only, ClickHouse) {
		// Before anything starts, so that a missing engine is the only thing that is reported.
		if _, err := c.enginesDir(); err != nil {
			return nil, errors.Join(fmt.Errorf("embedded: clickhouse: %w", err), lock.Close())
		}
	}
	c.Progress = oneAtATime(c.Progress)
	s := &Stack{children: children{c: c, lock: lock, processes: map[string]*supervise.Process{}, done: make(chan struct{})}}
	steps := map[string]func(context.Context, *Stack) error{Kafka: startKafka, ClickHouse: startClickHouse, Postgres: startPostgres}
	group, groupCtx := errgroup.WithContext(ctx)
	for _, name := range []string{Kafka, ClickHouse, Postgres} {
		if slices.Contains(c.Only, name) {
			group.Go(func() error { return steps[name](groupCtx, s) })
		}
	}
	if err := group.Wait(); err != nil {
		stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		_ = s.Close(stopCtx) // the first failure is returned
		return nil, fmt.Errorf("embedded: %w", err)
	}
	for name, p := range s.processes {
		go s.watch(name, p)
	}
	s.watching.Go(s.watchDisk)
	return s, nil
}

// makeDir creates the data directory, or closes an existing one of this user to
// others. Where the engines have users of their own these may pass through, and not look.
func makeDir(dir string) error {
	mode := os.FileMode(0o700)
	if os.Geteuid() == 0 {
		mode = 0o711
	}
	if err := os.MkdirAll(dir, mode); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if stat, is := info.Sys().(*syscall.Stat_t); is && int(stat.Uid) == os.Geteuid() && info.Mode().Perm() != mode {
		return os.Chmod(dir, mode)
	}
	return nil
}

// oneAtATime spares the caller a lock: the engines start side by side.
func oneAtATime(progress func(string)) func(string) {
	var mu sync.Mutex
	return func(line string) {
		mu.Lock()
		defer mu.Unlock()
		progress(line)
	}
}

// watch reports the first child that is given up. It ends with the child.
func (s *children) watch(name string, p *supervise.Process) {
	<-p.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.done:
	default:
		if p.Err() != nil {
			s.err = fmt.Errorf("embedded: %s is down: %w", name, p.Err())
		}
		close(s.done)
	}
}

// Done is closed when the stack no longer stands: after Close, or when an
// engine died again and again and was given up.
func (s *children) Done() <-chan struct{} { return s.done }

// Err tells, after Done, which engine was given up and why; nil after Close.
func (s *children) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// PID is the process of the engine's server now, or 0 while there is none.
func (s *children) PID(engine string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.processes[engine]; p != nil {
		return p.PID()
	}
	return 0
}

// diskEvery is how often the log may say that the disk is full.
const diskEvery = 10 * time.Second

// Disk returns the room on the disk of the data directory.
func (s *children) Disk() (Disk, error) {
	free, err := supervise.FreeBytes(s.c.Dir)
	return Disk{Dir: s.c.Dir, Free: free, Reserve: s.c.DiskReserveBytes}, err
}

// watchDisk logs when the disk becomes full and when it has room again, until the stack ends.
func (s *children) watchDisk() {
	tick := time.NewTicker(diskEvery)
	defer tick.Stop()
	for full := false; ; {
		disk, err := s.Disk()
		if err == nil {
			err = disk.Err()
		}
		switch {
		case err != nil && !full:
			s.c.Log.LogAttrs(context.Background(), slog.LevelError, "writes are refused", slog.Any("reason", err))
		case err == nil && full:
			s.c.Log.LogAttrs(context.Background(), slog.LevelInfo, "the disk has room again, writes are taken", slog.String("dir", disk.Dir), slog.Int64("free_bytes", disk.Free))
		}
		full = err != nil
		select {
		case <-s.done:
			return
		case <-tick.C:
		}
	}
}

// Problems returns what the engines found wrong with their data when they started: someone must act.
func (s *children) Problems() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var problems []string
	for _, name := range []string{Kafka, ClickHouse, Postgres} {
		if p := s.processes[name]; p != nil {
			problems = append(problems, p.Problems()...)
		}
	}
	return problems
}

// Close stops the engines in order, Kafka last to let go of nothing unsynced,
// and gives the directory free. When ctx ends first they are killed.
func (s *children) Close(ctx context.Context) error {
	s.mu.Lock()
	processes := make([]*supervise.Process, 0, len(s.processes))
	for _, p := range s.processes {
		processes = append(processes, p)
	}
	s.mu.Unlock()
	errs := make([]error, len(processes))
	var wait sync.WaitGroup
	for i, p := range processes {
		wait.Go(func() { errs[i] = p.Stop(ctx) })
	}
	wait.Wait()
	defer s.watching.Wait() // after the lock is given up and done is closed
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.listeners {
		_ = l.Close() // nobody is served any more
	}
	for _, f := range s.files {
		_ = f.Close() // a duplicate of a listener
	}
	s.listeners, s.files = nil, nil
	_ = s.lock.Close() // its end is all that counts
	select {
	case <-s.done:
	default:
		close(s.done)
	}
	return errors.Join(errs...)
}

// listen opens a loopback socket that the child inherits. The parent keeps it,
// so the port stays ours, and callers wait in line while a child is restarted.
func (s *children) listen(name string, port int) (net.Addr, *os.File, error) {
	remembered := filepath.Join(s.c.Dir, name+".port")
	listener, err := listenPreferring(port, remembered)
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			err = fmt.Errorf("another process listens on port %d", port)
		}
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	tcp, is := listener.(*net.TCPListener)
	if !is {
		return nil, nil, fmt.Errorf("a %T is no TCP listener", listener)
	}
	file, err := tcp.File()
	if err != nil {
		return nil, nil, errors.Join(err, listener.Close())
	}
	s.mu.Lock()
	s.listeners, s.files = append(s.listeners, listener), append(s.files, file)
	s.mu.Unlock()
	return listener.Addr(), file, nil
}

// run starts a child and keeps it in the stack.
func (s *children) run(ctx context.Context, name string, config any, files []*os.File, env ...string) error {
	dir := filepath.Join(s.c.Dir, name)
	uid := userOf(name)
	if err := mayRunAs(dir); uid != 0 && name != Postgres && err != nil { // Postgres refuses to be root, and has a way of its own
		s.c.Log.LogAttrs(ctx, slog.LevelWarn, "engine runs as root", slog.String("engine", name), slog.Any("reason", err))
		uid = 0
	}
	if err := supervise.MakePrivate(dir, uid); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if name == Postgres {
		uid = 0 // its child starts the server as that user
	}
	p, err := supervise.Start(ctx, supervise.Spec{Name: "embedded-" + name, Dir: dir, Config: config, Files: files, Env: env, UID: uid, Log: s.c.Log})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s.mu.Lock()
	s.processes[name] = p
	s.mu.Unlock()
	return nil
}

func startKafka(ctx context.Context, s *Stack) error {
	password, err := secret(kafkaPassword(s.c.Dir))
	if err != nil {
		return fmt.Errorf("kafka: %w", err)
	}
	addr, file, err := s.listen(Kafka, s.c.Ports.Kafka)
	if err != nil {
		return err
	}
	err = s.run(ctx, Kafka, broker.Config{
		Dir: filepath.Join(s.c.Dir, Kafka), User: kafkaUser, Password: password, Partitions: s.c.KafkaPartitions, MaxMessageBytes: s.c.KafkaMaxMessageBytes,
		KeepBytes: s.c.KafkaKeepBytes, RetainBytes: s.c.KafkaRetainBytes, RetainFor: s.c.KafkaRetainFor,
		DataDir: s.c.Dir, DiskReserveBytes: s.c.DiskReserveBytes,
	}, []*os.File{file})
	if err != nil {
		return err
	}
	s.Kafka = []string{addr.String()}
	s.KafkaSASL = SASL{KafkaMechanism, kafkaUser, password}
	s.c.Progress("Kafka answers on " + addr.String())
	return nil
}

// secret reads the secret in the file, or makes one on first use. It is
// readable by nobody else.
func secret(path string) (string, error) {
	raw, err := os.ReadFile(path) //nolint:gosec // a path inside the data directory
	if err == nil && len(raw) > 0 {
		return string(raw), nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	made := rand.Text()
	return made, os.WriteFile(path, []byte(made), 0o600)
}
