// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package checks

import (
	"golang.org/x/sys/unix"
)

// freeBytes is what an ordinary user may still write to path's file system.
func freeBytes(path string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil
}
