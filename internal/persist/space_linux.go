// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// allocate gives the bytes from … to of a file their blocks, without changing
// what is there.
func allocate(f *os.File, from, to int64) error {
	for {
		err := unix.Fallocate(int(f.Fd()), 0, from, to-from)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
			return writeZeros(f, to)
		default:
			return os.NewSyscallError("fallocate", err)
		}
	}
}

// checkFree returns an error unless the file system of f has room for size bytes.
func checkFree(f *os.File, size int64) error {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &fs); err != nil {
		return os.NewSyscallError("fstatfs", err)
	}
	if free := fs.Bavail * uint64(fs.Bsize); free < uint64(size) {
		return fmt.Errorf("%d bytes are free; allowed: at least %d, its size and room for the ledgers to grow",
			free, size)
	}
	return nil
}
