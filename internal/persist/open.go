// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/dpaccountant/accountant/internal/durable"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/group"
	"github.com/dpaccountant/accountant/internal/persist/pages"
	"github.com/dpaccountant/accountant/internal/persist/roots"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// Open opens the store at c.Path, or makes it. It fails, and names the file, if another process
// has the file open, if it is not a store, if its format version is not this program's, or if
// it is visibly damaged.
func Open(c Config) (*Store, error) {
	if c.Path == "" {
		return nil, errors.New("store: no path given")
	}
	c.LockTimeout = cmp.Or(c.LockTimeout, time.Second)
	c.MaxBatchBytes = cmp.Or(c.MaxBatchBytes, ledger.MaxAppendBytes)
	c.GroupWait = cmp.Or(c.GroupWait, time.Millisecond)
	c.AllocationStep = cmp.Or(c.AllocationStep, 16<<20)
	if c.Stop == nil {
		c.Stop = context.Background()
	}
	if c.Merged == nil {
		c.Merged = func(error) {}
	}
	if c.hooks.commit == nil {
		c.hooks.commit = (*bolt.Tx).Commit
	}
	if c.hooks.allocate == nil {
		c.hooks.allocate = allocate
	}
	path, err := filepath.Abs(c.Path)
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", c.Path, err)
	}
	s := &Store{
		config: c,
		path:   path,
		failed: make(chan struct{}),

		damaged: make(chan struct{}),
		paths:   sync.Pool{New: func() any { return new(pages.Paths) }},
		stuck:   stuck{done: make(chan struct{})},
	}
	s.published.ready.L = &s.published.mu
	if err := durable.MakeDirectory(filepath.Dir(c.Path)); err != nil {
		return nil, fmt.Errorf("store %s: %w", c.Path, err)
	}
	info, err := os.Stat(c.Path)
	switch {
	case err == nil && info.Size() > 0:
	case c.hooks.alone:
		return nil, fmt.Errorf("store %s: it has been removed", c.Path)
	case c.Init:
		if err := c.clear(); err != nil {
			return nil, fmt.Errorf("store %s: %w", c.Path, err)
		}
	}
	if err := checkRestored(c.Path); err != nil {
		return nil, err
	}
	if err != nil || info.Size() == 0 {
		if err := c.checkNew(); err != nil {
			return nil, fmt.Errorf("store %s: %w", c.Path, err)
		}
	}
	if err := checkBeforeOpen(c.Path, c.LockTimeout); err != nil {
		return nil, fmt.Errorf("store %s: %w", c.Path, err)
	}
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("store %s: %w", c.Path, err)
	}
	return s, nil
}

func (s *Store) open() error {
	var file *os.File
	err := rows.Guard(func() (err error) {
		s.db, err = bolt.Open(s.config.Path, 0o600, &bolt.Options{
			Timeout:         s.config.LockTimeout,
			FreelistType:    bolt.FreelistMapType,
			InitialMmapSize: initialMap(),
			NoSync:          s.config.hooks.noSync,
			OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
				f, err := os.OpenFile(name, flag, mode)
				if file == nil {
					file = f
				}
				return f, err
			},
		})
		return err
	})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return fmt.Errorf("another process has it open (waited %v); allowed: one process at a time, "+
			"so stop that one or take another directory", s.config.LockTimeout)
	case err != nil:
		if file != nil {
			_ = file.Close() // after a panic bbolt has not; else it is closed already
		}
		var system syscall.Errno
		if errors.As(err, &system) { // such as no room for a new file: that damages nothing
			return err
		}
		if info, e := os.Stat(s.config.Path); e == nil && info.Size() < int64(2*os.Getpagesize()) {
			return fmt.Errorf("%w: the file has %d bytes, a store has at least %d: it was cut short; restore a "+
				"backup; or remove the file, if no ledger was ever created in it", ledger.ErrDamaged, info.Size(),
				4*os.Getpagesize())
		}
		if errors.Is(err, bolterrors.ErrInvalid) || errors.Is(err, bolterrors.ErrChecksum) {
			return fmt.Errorf("both root pages are damaged, or it is no store (%w): restore a backup", err)
		}
		return err
	}
	s.space = space{file: file, noSync: s.config.hooks.noSync, step: s.config.AllocationStep,
		allocate: s.config.hooks.allocate}
	s.opened, err = file.Stat()
	var nextKey uint64
	var tail int64
	if err == nil {
		nextKey, err = s.prepare(file)
	}
	if err == nil {
		err = s.view(func(v *rows.View) (err error) {
			tail, err = tailSize(v)
			return err
		})
	}
	if err == nil {
		err = removeCopies(s.config.Path)
	}
	if err != nil {
		_ = s.db.Close() // nothing was written that is to be kept
		if s.acknowledged != nil {
			_ = s.acknowledged.Close()
		}
		return err
	}
	s.upkeep.most, s.upkeep.least = tailMost, tailLeast
	if s.config.hooks.dealt {
		s.upkeep.most, s.upkeep.least = 0, 0
	}
	step := s.deal
	if h := s.config.hooks.step; h != nil {
		step = func(least int64) (bool, error) { return h(s, least) }
	}
	s.upkeep.start(tail, step)
	c := &committer{Store: s, nextKey: nextKey, numbers: map[string]uint64{}}
	s.commits = group.Start(s.config.GroupWait, c.commit, func(o *operation) { close(o.done) })
	go s.watch()
	return nil
}

