package server

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// maxSocketPath is what sockaddr_un.sun_path holds on Linux (unix(7)), without
// the final zero. The temporary name that listenUnix binds ("s", up to ten
// digits, "/s") is shorter than "accountant.sock".
const maxSocketPath = 107

// resolve parses a TCP address and refuses one that other machines can reach,
// unless insecure is set. A host name is resolved once, here.
func resolve(field, address string, insecure bool) (*net.TCPAddr, error) {
	addr, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, &ConfigError{field, fmt.Sprintf("%q (%v)", address, err), "host:port, such as 127.0.0.1:7878"}
	}
	if !insecure && !addr.IP.IsLoopback() {
		return nil, &ConfigError{field, fmt.Sprintf("%q, which other machines can reach without TLS", address),
			"a loopback address such as 127.0.0.1:7878, or any with --insecure"}
	}
	return addr, nil
}

func listenTCP(field, address string, insecure bool) (net.Listener, error) {
	addr, err := resolve(field, address, insecure)
	if err != nil {
		return nil, err
	}
	l, err := net.ListenTCP("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	return l, nil
}

// listenUnix makes a socket of mode 0600 at path. It is bound in a directory
// that only its owner can enter and renamed, so it is never open to others, and
// a stale one is replaced in one step. A data directory is such a directory: then
// none is made, for which a full disk has no room.
func listenUnix(path string) (net.Listener, error) {
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
	private := filepath.Join(dir, "s.new")
	if err := os.Remove(private); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a process that died
		return nil, fmt.Errorf("socket: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: private, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	l.SetUnlinkOnClose(false)
	if err = os.Chmod(private, 0o600); err == nil {
		err = os.Rename(private, path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("socket: %w", err), l.Close())
	}
	return &unixListener{l, path}, nil
}

// unixListener knows its final path, and removes it when it closes.
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
