// SPDX-License-Identifier: Apache-2.0

// Package bounds limits how much of the HTTP port a few callers can take away from all others: connections,
// places for large requests, and lines of the log.
package bounds

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
)

// DefaultConnections is how many connections the HTTP port takes at once, unless its configuration says otherwise.
const DefaultConnections = 1000

// Connections beyond the bound are answered once, with the reason, or with whether the daemon is healthy, so that
// nobody has it restarted by opening connections. So many of them are open at a time, and so many of one address.
// A further one is taken as well: it has the place of the oldest one of its own address, or else of the address that
// has the most. Whoever opens connections and sends nothing takes places from themselves only.
const (
	spare     = 32
	spareEach = 8
)

// Listener takes a bounded number of connections at once. One address may have half of them, except for the
// addresses of this machine: behind a proxy that runs here, everybody has the same address.
// An IPv6 address counts as its network of 64 bits, because one machine can use all addresses of it.
type Listener struct {
	net.Listener
	most   int
	logger *slog.Logger

	mu      sync.Mutex
	all     count
	extra   []*conn // the oldest first
	refused uint64
}

// count is how many connections there are, together and by address.
type count struct {
	open int
	by   map[netip.Prefix]int
}

func (c *count) add(from netip.Prefix, n int) {
	c.open += n
	if c.by[from] += n; c.by[from] == 0 {
		delete(c.by, from)
	}
}

// Listen bounds the connections of a listener. Zero stands for DefaultConnections. It takes no more than half of the
// files that the process may have open, and the spare ones: without a file left, nobody is told why, no probe is
// answered, and gRPC and the database have no connections either. The log says so, and of connections that are refused.
func Listen(l net.Listener, most int, logger *slog.Logger) *Listener {
	if most == 0 {
		most = DefaultConnections
	}
	if files := openFiles(); files/2-spare < most {
		asked := most
		most = max(1, files/2-spare)
		logger.Warn("the HTTP port takes fewer connections than --http-connections says: this process may have too "+
			"few files open", "connections", most, "asked", asked, "files", files,
			"allowed", "a larger limit of open files (ulimit -n, LimitNOFILE=), or fewer connections")
	}
	return &Listener{Listener: l, most: most, logger: Seldom(logger), all: count{by: map[netip.Prefix]int{}}}
}

// Most is how many connections the listener takes at once.
func (l *Listener) Most() int { return l.most }

// Open is how many connections are open, those not among them that are refused.
func (l *Listener) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.open
}

// Refused is how many connections were refused so far.
func (l *Listener) Refused() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c, instead := l.enter(raw)
	if instead != nil {
		_ = instead.Close()
	}
	return c, nil
}

// enter counts a connection. It returns the one whose place it has, which is to be closed; nil for most.
func (l *Listener) enter(raw net.Conn) (entered, instead *conn) {
	c := &conn{Conn: raw, from: network(raw.RemoteAddr())}
	l.mu.Lock()
	defer l.mu.Unlock()
	half := (l.most + 1) / 2
	switch {
	case l.all.open >= l.most:
		c.refused = &Refusal{text: fmt.Sprintf("the HTTP port has %d connections already; allowed: at most that "+
			"(--http-connections); close those that you do not need, and come back in a few seconds", l.most)}
	case l.all.by[c.from] >= half && !c.from.Addr().IsLoopback():
		c.refused = &Refusal{Yours: true, text: fmt.Sprintf("your address has %d connections to the HTTP port "+
			"already; allowed: half of --http-connections; close those that you do not need, and come back in a few "+
			"seconds", half)}
	}
	if c.refused != nil {
		l.logger.Warn("a connection to the HTTP port is refused", "error", c.refused, "peer.address", raw.RemoteAddr())
		l.refused++
		instead = l.oldest(c.from)
		l.extra = append(l.extra, c)
		c.leave = sync.OnceFunc(func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.drop(c)
		})
		return c, instead
	}
	l.all.add(c.from, 1)
	c.leave = sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all.add(c.from, -1)
	})
	return c, nil
}

// oldest takes its place from the connection that is to make room for one of an address; nil if there is room.
func (l *Listener) oldest(from netip.Prefix) *conn {
	by := map[netip.Prefix]int{}
	most := from
	for _, c := range l.extra {
		if by[c.from]++; by[c.from] > by[most] {
			most = c.from
		}
	}
	switch {
	case by[from] >= spareEach:
		most = from
	case len(l.extra) < spare:
		return nil
	}
	for _, c := range l.extra {
		if c.from == most {
			l.drop(c)
			return c
		}
	}
	return nil
}

func (l *Listener) drop(gone *conn) {
	l.extra = slices.DeleteFunc(l.extra, func(c *conn) bool { return c == gone })
}

// network is where a connection comes from.
func network(a net.Addr) netip.Prefix {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Prefix{}
	}
	ip := at.Addr().Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() && !ip.IsLoopback() {
		bits = 64
	}
	p, _ := ip.Prefix(bits) // fails only for more bits than there are
	return p
}

// conn is a counted connection.
type conn struct {
	net.Conn
	from    netip.Prefix
	refused *Refusal
	leave   func()
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.leave()
	return c.Conn.Close()
}

// CloseWrite is for net/http, which closes a connection in two steps so that its peer reads the last answer.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Refusal says why requests of a connection are refused.
type Refusal struct {
	// Yours is set where the caller's own address has too many connections.
	Yours bool
	text  string
}

// Error implements error.
func (r *Refusal) Error() string { return r.text }

type refusalKey struct{}

// Context is for http.Server.ConnContext: it keeps in the context why the connection's requests are refused.
func Context(ctx context.Context, c net.Conn) context.Context {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	if counted, ok := c.(*conn); ok && counted.refused != nil {
		return context.WithValue(ctx, refusalKey{}, counted.refused)
	}
	return ctx
}

// Of returns why a request is refused, nil if it is not. Its context is one that Context has made.
func Of(ctx context.Context) *Refusal {
	r, _ := ctx.Value(refusalKey{}).(*Refusal)
	return r
}