// initialMap returns how much address space to reserve, so that the map need not grow before
// the file has that size; growing waits for readers. This is address space, not memory.
func initialMap() int {
	if strconv.IntSize < 64 {
		return 64 << 20
	}
	return 1 << 30
}

// prepare makes the buckets of a new file, or checks those of an old one.
func (s *Store) prepare(file *os.File) (nextKey uint64, err error) {
	isNew := false
	read := func(tx *bolt.Tx) (err error) {
		if size := tx.Size(); size > s.opened.Size() {
			return fmt.Errorf("%w: the file has %d bytes, its pages need %d: it was cut short",
				ledger.ErrDamaged, s.opened.Size(), size)
		}
		s.published.tx = tx.ID()
		s.used.Store(tx.Size())
		v := &rows.View{Tx: tx, File: file}
		if name, _ := tx.Cursor().First(); name == nil {
			isNew = true
			damaged, err := roots.Damaged(tx, file)
			if err == nil && damaged >= 0 {
				err = fmt.Errorf("%w: root page %d is damaged, and the other one is of a file without ledgers: "+
					"restore a backup; or remove the file, if no ledger was ever created in it",
					ledger.ErrDamaged, damaged)
			}
			return errors.Join(err, s.config.checkNew())
		}
		if s.id, err = v.CheckFormat(); err != nil {
			return err
		}
		if !s.config.hooks.alone { // a restore is what follows these
			if err := v.CheckBackup(s.config.Path); err != nil {
				return err
			}
			if err := roots.Check(v, file, s.config.Path, s.id); err != nil {
				return err
			}
		}
		if s.config.Init {
			return errors.New("--init was given, but there is a store: start without it")
		}
		nextKey, err = v.Next()
		return err
	}
	if err := rows.Guard(func() error { return s.db.View(read) }); err != nil {
		return 0, err
	}
	if isNew {
		if err := s.initialise(); err != nil {
			return 0, err
		}
		nextKey = 1
	}
	if s.config.hooks.noSync {
		return nextKey, s.keepAcknowledged()
	}
	// A process that was killed may have left a commit that is visible and not yet
	// synced; from here on it is told of.
	if err := file.Sync(); err != nil {
		return 0, err
	}
	if err := s.keepAcknowledged(); err != nil {
		return 0, err
	}
	if err := s.syncAcknowledged(); err != nil {
		return 0, err
	}
	return nextKey, durable.SyncDirectory(filepath.Dir(s.config.Path))
}

// initialise makes the buckets and the store's identifier, in one commit.
func (s *Store) initialise() error {
	id, err := uuid.NewRandom()
	if err != nil {
		return err
	}
	s.id = id.String()
	return s.change(func(w *writing) error {
		w.File = nil // of which nothing is to be checked yet
		w.stage(rows.MetaBucket, rows.FormatKey, append(w.value(4), rows.Format()...))
		w.stageID(s.id)
		for b := range rows.Buckets {
			if _, err := w.Tx.CreateBucket([]byte(b.String())); err != nil {
				return err
			}
		}
		return nil
	})
}

// stageID stages the store's identifier.
func (w *writing) stageID(id string) {
	w.stage(rows.MetaBucket, []byte("store"), append(w.value(len(id)), id...))
}
