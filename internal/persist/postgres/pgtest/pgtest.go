// SPDX-License-Identifier: Apache-2.0

// Package pgtest runs throwaway PostgreSQL servers for tests: one that all tests of a binary
// share, and others, with a synchronous standby if asked, that a test may stop, kill and promote.
//
// Servers listen on a free port of the loopback interface and keep their data in a temporary
// directory. When the test binary ends, even by kill -9, they are stopped and the directory is removed.
package pgtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Required is the environment variable that makes a test fail where PostgreSQL is not
// installed. Without it the test is skipped.
const Required = "NEEDS_POSTGRES"

// User is the name of the servers' superuser.
const User = "accountant"

// patience is how long a server may take to start or to stop.
const patience = 60 * time.Second

// Config says how a server behaves. The zero value is a server that is fast and loses its data
// when the machine does: it never syncs.
type Config struct {
	// Fsync makes the server wait until its files are on the disk.
	Fsync bool
	// Password makes the server ask for one over TCP.
	Password string
	// Settings are lines of postgresql.conf, by name.
	Settings map[string]string
	// Files are written into the data directory, by name, before the server starts.
	Files map[string][]byte
	// Synchronous adds a standby without which no commit is acknowledged.
	Synchronous bool
}

// Server is a PostgreSQL server that runs, or ran.
type Server struct {
	// Port is where it listens, on 127.0.0.1. It stays the same after a restart.
	Port int
	// Standby is the synchronous standby, or nil.
	Standby *Server

	config   Config
	bin, dir string // programs; a directory with data, log and socket

	mu      sync.Mutex
	process *exec.Cmd
	ended   chan struct{} // the process has ended
}

// Start starts a server of the test's own, which ends with the test.
func Start(t testing.TB, c Config) *Server {
	t.Helper()
	s := start(t, c)
	t.Cleanup(s.remove)
	return s
}

func start(t testing.TB, c Config) *Server {
	t.Helper()
	s, err := begin(c)
	switch {
	case errors.Is(err, errMissing) && os.Getenv(Required) == "":
		t.Skipf("%v; with %s=1 this test fails instead of being skipped", err, Required)
	case err != nil:
		t.Fatal(err)
	}
	return s
}

var errMissing = errors.New("PostgreSQL's server is not installed: there is no initdb on PATH, in " +
	"$(pg_config --bindir) or in /usr/lib/postgresql/*/bin")

// Programs returns the directory of PostgreSQL's programs.
func Programs() (string, error) {
	var places []string
	if path, err := exec.LookPath("initdb"); err == nil {
		places = append(places, filepath.Dir(path))
		if path, err = filepath.EvalSymlinks(path); err == nil { // some programs only may be linked there
			places = append(places, filepath.Dir(path))
		}
	}
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		places = append(places, strings.TrimSpace(string(out)))
	}
	installed, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is right
	slices.SortFunc(installed, func(a, b string) int { return cmp.Compare(version(b), version(a)) })
	for _, dir := range append(places, installed...) {
		if hasAll(dir, "initdb", "postgres", "pg_basebackup", "pg_ctl") {
			return dir, nil
		}
	}
	return "", errMissing
}

func hasAll(dir string, names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err != nil
	})
}

// version returns the number in /usr/lib/postgresql/15/bin.
func version(bin string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(bin))) // 0 for a directory of another kind
	return n
}

