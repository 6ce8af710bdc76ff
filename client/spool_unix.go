// SPDX-License-Identifier: Apache-2.0

//go:build unix

package client

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile waits until no other process has the file; the lock ends when it is closed.
func lockFile(f *os.File) (err error) {
	for {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
