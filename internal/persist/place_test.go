// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"os"
	"path/filepath"
	"testing"
)

// A commit that needs room enlarges the file and then uses the new pages. A check at that moment does not
// take the file for one that was cut short.
func TestInPlaceWhileGrowing(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	s := mustOpen(t, Config{Path: path, hooks: hooks{noSync: true}})
	defer s.Close()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	grown := make(chan error, 1)
	go func() {
		for n := range int64(10_000) {
			size := info.Size() + n + 1
			if err := os.Truncate(path, size); err != nil {
				grown <- err
				return
			}
			s.uses(size)
		}
		grown <- nil
	}()
	for {
		select {
		case err := <-grown:
			if err != nil {
				t.Error(err)
			}
			return
		default:
			if err := s.inPlace(); err != nil {
				t.Error(err)
				<-grown
				return
			}
		}
	}
}
