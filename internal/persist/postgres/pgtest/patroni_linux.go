// SPDX-License-Identifier: Apache-2.0

package pgtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Patroni is a cluster of PostgreSQL servers under Patroni, with an etcd beside them.
type Patroni struct {
	// Nodes are its machines, so to speak. Which of them is the primary changes.
	Nodes []*Node

	etcd  *program
	dir   string
	proxy int // port of the haproxy before the servers; 0: there is none
}

// Node is one PostgreSQL server and the Patroni that runs it.
type Node struct {
	// Port is PostgreSQL's, API Patroni's.
	Port, API int

	name, dir string
	bin       string
	patroni   *program
}

// PatroniConfig says how a cluster behaves.
type PatroniConfig struct {
	// Nodes is how many servers there are.
	Nodes int
	// Synchronous has every commit wait for a standby, also when none is left (synchronous_mode_strict).
	Synchronous bool
}

// PatroniProgram is the environment variable that names the patroni to run. Without it, it is the one on PATH. The
// user that the servers run as must be able to run it.
const PatroniProgram = "PATRONI"

func patroni() string { return cmp.Or(os.Getenv(PatroniProgram), "patroni") }

// PatroniVersion returns what Patroni says of its version, such as "patroni 4.1.5".
func PatroniVersion() string {
	out, err := exec.Command(patroni(), "--version").Output()
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(out))
}

// KeepsLock reports whether a primary that was stopped leaves the lock to its successor when it goes on. With etcd's
// API v3, Patroni before 3.0.3 may take it back, and then loses what the successor has acknowledged.
func KeepsLock() bool {
	var major, minor, patch int
	n, _ := fmt.Sscanf(PatroniVersion(), "patroni %d.%d.%d", &major, &minor, &patch)
	return n == 3 && (major > 3 || major == 3 && (minor > 0 || patch >= 3))
}

// TTL is how long a primary that says nothing stays one. This is Patroni's default, with which a busy machine keeps its
// primary.
const TTL = 30 * time.Second

// StartPatroni starts a cluster, which ends with the test, and waits until it has a primary and all its standbys. The
// test is skipped where a program is missing.
func StartPatroni(t testing.TB, c PatroniConfig) *Patroni {
	t.Helper()
	bin, err := Programs()
	for _, name := range []string{patroni(), "etcd"} {
		if _, missing := exec.LookPath(name); missing != nil {
			err = errors.Join(err, missing)
		}
	}
	if err != nil {
		t.Skipf("this needs PostgreSQL, Patroni and etcd (Debian: postgresql, patroni, etcd-server): %v", err)
	}
	dir, err := os.MkdirTemp("", "patroni")
	if err != nil {
		t.Fatal(err)
	}
	p := &Patroni{dir: dir}
	t.Cleanup(p.remove)
	if err := errors.Join(own(dir), p.start(bin, c)); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *Patroni) start(bin string, c PatroniConfig) error {
	var ports []int
	for range 2 + 2*c.Nodes {
		port, err := freePort()
		if err != nil {
			return err
		}
		ports = append(ports, port)
	}
	url := func(port int) string { return fmt.Sprintf("http://127.0.0.1:%d", port) }
	p.etcd = &program{dir: p.dir, log: filepath.Join(p.dir, "etcd.log"), path: "etcd", args: []string{
		"--data-dir", filepath.Join(p.dir, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls", url(ports[0]), "--advertise-client-urls", url(ports[0]),
		"--listen-peer-urls", url(ports[1]), "--initial-advertise-peer-urls", url(ports[1]),
		"--initial-cluster", "default=" + url(ports[1])}}
	if err := p.etcd.start(); err != nil {
		return err
	}
	for i := range c.Nodes {
		n := &Node{Port: ports[2+2*i], API: ports[3+2*i], name: fmt.Sprintf("n%d", i+1), bin: bin}
		n.dir = filepath.Join(p.dir, n.name)
		if err := os.Mkdir(n.dir, 0o700); err != nil {
			return err
		}
		if err := own(n.dir); err != nil {
			return err
		}
		file := filepath.Join(n.dir, "patroni.yml")
		if err := writeOwned(file, []byte(n.settings(ports[0], c))); err != nil {
			return err
		}
		n.patroni = &program{dir: n.dir, log: filepath.Join(n.dir, "log"), path: patroni(), args: []string{file}}
		p.Nodes = append(p.Nodes, n)
		if err := n.patroni.start(); err != nil {
			return err
		}
		if i == 0 { // the others copy it
			if _, err := p.AwaitPrimary(2 * time.Minute); err != nil {
				return err
			}
		}
	}
	return p.AwaitStandbys(2 * time.Minute)
}

// settings are what docs/fleet.md asks of Patroni, with short times.
func (n *Node) settings(etcd int, c PatroniConfig) string {
	return fmt.Sprintf(`scope: ledgers
name: %[1]s
restapi: {listen: '127.0.0.1:%[2]d', connect_address: '127.0.0.1:%[2]d'}
etcd3: {host: '127.0.0.1:%[3]d'}
bootstrap:
  dcs:
    ttl: %[4]d
    loop_wait: 2
    retry_timeout: 10
    primary_start_timeout: 0
    synchronous_mode: %[5]t
    synchronous_mode_strict: %[5]t
    postgresql:
      use_pg_rewind: true
      parameters: {shared_buffers: 32MB, max_connections: 100, wal_log_hints: 'on', wal_keep_size: 256MB}
  initdb: [{encoding: UTF8}, data-checksums, no-sync, {username: %[8]s}]
postgresql:
  listen: 127.0.0.1:%[6]d
  connect_address: 127.0.0.1:%[6]d
  data_dir: %[7]s/data
  bin_dir: %[9]s
  pgpass: %[7]s/pgpass
  authentication:
    superuser: {username: %[8]s, password: secret}
    replication: {username: replicator, password: secret}
  parameters: {unix_socket_directories: '%[7]s', fsync: 'off', wal_receiver_status_interval: 1s}
  pg_hba:
  - local all all trust
  - host all all 127.0.0.1/32 trust
  - host replication all 127.0.0.1/32 trust
`, n.name, n.API, etcd, int(TTL.Seconds()), c.Synchronous, n.Port, n.dir, User, n.bin)
}

// URL names all servers, of which whoever connects takes the one that may be written to; or the proxy, if there is one.
func (p *Patroni) URL(database string) string {
	var hosts []string
	if p.proxy != 0 {
		return fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable", User, p.proxy, database)
	}
	for _, n := range p.Nodes {
		hosts = append(hosts, fmt.Sprintf("127.0.0.1:%d", n.Port))
	}
	return fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", User, strings.Join(hosts, ","), database)
}

// Exec runs a statement on the primary, in the database postgres.
func (p *Patroni) Exec(sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := pgx.Connect(ctx, p.URL("postgres")+"&target_session_attrs=read-write")
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, sql)
	return errors.Join(err, c.Close(ctx))
}

