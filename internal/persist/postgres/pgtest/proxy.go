// SPDX-License-Identifier: Apache-2.0

package pgtest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Fault is what a proxy does instead of passing a message on.
type Fault int

const (
	// Cut closes the connection on both sides before the message.
	Cut Fault = iota
	// Silence passes nothing on any more, in either direction, and leaves both sides connected.
	Silence
	// Terminate has the server end the session before the message, as an administrator does.
	Terminate
)

// String is the fault's name.
func (f Fault) String() string { return [...]string{"cut", "silent", "terminated"}[f] }

// Proxy stands between clients and a server and passes the messages of their protocol on, one by
// one, until it is told to make a fault. Connections must not be encrypted.
type Proxy struct {
	listener net.Listener
	t        testing.TB
	to       string // the connection string

	mu     sync.Mutex
	target string
	off    bool
	armed  bool
	fault  Fault
	at     int    // the message that the fault hits, counted from 1 since Arm, in both directions
	with   []byte // only messages that have this in them count
	seen   int
	conns  []io.Closer
	closed bool
	ended  sync.WaitGroup
}

// NewProxy makes a proxy before the server of a connection string, and returns the connection string
// of the same database through it. It ends with the test.
func NewProxy(t testing.TB, to string) (p *Proxy, through string) {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	p = &Proxy{t: t, to: to, target: u.Host}
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	u.Host = p.listener.Addr().String()
	p.ended.Go(p.accept)
	t.Cleanup(p.close)
	return p, u.String()
}

// Arm makes the proxy count messages anew and put a fault in the place of one of them; never if at is 0.
func (p *Proxy) Arm(fault Fault, at int) { p.arm(fault, at, "") }

// ArmCommitted puts a fault in the place of the next message in which the server says that it has committed.
// The transaction is then durable, and the client does not hear of it.
func (p *Proxy) ArmCommitted(fault Fault) { p.arm(fault, 1, "COMMIT\x00") }

func (p *Proxy) arm(fault Fault, at int, with string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed, p.fault, p.at, p.with, p.seen = true, fault, at, []byte(with), 0
}

// Lead makes new connections go to another server, as an address does that moves to a new primary.
// Those that are there already stay.
func (p *Proxy) Lead(to *Server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = net.JoinHostPort("127.0.0.1", strconv.Itoa(to.Port))
}

// CutOff closes all connections, and each new one until Mend is called.
func (p *Proxy) CutOff() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.off = true
	p.closeAll()
}

// Mend lets connections pass again.
func (p *Proxy) Mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.off = false
}

// closeAll closes the connections. The caller holds the lock.
func (p *Proxy) closeAll() {
	for _, c := range p.conns {
		_ = c.Close() // it may be closed
	}
	p.conns = nil
}

// Disarm ends the counting, and returns how many messages there were since Arm.
func (p *Proxy) Disarm() (messages int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = false
	return p.seen
}

func (p *Proxy) close() {
	_ = p.listener.Close() // also makes accept end
	p.mu.Lock()
	p.closed = true
	p.closeAll()
	p.mu.Unlock()
	p.ended.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		target := p.target
		p.mu.Unlock()
		server, err := net.Dial("tcp", target)
		if err != nil {
			_ = client.Close() // the server is away
			continue
		}
		p.mu.Lock()
		closed, off := p.closed, p.off
		p.conns = append(p.conns, client, server)
		if closed || off {
			p.closeAll() // nobody else does
		}
		p.mu.Unlock()
		switch {
		case closed:
			return
		case off:
			continue
		}
		l := &link{proxy: p, sides: [2]net.Conn{client, server}}
		p.ended.Go(func() { l.pass(client, server, true) })
		p.ended.Go(func() { l.pass(server, client, false) })
	}
}

// link is one connection.
type link struct {
	proxy *Proxy
	sides [2]net.Conn

	mu     sync.Mutex
	silent bool
}

var errCut = errors.New("cut")

// pass passes messages on until a side closes.
func (l *link) pass(from, to net.Conn, starts bool) {
	err := func() error {
		for first := starts; ; first = false {
			m, err := message(from, first)
			if err != nil {
				return err
			}
			switch l.fault(m) {
			case cut:
				return errCut
			case terminate:
				l.terminate()
			}
			if l.isSilent() {
				continue
			}
			if _, err := to.Write(m); err != nil {
				return err
			}
		}
	}()
	if l.isSilent() && !errors.Is(err, errCut) {
		return // neither side hears that the other one has closed
	}
	for _, c := range l.sides {
		_ = c.Close() // it may be closed
	}
}

func (l *link) isSilent() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.silent
}

// reaction is what becomes of a connection before a message.
type reaction int

const (
	pass reaction = iota
	cut
	terminate
)

// fault counts a message, and says what becomes of its connection before it.
func (l *link) fault(message []byte) reaction {
	p := l.proxy
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.armed || !bytes.Contains(message, p.with) {
		return pass
	}
	p.seen++
	switch {
	case p.seen != p.at:
		return pass
	case p.fault == Terminate:
		return terminate
	case p.fault == Silence:
		l.mu.Lock()
		defer l.mu.Unlock()
		l.silent = true
		return pass
	}
	return cut
}

// terminate has the server end the session, and waits for its end.
func (l *link) terminate() {
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	c, err := pgx.Connect(ctx, l.proxy.to)
	if err == nil {
		const end = "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE client_port = $1"
		_, err = c.Exec(ctx, end, l.sides[1].LocalAddr().(*net.TCPAddr).Port)
		err = errors.Join(err, c.Close(ctx))
	}
	if err != nil {
		l.proxy.t.Errorf("a session could not be terminated: %v", err)
	}
}

// message reads one message: a type, unless it is a connection's first one, and a length that
// counts itself.
func message(r io.Reader, first bool) ([]byte, error) {
	head := make([]byte, 5)
	if first {
		head = head[:4]
	}
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[len(head)-4:])
	if n < 4 || n > 1<<30 {
		return nil, fmt.Errorf("a message of %d bytes", n)
	}
	m := append(head, make([]byte, n-4)...)
	_, err := io.ReadFull(r, m[len(head):])
	return m, err
}
