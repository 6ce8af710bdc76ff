// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"context"
	"net"
	"net/http"

	"google.golang.org/grpc/test/bufconn"
)

// ListenInside returns a listener for connections that begin in this process, and the function that opens
// one. Such a connection is memory: nobody outside of the process can open, read or write it.
func ListenInside(all *Connections) (*Listener, func(context.Context) (net.Conn, error)) {
	l := bufconn.Listen(64 << 10)
	return &Listener{l, fromInside, all}, l.DialContext
}

// OfRequest returns what the connection of an HTTP request proves about its peer. The error says why a
// certificate names nobody.
func OfRequest(r *http.Request) (p Proof, err error) {
	p.Private = r.TLS != nil
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && !p.Private {
		p.Private = IsLoopback(local.String()) && IsLoopback(r.RemoteAddr)
	}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		p.Principal, err = certified(r.TLS.PeerCertificates[0])
	}
	return p, err
}

// IsLocal reports whether a host is this machine by a name that nobody can lead elsewhere.
func IsLocal(host string) bool { return host == "localhost" || net.ParseIP(host).IsLoopback() }

// IsLoopback reports whether an address, IP:PORT, is one that only this machine reaches.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && net.ParseIP(host).IsLoopback()
}