// AwaitPrimary returns the node that holds Patroni's lock, other than those that are named.
func (p *Patroni) AwaitPrimary(limit time.Duration, other ...*Node) (found *Node, err error) {
	err = awaitFor(limit, "a primary under Patroni", func() error {
		for _, n := range p.Nodes {
			if !slices.Contains(other, n) && n.is("primary") {
				found = n
				return nil
			}
		}
		return p.lastWords()
	})
	return found, err
}

// AwaitStandbys returns once the primary streams to all others, and in synchronous mode waits for one of them.
func (p *Patroni) AwaitStandbys(limit time.Duration) error {
	return awaitFor(limit, "Patroni's standbys", func() error {
		synchronous := 0
		primary := 0
		for _, n := range p.Nodes {
			switch {
			case n.is("primary"):
				primary++
			case !n.is("replica"):
				return fmt.Errorf("%s is no standby; %w", n.name, p.lastWords())
			case n.is("synchronous"):
				synchronous++
			}
		}
		if primary != 1 || synchronous == 0 && p.synchronous() {
			return fmt.Errorf("%d primaries, %d synchronous standbys; %w", primary, synchronous, p.lastWords())
		}
		return nil
	})
}

func (p *Patroni) synchronous() bool {
	text, err := os.ReadFile(filepath.Join(p.Nodes[0].dir, "patroni.yml"))
	return err == nil && strings.Contains(string(text), "synchronous_mode: true")
}

// is asks Patroni's health check whether the node has a role, as a proxy before the servers would.
func (n *Node) is(role string) bool {
	client := http.Client{Timeout: 2 * time.Second}
	answer, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/%s", n.API, role))
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// Name is the node's name in Patroni.
func (n *Node) Name() string { return n.name }

// KillServer ends PostgreSQL's processes by SIGKILL; the node's Patroni lives.
func (n *Node) KillServer() error { return n.server(syscall.SIGKILL) }

// KillMachine ends Patroni and all of PostgreSQL's processes by SIGKILL.
func (n *Node) KillMachine() error {
	return errors.Join(n.patroni.signal(syscall.SIGKILL), n.server(syscall.SIGKILL))
}

// StopMachine stops them all without their noticing, while Patroni does what it does every two seconds: it then goes on
// with what it knew of its lock before.
func (n *Node) StopMachine() error {
	busy := func() error {
		pid, err := n.patroni.pid()
		if err != nil {
			return err
		}
		if state, _, err := process(pid); err != nil || state != "R" {
			return errors.Join(err, errors.New("it waits"))
		}
		return nil
	}
	for deadline := time.Now().Add(patience); busy() != nil && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	return errors.Join(n.patroni.signal(syscall.SIGSTOP), n.server(syscall.SIGSTOP))
}

// Resume lets them go on: PostgreSQL first, which believes that it is the primary still, and Patroni after a while.
func (n *Node) Resume(after time.Duration) error {
	err := n.server(syscall.SIGCONT)
	time.Sleep(after)
	return errors.Join(err, n.patroni.signal(syscall.SIGCONT))
}

// StopSending stops the processes that send the log to standbys: what is committed from now on stays on this server. It
// waits until there is one, as a standby connects some time after it has started.
func (n *Node) StopSending() error {
	return await("a process that sends the log", func() error {
		pid, err := n.postmaster()
		if err != nil {
			return err
		}
		children, err := childrenOf(pid)
		found := errors.New("there is none")
		for _, child := range children {
			title, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child)) // "" if it has ended
			if strings.Contains(string(title), "walsender") {
				found = syscall.Kill(child, syscall.SIGSTOP)
			}
		}
		return errors.Join(err, found)
	})
}

