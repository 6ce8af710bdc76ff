// SPDX-License-Identifier: Apache-2.0

//go:build darwin || freebsd

package local

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// CheckFileSystem returns an error if dir is on a file system on which locks and syncing cannot
// be relied on.
func CheckFileSystem(dir string) error {
	var about unix.Statfs_t
	if err := unix.Statfs(dir, &about); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	if about.Flags&unix.MNT_LOCAL != 0 {
		return nil
	}
	return onNetwork(dir, unix.ByteSliceToString(about.Fstypename[:]))
}
