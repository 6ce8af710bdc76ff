// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"fmt"
	"os"
)

// space allocates the file's blocks before bbolt needs them. bbolt extends files without
// blocks, so a full disk would show only inside a commit, whose outcome nobody could tell.
type space struct {
	file      *os.File
	noSync    bool
	step      int64
	allocated int64 // from the start of the file
	allocate  func(f *os.File, from, to int64) error
}

// ensure returns nil if the first size bytes of the file have blocks.
func (s *space) ensure(size int64) error {
	if size <= s.allocated {
		return nil
	}
	to := (size + s.step - 1) / s.step * s.step
	err := s.allocate(s.file, s.allocated, to)
	if err == nil && !s.noSync {
		err = s.file.Sync() // the file's new size; bbolt syncs data
	}
	if err != nil {
		return fmt.Errorf("no room in %s: %d bytes more than its %d: %w", s.file.Name(),
			to-s.allocated, s.allocated, err)
	}
	s.allocated = to
	return nil
}

// writeZeros gives the file blocks up to size to, by writing zeros past its end.
func writeZeros(f *os.File, to int64) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	zeros := make([]byte, 1<<20)
	for at := info.Size(); at < to; {
		n, err := f.WriteAt(zeros[:min(int64(len(zeros)), to-at)], at)
		if err != nil {
			return err
		}
		at += int64(n)
	}
	return nil
}