// begin makes a server and starts it, with its standby.
func begin(c Config) (s *Server, err error) {
	bin, err := Programs()
	if err != nil {
		return nil, err
	}
	if s, err = newServer(bin, c); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.remove()
		}
	}()
	if err := s.fill(); err != nil {
		return nil, err
	}
	settings := map[string]string{
		"shared_buffers": "32MB", "max_connections": "100", "fsync": onOff(c.Fsync),
		"listen_addresses": "127.0.0.1", "unix_socket_directories": s.dir, "autovacuum_naptime": "5s",
	}
	if !c.Fsync {
		settings["full_page_writes"] = "off"
	}
	for name, value := range c.Settings {
		settings[name] = value
	}
	conf := ""
	for name, value := range settings {
		conf += fmt.Sprintf("%s = '%s'\n", name, strings.ReplaceAll(value, "'", "''"))
	}
	files := map[string][]byte{"postgresql.auto.conf": []byte(conf)}
	for name, content := range c.Files {
		files[name] = content
	}
	for name, content := range files {
		if err := writeOwned(filepath.Join(s.data(), name), content); err != nil {
			return nil, err
		}
	}
	if err := s.Start(); err != nil {
		return nil, err
	}
	if c.Synchronous {
		return s, s.AddStandby()
	}
	return s, nil
}

// template is the data directory of a server that never runs. Those without a password begin with a copy of it, which
// takes a tenth of the time of a new one.
var template struct {
	sync.Mutex
	of *Server
}

// fill makes the data directory.
func (s *Server) fill() error {
	if s.config.Password != "" {
		file := filepath.Join(s.dir, "password")
		if err := os.WriteFile(file, []byte(s.config.Password), 0o644); err != nil {
			return err
		}
		return s.init("--auth-host", "scram-sha-256", "--pwfile", file)
	}
	template.Lock()
	defer template.Unlock()
	if template.of == nil {
		of, err := newServer(s.bin, Config{})
		if err == nil {
			err = of.init("--auth-host", "trust")
		}
		if err != nil {
			return err
		}
		template.of = of
	}
	cmd := exec.Command("cp", "-a", template.of.data(), s.data())
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cp: %w\n%s", err, out)
	}
	return nil
}

func (s *Server) init(more ...string) error {
	return s.run("initdb", append([]string{"--pgdata", s.data(), "--username", User, "--no-locale",
		"--encoding", "UTF8", "--no-sync", "--auth-local", "trust"}, more...)...)
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// newServer makes a server without data. Its directory belongs to the user that the server runs as.
func newServer(bin string, c Config) (*Server, error) {
	dir, err := os.MkdirTemp("", "pgtest")
	if err != nil {
		return nil, err
	}
	s := &Server{config: c, bin: bin, dir: dir}
	if err := own(dir); err != nil {
		return nil, err
	}
	if s.Port, err = freePort(); err != nil {
		return nil, err
	}
	return s, s.guard()
}

// guard starts a shell that stops the server and removes its directory as soon as this process
// has ended, in whichever way. The shell waits for the end of a pipe that only this process holds.
func (s *Server) guard() error {
	const script = `read -r _
pid=$(head -n 1 "$0/data/postmaster.pid" 2>/dev/null) && kill -QUIT "$pid" && kill -CONT "$pid" && sleep 1
rm -rf "$0"`
	cmd := exec.Command("/bin/sh", "-c", script, s.dir)
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	apart(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	guards.Store(s, pipe)
	return nil
}

// guards keeps the pipes open.
var guards sync.Map // of *Server → io.WriteCloser

// freePort returns a port on which nobody listens now. A server listens on it only later, and again after a restart,
// so it is none of those that the system gives to whoever asks for any port.
func freePort() (int, error) {
	const least = 10_000
	most := 32_768 // on Linux, and on others less than where theirs begin
	if text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		if _, err := fmt.Sscan(string(text), &most); err != nil {
			return 0, err
		}
	}
	var err error
	for range 100 {
		address := "127.0.0.1:0" // where all ports are given away
		if most > 2*least {
			address = fmt.Sprintf("127.0.0.1:%d", least+rand.IntN(most-least))
		}
		var l net.Listener
		if l, err = net.Listen("tcp", address); err == nil {
			return l.Addr().(*net.TCPAddr).Port, l.Close()
		}
	}
	return 0, err
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// run runs one of PostgreSQL's programs as the server's user.
func (s *Server) run(program string, args ...string) error {
	cmd := exec.Command(filepath.Join(s.bin, program), args...)
	cmd.Dir = s.dir
	if err := asUser(cmd); err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", program, err, out)
	}
	return nil
}

// AddStandby makes a synchronous standby and waits until it is one.
func (s *Server) AddStandby() error {
	standby, err := newServer(s.bin, s.config)
	if err != nil {
		return err
	}
	standby.config.Synchronous = false
	s.Standby = standby
	err = s.run("pg_basebackup", "--pgdata", standby.data(), "--host", s.dir, "--port", strconv.Itoa(s.Port),
		"--username", User, "--write-recovery-conf", "--no-sync", "--checkpoint", "fast", "--wal-method", "stream")
	if err != nil {
		return err
	}
	auto := filepath.Join(standby.data(), "postgresql.auto.conf")
	conf, err := os.ReadFile(auto)
	if err != nil {
		return err
	}
	// The later line of two counts.
	conf = fmt.Appendf(conf, "unix_socket_directories = '%s'\nwal_receiver_status_interval = '1s'\n", standby.dir)
	if err := writeOwned(auto, conf); err != nil {
		return err
	}
	if err := standby.Start(); err != nil {
		return err
	}
	if err := s.Exec("ALTER SYSTEM SET synchronous_standby_names = '*'"); err != nil {
		return err
	}
	if err := s.Exec("SELECT pg_reload_conf()"); err != nil {
		return err
	}
	return s.AwaitStandby()
}

// AwaitStandby returns once a standby is connected and synchronous.
func (s *Server) AwaitStandby() error {
	return await("a synchronous standby", func() error {
		var n int
		err := s.query("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'", &n)
		if err == nil && n == 0 {
			err = errors.New("none")
		}
		return err
	})
}

// await calls f until it succeeds.
func await(what string, f func() error) error { return awaitFor(patience, what, f) }

func awaitFor(limit time.Duration, what string, f func() error) error {
	var err error
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if err = f(); err == nil {
			return nil
		}
	}
	return fmt.Errorf("waited %v for %s: %w", limit, what, err)
}

