package persist

import (
	"errors"
	"io/fs"
	"os"
)

// notePath is where a note lies, beside the store's file.
func (s *Store) notePath(name string) string { return s.path + ".note-" + name }

// Note keeps a text about the store as a whole in a small file beside it, in the place of the one before. It is no
// part of the ledgers: it is in no backup, and the store does not read it. After a power cut it may be an older one.
func (s *Store) Note(name string, text []byte) (err error) {
	making := s.notePath(name) + ".new" // what a process that died has left is overwritten
	f, err := os.OpenFile(making, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(making, s.notePath(name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(making))
	}
	return nil
}

// Noted returns what Note has kept, nil if there is nothing.
func (s *Store) Noted(name string) ([]byte, error) {
	text, err := os.ReadFile(s.notePath(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}
