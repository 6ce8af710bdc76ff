// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// MaxSocketPath is the length of sockaddr_un.sun_path on Linux (unix(7)), without the final
// zero. The temporary name that listenUnix binds ("s", up to ten digits, "/s") is shorter than
// "accountant.sock".
const MaxSocketPath = 107

// Listener marks each connection with where it was accepted, and registers it.
type Listener struct {
	net.Listener
	origin
	all *Connections
}

// origin is what kind of listener accepted a connection.
type origin int

const (
	fromTCP    origin = iota
	fromSocket        // a Unix socket for others
	fromOwn           // the daemon's own socket
	fromInside        // this process
)

func (l *Listener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := (&accepted{Conn: raw, origin: l.origin, all: l.all}); l.all.begin(c) {
			return c, nil
		}
		_ = raw.Close()
	}
}

// Listen listens on a host:port, or on the socket that unix:///PATH names. The two bounds are open,
// which allows TCP addresses that other machines can reach, and sockets, which says who may open a
// socket.
func Listen(address string, open bool, sockets access, all *Connections) (*Listener, error) {
	if path, ok := SocketPath(address); ok {
		l, err := listenUnix(path, sockets)
		return &Listener{l, fromSocket, all}, err
	}
	l, err := ListenTCP("listen", address, open)
	return &Listener{l, fromTCP, all}, err
}

// ListenOwn listens on the daemon's own socket, which only its owner may open.
func ListenOwn(path string, all *Connections) (*Listener, error) {
	l, err := listenUnix(path, private)
	return &Listener{l, fromOwn, all}, err
}

// Name returns the listener's address as Config.Listen spells it, and "" for the daemon's own socket.
func (l *Listener) Name() string {
	switch l.origin {
	case fromTCP:
		return l.Addr().String()
	case fromSocket:
		return "unix://" + l.Addr().String()
	}
	return ""
}

// SocketPath returns the path in unix:///PATH or unix:PATH, as gRPC spells it.
func SocketPath(address string) (path string, ok bool) {
	path, ok = strings.CutPrefix(address, "unix:")
	if ok && strings.HasPrefix(path, "//") {
		path = path[2:]
	}
	return path, ok
}

// Resolve parses a TCP address. Unless open is set it refuses an address that other machines
// can reach. A host name is resolved once, here.
func Resolve(field, address string, open bool) (*net.TCPAddr, error) {
	addr, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, &ConfigError{field, fmt.Sprintf("%q (%v)", address, err), "host:port, such as 127.0.0.1:7878"}
	}
	if !open && !addr.IP.IsLoopback() {
		return nil, &ConfigError{field, fmt.Sprintf("%q, which other machines can reach without TLS", address),
			"a loopback address such as 127.0.0.1:7878, or any with --tls-cert and --tls-key, or with --insecure"}
	}
	return addr, nil
}

func ListenTCP(field, address string, open bool) (net.Listener, error) {
	addr, err := Resolve(field, address, open)
	if err != nil {
		return nil, err
	}
	l, err := net.ListenTCP("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	return l, nil
}

// access is who may open a socket.
type access struct {
	mode     fs.FileMode
	uid, gid int // −1: the daemon's
}

// private allows only the daemon's owner.
var private = access{0o600, -1, -1}

// NewAccess returns the access of an owner (USER, USER:GROUP or :GROUP, names or numbers) with a
// mode. Without an owner it is the daemon's user and group; without a mode it is private's.
func NewAccess(owner string, mode fs.FileMode) (access, error) {
	a, err := parseOwner(owner)
	a.mode = cmp.Or(mode, private.mode)
	return a, err
}

func parseOwner(s string) (access, error) {
	a := access{uid: -1, gid: -1}
	name, group, _ := strings.Cut(s, ":")
	number := func(s string, into *int, find func() (string, error)) (err error) {
		if s == "" {
			return nil
		}
		if *into, err = strconv.Atoi(s); err == nil && *into >= 0 {
			return nil
		}
		id, err := find()
		if err == nil {
			*into, err = strconv.Atoi(id)
		}
		return err
	}
	err := number(name, &a.uid, func() (string, error) {
		u, err := user.Lookup(name)
		if err != nil {
			return "", err
		}
		return u.Uid, nil
	})
	if err == nil {
		err = number(group, &a.gid, func() (string, error) {
			g, err := user.LookupGroup(group)
			if err != nil {
				return "", err
			}
			return g.Gid, nil
		})
	}
	if err != nil {
		return a, &ConfigError{"socket-owner", fmt.Sprintf("%q (%v)", s, err),
			"USER, USER:GROUP or :GROUP, names or numbers"}
	}
	return a, nil
}

// listenUnix makes a socket at path. It binds the socket in a directory that only its owner can
// enter, and then renames it. So it is never open to more than a allows, and a stale socket is
// replaced in one step. If path lies in a data directory, which is such a directory, no other
// one is made: a full disk has no room for it.
func listenUnix(path string, a access) (net.Listener, error) {
	if err := checkStale(path); err != nil {
		return nil, err
	}
	dir := filepath.Dir(path)
	info, err := os.Stat(dir)
	if err == nil && (info.Mode().Perm()&0o077 != 0 || !hasModes) {
		dir, err = os.MkdirTemp(dir, "s")
		defer func() { _ = os.RemoveAll(dir) }()
	}
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	hidden := filepath.Join(dir, "s.new")
	if err := os.Remove(hidden); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a process that died
		return nil, fmt.Errorf("socket: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: hidden, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	l.SetUnlinkOnClose(false)
	if a.uid >= 0 || a.gid >= 0 {
		err = os.Chown(hidden, a.uid, a.gid)
	}
	if err == nil {
		err = os.Chmod(hidden, a.mode)
	}
	if err == nil {
		err = os.Rename(hidden, path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("socket: %w", err), l.Close())
	}
	return &unixListener{l, path}, nil
}

// unixListener removes its socket, at the path after renaming, when it is closed.
type unixListener struct {
	*net.UnixListener
	path string
}

func (l *unixListener) Close() error {
	err := l.UnixListener.Close()
	if err == nil {
		err = os.Remove(l.path)
	}
	return err
}

func (l *unixListener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }

// checkStale returns nil if path is free or a socket on which nobody listens.
func checkStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("socket: %w", err)
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("socket: %s is there and is not a socket; allowed: a free path", path)
	}
	c, err := net.DialTimeout("unix", path, time.Second)
	switch {
	case err == nil:
		_ = c.Close()
		return fmt.Errorf("socket: another process listens on %s; allowed: one daemon for a data directory", path)
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return fmt.Errorf("socket: %w", err)
}
