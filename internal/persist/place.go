// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/roots"
)

// watchEvery is how often an idle store checks that its file is in its place.
const watchEvery = time.Second

// inPlace returns an error unless the open file is still the one under its name. If it is not,
// everything written to it is lost when the process ends, and the next process would open
// another file or make one. A file that is shorter than its pages is ErrDamaged.
//
// What is in use is read before the size: a commit enlarges the file first and uses the new pages then.
func (s *Store) inPlace() error {
	used := s.used.Load()
	found, err := os.Stat(s.path)
	switch {
	case err != nil:
		return fmt.Errorf("the open file is no longer there, it was deleted or its directory moved: %w", err)
	case !os.SameFile(s.opened, found):
		return fmt.Errorf("the open file is no longer there, another file has taken its name")
	case found.Size() < used:
		return fmt.Errorf("%w: store %s: the file was cut short while the daemon uses it (%d bytes; at least %d are "+
			"in use): stop the daemon and restore a backup",
			ledger.ErrDamaged, s.config.Path, found.Size(), used)
	}
	return nil
}

// gone makes the store refuse everything because of an error from inPlace.
func (s *Store) gone(err error) error {
	if errors.Is(err, ledger.ErrDamaged) {
		s.refuse(err)
		return err
	}
	return s.fail(err)
}

// watch makes the store fail when its file leaves its place, even if nobody uses the store.
func (s *Store) watch() {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-s.commits.Done():
			return
		case <-s.failed:
			return
		case <-s.damaged:
			return
		case <-ticker.C:
			if err := s.inPlace(); err != nil {
				_ = s.gone(err) // whoever asks is told
			}
		}
	}
}

// trace returns the name of a file that shows that there was a store in the directory, or "".
func (c Config) trace() (string, error) {
	files, err := os.ReadDir(filepath.Dir(c.Path))
	if err != nil {
		return "", err
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), filepath.Base(c.Path)+".") { // of ours: a copy, a restore, what was acknowledged
			return f.Name(), nil
		}
		for _, name := range c.Traces {
			if f.Name() == name {
				return name, nil
			}
		}
	}
	return "", nil
}

// checkNew returns an error if there was a store where a new one would be made, unless a new
// one was asked for. A volume may be missing, or a file lost, and a new store would have
// forgotten everything that was charged.
func (c Config) checkNew() error {
	name, err := c.trace()
	if err != nil || name == "" || c.Init {
		return err
	}
	return fmt.Errorf("it is missing or empty, but %s shows that a store has been here, and a new one would have "+
		"forgotten all that was charged: put the file or the volume back, or restore a backup to another directory; "+
		"to start anew with nothing charged, start once with --init",
		filepath.Join(filepath.Dir(c.Path), name))
}

// clear removes files of a lost store that would disturb a new one.
func (c Config) clear() error {
	for _, suffix := range []string{roots.Suffix, restoringSuffix} {
		if err := remove(c.Path + suffix); err != nil {
			return err
		}
	}
	return nil
}
