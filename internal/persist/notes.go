// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"errors"
	"io/fs"
	"os"

	"github.com/dpaccountant/accountant/internal/durable"
)

// notePath is where a note lies, beside the store's file.
func (s *Store) notePath(name string) string { return s.path + ".note-" + name }

// Note keeps a text about the store as a whole in a small file beside it, in the place of the one before. It is no
// part of the ledgers: it is in no backup, and the store does not read it.
func (s *Store) Note(name string, text []byte) error {
	return durable.WriteFile(s.notePath(name), text)
}

// Noted returns what Note has kept, nil if there is nothing.
func (s *Store) Noted(name string) ([]byte, error) {
	text, err := os.ReadFile(s.notePath(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}
