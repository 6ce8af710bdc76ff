// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"net"
	"sync"
	"time"
)

// Connections are the raw connections that a stopping server has to close itself. gRPC waits
// for every connection in its handshake before it tells the others that it stops, so one silent
// peer would hold up everybody. And closing a TLS connection whose peer does not read can take
// seconds.
type Connections struct {
	mu      sync.Mutex
	young   map[*accepted]bool // in their handshake
	secure  map[*accepted]bool // with TLS, after it
	refuses bool               // no new connection is taken
}

func NewConnections() *Connections {
	return &Connections{young: map[*accepted]bool{}, secure: map[*accepted]bool{}}
}

// begin adds a connection that starts its handshake, and reports whether it may start.
func (s *Connections) begin(c *accepted) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.refuses {
		s.young[c] = true
	}
	return !s.refuses
}

// shake records that a connection's handshake is over. From here on only connections with TLS
// need help to be closed.
func (s *Connections) shake(c *accepted) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.young[c] && c.secured {
		s.secure[c] = true
	}
	delete(s.young, c)
}

func (s *Connections) forget(c *accepted) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.young, c)
	delete(s.secure, c)
}

// StopHandshakes closes the connections that are in their handshake, and each new one.
func (s *Connections) StopHandshakes() {
	s.mu.Lock()
	s.refuses = true
	young := s.young
	s.young = map[*accepted]bool{}
	s.mu.Unlock()
	for c := range young {
		_ = c.Conn.Close() // its handshake tells of it
	}
}

// StopAll closes the raw connections below TLS, so that no last message waits for its reader.
func (s *Connections) StopAll() {
	s.StopHandshakes()
	s.mu.Lock()
	secure := s.secure
	s.secure = map[*accepted]bool{}
	s.mu.Unlock()
	for c := range secure {
		_ = c.Conn.Close()
	}
}

// accepted is a connection that knows which listener accepted it; the handshake needs to know.
type accepted struct {
	net.Conn
	origin
	all     *Connections
	secured bool // TLS is spoken on it; set in the handshake
}

// SetDeadline detects the end of the handshake: gRPC sets a deadline before the handshake and
// removes it after it (Server.handleRawConn; TestStopWithSilentPeers would notice a change).
func (c *accepted) SetDeadline(t time.Time) error {
	if t.IsZero() {
		c.all.shake(c)
	}
	return c.Conn.SetDeadline(t)
}

func (c *accepted) Close() error {
	c.all.forget(c)
	return c.Conn.Close()
}
