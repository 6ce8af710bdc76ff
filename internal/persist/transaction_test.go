// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// The newest root page is damaged while the store is used: bbolt shows the commit before
// it. No answer comes from there, nothing is written, and everybody is told.
func TestNewestRootDamagedWhileServing(t *testing.T) {
	for name, use := range map[string]func(s *Store, p ledger.Proposal) error{
		"a question": func(s *Store, _ ledger.Proposal) error {
			records, err := s.Records("a", 1, 10)
			if err == nil && len(records) != 3 {
				t.Errorf("%d records of 3, without an error", len(records))
			}
			return err
		},
		"a charge": func(s *Store, p ledger.Proposal) error {
			_, err := s.Append([]ledger.Proposal{p})
			return err
		},
		"a key": func(s *Store, _ ledger.Proposal) error { return s.BindKey(rows.BoundKey{}) },
		"the end": func(s *Store, _ ledger.Proposal) error {
			if err := s.Close(); err != nil && !errors.Is(err, ledger.ErrDamaged) {
				return err
			}
			return s.refused()
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), FileName)
			s := mustOpen(t, Config{Path: path, AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
			defer s.Close()
			mustCreate(t, s, "a")
			for range 3 {
				if _, err := s.Append([]ledger.Proposal{propose(t, s, "a", lane1(0))}); err != nil {
					t.Fatal(err)
				}
			}
			p := propose(t, s, "a", lane1(0))
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			at := s.published.tx%2*os.Getpagesize() + 16 + 20
			content[at] ^= 4
			writeByte(t, path, at, content[at])
			if err := use(s, p); !errors.Is(err, ledger.ErrDamaged) ||
				!strings.Contains(err.Error(), "was acknowledged last") {
				t.Errorf("%v", err)
			}
			if _, err := s.Records("a", 1, 10); !errors.Is(err, ledger.ErrDamaged) || s.Damage() == nil {
				t.Errorf("afterwards: %v, %v", err, s.Damage())
			}
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, content) {
				t.Errorf("written to: %v", err)
			}
		})
	}
}

// A file is cut short under many readers and writers: whoever asks is told that it is
// damaged, and the store can be closed, whatever bbolt still holds.
func TestCutShortUnderLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	s := mustOpen(t, Config{Path: path, AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
	mustCreate(t, s, "a")
	var users sync.WaitGroup
	begun := make(chan struct{}, 8)
	var closing atomic.Bool // from then on users may be told that the store is closed
	for i := range cap(begun) {
		users.Go(func() {
			for n := 0; ; n++ {
				var err error
				if i%2 == 0 {
					var p ledger.Proposal
					if p, err = next(s, "a", i); err == nil {
						_, err = s.Append([]ledger.Proposal{p})
					}
					if errors.Is(err, ledger.ErrConflict) {
						err = nil
					}
				} else {
					_, err = s.Load("a")
				}
				if n == 0 {
					begun <- struct{}{}
				}
				if err != nil {
					// A commit that met the damage half way cannot tell whether it is durable.
					told := errors.Is(err, ledger.ErrDamaged) || errors.Is(err, ledger.ErrUnknown)
					if !told && !closing.Load() {
						t.Error(err)
					}
					return
				}
			}
		})
	}
	for range cap(begun) {
		<-begun
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	<-s.Damaged()
	closing.Store(true)
	_ = s.Close() // returns, whatever is stuck
}
