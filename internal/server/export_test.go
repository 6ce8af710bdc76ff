package server

import "net"

// ListenUnix is for tests outside the package.
func ListenUnix(path string) (net.Listener, error) { return listenUnix(path, private) }

// MaxScanned is how many records one ListEntries looks at.
const MaxScanned = maxScanned
