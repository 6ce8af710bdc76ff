// SPDX-License-Identifier: Apache-2.0

//go:build unix

package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Lock waits until no other process has the file; the lock ends when it is closed.
func Lock(f *os.File) error { return Flock(int(f.Fd()), unix.LOCK_EX) }

// Flock is flock(2), again where a signal interrupts it.
func Flock(fd, how int) (err error) {
	for {
		if err = unix.Flock(fd, how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
