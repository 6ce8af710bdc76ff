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
	"sync"
)

// DefaultConnections is how many connections the HTTP port takes at once, unless its configuration says otherwise.
const DefaultConnections = 1000

// Connections beyond the bound are closed. So many of them, and so many of one address, are taken nevertheless and
// answered once: with the reason, or with whether the daemon is healthy, so that nobody has it restarted by
// opening connections.
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

	mu         sync.Mutex
	all, extra count
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

// Listen bounds the connections of a listener. Zero stands for DefaultConnections. The log says of connections that
// are refused.
func Listen(l net.Listener, most int, logger *slog.Logger) *Listener {
	if most == 0 {
		most = DefaultConnections
	}
	return &Listener{Listener: l, most: most, logger: Seldom(logger), all: count{by: map[netip.Prefix]int{}},
		extra: count{by: map[netip.Prefix]int{}}}
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.enter(raw); c != nil {
			return c, nil
		}
		_ = raw.Close()
	}
}

// enter counts a connection. It returns nil for one that is to be closed unheard.
func (l *Listener) enter(raw net.Conn) net.Conn {
	c := &conn{Conn: raw, from: network(raw.RemoteAddr())}
	l.mu.Lock()
	defer l.mu.Unlock()
	in, half := &l.all, (l.most+1)/2
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
		in = &l.extra
		if in.open >= spare || in.by[c.from] >= spareEach {
			return nil
		}
	}
	in.add(c.from, 1)
	c.leave = sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		in.add(c.from, -1)
	})
	return c
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