// URL returns the connection string of a database.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable", User, s.Port, database)
}

// connect connects over the socket in the server's directory, where no password is asked for.
func (s *Server) connect(ctx context.Context) (*pgx.Conn, error) {
	return pgx.Connect(ctx, fmt.Sprintf("host=%s port=%d user=%s dbname=postgres", s.dir, s.Port, User))
}

// Exec runs a statement as the superuser, in the database postgres.
func (s *Server) Exec(sql string, args ...any) error {
	return s.use(func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, sql, args...)
		return err
	})
}

func (s *Server) query(sql string, into any) error {
	return s.use(func(ctx context.Context, c *pgx.Conn) error { return c.QueryRow(ctx, sql).Scan(into) })
}

func (s *Server) use(f func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	return errors.Join(f(ctx, c), c.Close(ctx))
}

var databases atomic.Int64

// Database makes an empty database and returns its connection string.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test%d", databases.Add(1))
	if err := s.Exec("CREATE DATABASE " + name); err != nil {
		t.Fatal(err)
	}
	return s.URL(name)
}

// TerminateAll ends every connection to the server but its own.
func (s *Server) TerminateAll() error {
	return s.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity " +
		"WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")
}

var shared struct {
	sync.Mutex
	server *Server
}

// Shared returns the server that the tests of a binary share, which never syncs. It is for
// tests that neither stop it nor change its settings.
func Shared(t testing.TB) *Server {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil {
		shared.server = start(t, Config{})
	}
	return shared.server
}

// Database makes an empty database on the shared server and returns its connection string.
func Database(t testing.TB) string {
	t.Helper()
	return Shared(t).Database(t)
}

// remove stops the server and its standby for good and removes what they have stored.
func (s *Server) remove() {
	if s.Standby != nil {
		s.Standby.remove()
	}
	s.Discard()
}

// Discard stops the server for good and removes what it has stored. Its standby stays.
func (s *Server) Discard() {
	s.Kill()
	if pipe, ok := guards.LoadAndDelete(s); ok {
		_ = pipe.(io.Closer).Close() // the guard removes the directory
	}
}
