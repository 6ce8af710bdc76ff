// SPDX-License-Identifier: Apache-2.0

// Package local is the daemon's side of ledgers that the programs of one user share without a
// standing daemon: Client.local in Python. docs/decisions/local.md says how both sides agree on
// who starts the daemon and when it ends.
//
// In the ledger directory, each program that uses it holds a shared lock (flock) on the file
// LockFile. The kernel takes the lock away when the program ends, however it ends. The daemon
// waits until nobody holds the lock any more.
//
// It is a package of its own because two programs in two languages keep its agreement, which is tested as a
// whole.
package local

import (
	"fmt"
	"time"
)

const (
	// LockFile is locked by every program that uses the ledger directory.
	LockFile = "local.lock"
	// SocketFile is the daemon's own socket. It has another name than the socket of a daemon
	// that somebody started by hand, so that programs can tell the two apart.
	SocketFile = "local.sock"
	// Grace is how long a daemon that nobody uses waits before it ends, so that a program
	// which is started again finds it.
	Grace = time.Second
)

// onNetwork says why a directory is refused.
func onNetwork(dir, name string) error {
	return fmt.Errorf("%s is on a network file system (%s), where locks and syncing cannot be relied on, so a charge "+
		"could be lost; use a directory on this machine's own disk, or run accountantd where the disk is and give its "+
		"address to the programs", dir, name)
}