// Restart starts Patroni anew after KillMachine.
func (n *Node) Restart() error { return n.patroni.start() }

// postmaster is the number of PostgreSQL's first process.
func (n *Node) postmaster() (int, error) {
	text, err := os.ReadFile(filepath.Join(n.dir, "data", "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strconv.Atoi(first)
}

// server signals it and all that it has started.
func (n *Node) server(sig syscall.Signal) error {
	pid, err := n.postmaster()
	if err != nil {
		return err
	}
	children, err := childrenOf(pid)
	if err != nil {
		return err
	}
	err = syscall.Kill(pid, sig)
	for _, child := range children {
		_ = syscall.Kill(child, sig) // it may have ended
	}
	return err
}

func childrenOf(pid int) (children []int, err error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		child, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			return nil, err
		}
		if _, parent, err := process(child); err == nil && parent == pid { // else it has ended
			children = append(children, child)
		}
	}
	return children, err
}

// process returns what a process does, by the letter that Linux has for it ("R" runs, "S" waits), and its parent.
func process(pid int) (state string, parent int, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0, err
	}
	_, rest, _ := strings.Cut(string(text), ") ") // after the name
	_, err = fmt.Sscan(rest, &state, &parent)
	return state, parent, err
}

// Logs are what Patroni and PostgreSQL have told on each node.
func (p *Patroni) Logs() string {
	var b strings.Builder
	for _, n := range p.Nodes {
		text, err := os.ReadFile(n.patroni.log)
		fmt.Fprintf(&b, "\n%s on port %d: %v\n%s", n.name, n.Port, err, text)
	}
	return b.String()
}

func (p *Patroni) lastWords() error {
	var all []error
	for _, n := range p.Nodes {
		text, err := os.ReadFile(n.patroni.log)
		all = append(all, err, fmt.Errorf("%s's log ends with:\n%s", n.name, text[max(0, len(text)-600):]))
	}
	return errors.Join(all...)
}

// remove ends everything and removes what was stored.
func (p *Patroni) remove() {
	for _, n := range p.Nodes {
		_ = n.patroni.signal(syscall.SIGKILL) // it may have ended already, as may the others
		_ = n.server(syscall.SIGKILL)
		n.patroni.end()
	}
	if p.etcd != nil {
		p.etcd.end()
	}
	_ = os.RemoveAll(p.dir)
}

// program is a process that is ended when this one has ended, in whichever way.
type program struct {
	dir, log, path string
	args           []string

	process *exec.Cmd
	pipe    io.Closer
	ended   chan struct{}
}

func (p *program) start() error {
	// PostgreSQL is started by Patroni and outlives it, so the shell ends it by the file that has its number.
	const script = `"$@" </dev/null & echo $! >"$0/pid" && read -r _
kill -KILL $! 2>/dev/null
pid=$(head -n 1 "$0/data/postmaster.pid" 2>/dev/null) && kill -QUIT "$pid" && kill -CONT "$pid"`
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the process has its own
	if p.process != nil {
		p.end()
	}
	cmd := exec.Command("/bin/sh", append([]string{"-c", script, p.dir, p.path}, p.args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, log, log
	if err := asUser(cmd); err != nil {
		return err
	}
	if p.pipe, err = cmd.StdinPipe(); err != nil {
		return err
	}
	_ = os.Remove(filepath.Join(p.dir, "pid")) // there is none at the first start
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	p.process, p.ended = cmd, ended
	go func() {
		_ = cmd.Wait() // how it ended does not matter
		close(ended)
	}()
	return awaitFor(patience, "a start of "+p.path, func() error { _, err := p.pid(); return err })
}

func (p *program) pid() (int, error) {
	text, err := os.ReadFile(filepath.Join(p.dir, "pid"))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

func (p *program) signal(sig syscall.Signal) error {
	if p == nil {
		return nil
	}
	pid, err := p.pid()
	if err != nil {
		return err
	}
	return syscall.Kill(pid, sig)
}

// end has the shell end the program.
func (p *program) end() {
	if p.process == nil {
		return
	}
	_ = p.pipe.Close()
	<-p.ended
}
