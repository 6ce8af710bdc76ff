// SPDX-License-Identifier: Apache-2.0

//go:build darwin || freebsd

package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// checkFileSystem returns an error if dir is on a file system on which locks and syncing cannot
// be relied on.
func checkFileSystem(dir string) error {
	var about unix.Statfs_t
	if err := unix.Statfs(dir, &about); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	if about.Flags&unix.MNT_LOCAL != 0 {
		return nil
	}
	return onNetwork(dir, unix.ByteSliceToString(about.Fstypename[:]))
}
