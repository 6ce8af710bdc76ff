// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"strconv"

	"google.golang.org/grpc/credentials"
)

// Proof is what a connection proves about its peer.
type Proof struct {
	credentials.CommonAuthInfo
	Principal string // "" if nothing is proven
	Own       bool   // it came to the daemon's own socket
	Private   bool   // nobody on the way can read it
	Unproven  bool   // the peer has no certificate, where one or a token is demanded
	Inside    bool   // it is a connection of this process with itself (ListenInside)

	Close func() // closes the connection, whatever waits to be sent on it; nil for one inside
}

func (Proof) AuthType() string { return "accountant" }

// transport makes each connection's handshake as its listener requires: TLS on TCP, if there
// are certificates; on a Unix socket the kernel says who the peer is.
type transport struct {
	tls     credentials.TransportCredentials // nil: plain
	demands bool                             // of clients a certificate or a token
	logger  *slog.Logger
}

func Credentials(c *Certificates, logger *slog.Logger) *transport {
	t := &transport{logger: logger}
	if c != nil {
		t.tls, t.demands = credentials.NewTLS(c.grpc()), c.files.ClientCA != ""
	}
	return t
}

// ServerHandshake returns the raw connection where no TLS is used, because gRPC sets TCP
// options on it.
func (t *transport) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c, ok := raw.(*accepted)
	if !ok {
		return nil, nil, errors.New("a connection of no listener of this server")
	}
	from := Proof{Own: c.origin == fromOwn, Private: c.origin != fromTCP || t.tls != nil || isLoopback(c.Conn)}
	from.SecurityLevel = credentials.NoSecurity
	if c.origin != fromInside {
		from.Close = func() { _ = c.Conn.Close() }
	}
	switch {
	case c.origin == fromInside:
		from.Inside = true
		return c.Conn, from, nil
	case c.origin != fromTCP:
		if uid, ok := peerUID(c.Conn); ok {
			from.Principal = "uid:" + strconv.FormatUint(uint64(uid), 10)
		}
		return c.Conn, from, nil
	case t.tls == nil:
		return c.Conn, from, nil
	}
	c.secured = true
	conn, info, err := t.tls.ServerHandshake(c)
	if err != nil {
		if !errors.Is(err, io.EOF) { // a probe that only connects
			t.logger.Info("TLS handshake failed", "peer", c.RemoteAddr().String(), "error", err)
		}
		return nil, nil, err
	}
	from.SecurityLevel = credentials.PrivacyAndIntegrity
	if state := info.(credentials.TLSInfo).State; len(state.VerifiedChains) > 0 {
		from.Principal, err = certified(state.PeerCertificates[0])
	} else {
		from.Unproven = t.demands
	}
	return conn, from, err
}

// isLoopback reports whether a TCP connection does not leave the machine.
func isLoopback(c net.Conn) bool {
	return IsLoopback(c.LocalAddr().String()) && IsLoopback(c.RemoteAddr().String())
}

// ClientHandshake is never called: it is for clients.
func (t *transport) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("these are a server's credentials")
}

// Info implements credentials.TransportCredentials.
func (t *transport) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "accountant"}
}

// Clone implements credentials.TransportCredentials.
func (t *transport) Clone() credentials.TransportCredentials { return t }

// OverrideServerName implements credentials.TransportCredentials.
func (t *transport) OverrideServerName(string) error { return nil }

// WithTLS adds TLS to the HTTP port's listener, if there are certificates.
func WithTLS(l net.Listener, c *Certificates) net.Listener {
	if c == nil {
		return l
	}
	return tls.NewListener(l, c.http())
}
