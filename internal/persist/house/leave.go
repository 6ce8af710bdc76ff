// SPDX-License-Identifier: Apache-2.0

package house

import "io"

// Leaving is a store whose ledgers can be moved away.
type Leaving interface {
	// Moved returns why a store that was moved away refuses everything, or nil.
	Moved() error
	// Backup makes a copy of a store that serves.
	Backup() (content io.ReadCloser, size int64, err error)
}

// Leave has move mark a store as moved away, unless it is. Before that it makes a backup and drops it, which finds
// damage and a full disk while there is a way back.
func Leave(s Leaving, move func() error) error {
	if s.Moved() != nil {
		return nil
	}
	trial, _, err := s.Backup()
	if err != nil {
		return err
	}
	if err := trial.Close(); err != nil {
		return err
	}
	return move()
}
