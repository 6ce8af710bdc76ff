package persist

import (
	"errors"
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
