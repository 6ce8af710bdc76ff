// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerUID is the user who connected, as the kernel knows it (SO_PEERCRED, unix(7)):
// the process's effective user at connect(2), in the daemon's user namespace.
func peerUID(c net.Conn) (uid uint32, ok bool) {
	socket, ok := c.(*net.UnixConn)
	if !ok {
		return 0, false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0, false
	}
	var peer *unix.Ucred
	controlled := raw.Control(
		func(fd uintptr) { peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if controlled != nil || err != nil {
		return 0, false
	}
	return peer.Uid, true
}
