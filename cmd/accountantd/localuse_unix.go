// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin || freebsd

package main

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dpaccountant/accountant/internal/durable"
)

// whileLocked writes note into the lock file at path, and calls unused once no process has held a
// lock on the file for the time grace. From then on it holds the lock exclusively until this
// process ends: a program that comes now waits for that, and starts another daemon.
//
// The lock must be taken once the store is open, because whoever finds the lock free and the
// socket silent may start a daemon.
func whileLocked(path, note string, grace time.Duration, unused func()) error {
	// A plain descriptor, which no finalizer closes: closing it would give the lock back.
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	err = unix.Ftruncate(fd, 0)
	if err == nil {
		_, err = unix.Pwrite(fd, []byte(note), 0)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", path, err), unix.Close(fd))
	}
	go func() {
		for durable.Flock(fd, unix.LOCK_EX) == nil { // nobody uses it
			if durable.Flock(fd, unix.LOCK_UN) != nil {
				break
			}
			time.Sleep(grace)
			if durable.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil { // and still nobody does
				break
			}
		}
		unused() // also if the file system has no locks after all
	}()
	return nil
}
