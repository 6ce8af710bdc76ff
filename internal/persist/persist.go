// SPDX-License-Identifier: Apache-2.0

// Package persist keeps ledgers in one bbolt file: the bbolt implementation of
// ledger.Store, and the only room that knows bbolt.
//
// Entries are appended to one tail for all ledgers and dealt out later into packs of each ledger (deal.go); small
// rows beside them tell where each ledger and each
// lane ends (format.go, docs/decisions). One goroutine, the committer, makes
// what waits durable together. Every value carries a checksum of itself and its
// place and is verified when it is read.
//
// A failed commit may be visible and durable all the same. The store then
// refuses everything with ErrUnknown and closes Failed; its process should exit,
// and the next one will see which it was. It does the same when its file was deleted,
// moved or replaced.
//
// Beside the file lies a small one that says which commit was acknowledged last
// (acknowledged.go), so that the next process notices if it is not there (roots.go).
package persist

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/cold"
	"github.com/dpaccountant/accountant/internal/persist/group"
	"github.com/dpaccountant/accountant/internal/persist/pages"
	"github.com/dpaccountant/accountant/internal/persist/roots"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// FileName is the name of the store's file in a daemon's data directory.
const FileName = "accountant.db"

// Config says where a store is and how it behaves. Only Path is required.
type Config struct {
	// Path is the file. It is made (mode 0600) if it does not exist, and so is
	// its directory (mode 0700).
	Path string
	// Traces are names of other files in that directory that show that a store has been
	// there. Beside one of them, or one of the store's own, no new store is made unless
	// Init is set; with Init there must not be a store.
	Traces []string
	Init   bool
	// LockTimeout is how long Open waits for another process to release the
	// file; 1 s if 0.
	LockTimeout time.Duration
	// MaxBatchBytes bounds what one Append or Create stores, in bytes with all
	// its rows; more is ErrTooLarge. 4 MiB if 0.
	MaxBatchBytes int
	// GroupWait is how long a commit waits for stragglers at most, and only while
	// calls overlap; 1 ms if 0, not at all if negative.
	GroupWait time.Duration
	// AllocationStep is by how many bytes the file's space is allocated ahead;
	// 16 MiB if 0. Without room for a commit, Append is ErrUnavailable.
	AllocationStep int64
	// Stop, if set, ends what waits for places outside of the machine (package blobs), which is ErrUnavailable then.
	Stop context.Context
	// Observe, if set, is called after each commit by the committer: it must be
	// quick.
	Observe func(Commit)
	// Merged, if set, is told how each attempt to deal cold entries out into packs has ended. It must be quick.
	Merged func(error)
	// Changing, if set, is called by the committer with each ledger that a commit changes, before anybody sees it and
	// again before it is acknowledged, as Since may have begun between these: it must be quick.
	Changing func(ledger string)

	hooks hooks
}

// Commit describes one durable commit.
type Commit struct {
	Operations int // Appends and Creates that it answered, refusals among them
	Entries    int // log records
	Bytes      int // keys and values written, before bbolt's pages
	Duration   time.Duration
	Sync       time.Duration // the last part of it: the pages were written and synced
}

// hooks let this package's tests intervene.
type hooks struct {
	commit   func(*bolt.Tx) error                               // instead of (*bolt.Tx).Commit
	allocate func(f *os.File, from, to int64) error             // instead of allocate
	noSync   bool                                               // nothing survives a power cut
	alone    bool                                               // keep nothing beside the file, which must be there
	dealt    bool                                               // deal out all of the tail that may be, at once
	step     func(s *Store, least int64) (more bool, err error) // of upkeep, instead of deal
	patience time.Duration                                      // instead of fetchPatience
}

// Store is a ledger.Store in a bbolt file.
type Store struct {
	config Config
	path   string // absolute
	db     *bolt.DB
	opened os.FileInfo // the file as it was opened
	space  space
	id     string

	acknowledged *os.File // nil: not kept
	boot         string   // the kernel's

	commits  *group.Committer[*operation]
	upkeep   upkeep
	retiring sync.Mutex

	published published
	failure   atomic.Pointer[error] // why everything is refused
	failed    chan struct{}         // closed: what became of a commit is unknown
	damaged   chan struct{}         // closed: the file is damaged

	paths sync.Pool // of *pages.Paths, for their memory
	hung  hung
	turn  sync.Mutex   // of who writes, from the beginning of a transaction until it is published
	used  atomic.Int64 // bytes of the file that are in use at least
	stuck stuck
}

var _ ledger.Store = (*Store)(nil)

// ID implements ledger.Store.
func (s *Store) ID() string { return s.id }

// Failed is closed when a commit has failed, or the file is no longer in its place. The store
// refuses everything from then on, and the process should exit.
func (s *Store) Failed() <-chan struct{} { return s.failed }

// Damaged is closed when the file was found damaged in a way for which the store refuses
// everything: a page that is not as bbolt writes it, or a row that Scrub could not read. Damage
// returns what it is. A new process would find the same damage.
func (s *Store) Damaged() <-chan struct{} { return s.damaged }

// Damage returns the damage for which Damaged was closed, or nil.
func (s *Store) Damage() error {
	select {
	case <-s.damaged:
		return s.refused()
	default:
		return nil
	}
}

// Size returns how many bytes of the file its pages take, including free pages. It returns 0
// when the store is closed or refuses everything. Space that is allocated ahead is not counted.
func (s *Store) Size() (bytes int64) {
	_ = s.view(func(v *rows.View) error {
		bytes = v.Tx.Size()
		return nil
	})
	return bytes
}

// Create implements ledger.Store.
func (s *Store) Create(g ledger.Genesis) (sum ledger.Summary, created bool, err error) {
	// Most often a job finds the ledger of its earlier runs: no commit for that.
	err = s.view(func(v *rows.View) error {
		sum, err = existing(v, g.Spec)
		return err
	})
	if !errors.Is(err, ledger.ErrNotFound) {
		return sum, false, err
	}
	o := &operation{create: &creation{genesis: g}, done: make(chan struct{})}
	if err := s.submit(o); err != nil {
		return ledger.Summary{}, false, err
	}
	return o.create.summary, o.create.created, nil
}

// Append implements ledger.Store.
func (s *Store) Append(batch []ledger.Proposal) ([][]ledger.Hash, error) {
	var o *operation
	err := s.fetchFor(func(fetched map[cold.Ref][]byte) error {
		o = &operation{batch: batch, fetched: fetched, done: make(chan struct{})}
		return s.submit(o)
	})
	if err != nil {
		return nil, err
	}
	return o.hashes, nil
}

// submit hands an operation to the committer and waits for it.
func (s *Store) submit(o *operation) error {
	if !s.commits.Submit(o) {
		return s.errClosed()
	}
	<-o.done
	return o.err
}

// Close implements ledger.Store. Later calls fail with ErrUnavailable. What cannot be closed
// any more is left to the end of the process.
func (s *Store) Close() error {
	first := s.commits.Close()
	closed := make(chan error, 1)
	go func() {
		<-s.commits.Done()
		if first {
			closed <- s.close()
		} else {
			closed <- nil
		}
	}()
	select {
	case err := <-closed:
		return err
	case <-s.stuck.noted():
		return nil // everybody was told why
	}
}

func (s *Store) close() error {
	s.upkeep.end()
	err := s.settle()
	err = errors.Join(err, s.db.Close()) // waits for readers
	if s.acknowledged != nil {
		err = errors.Join(err, s.acknowledged.Close())
	}
	return err
}

// settle makes both root pages name the same state, which marks an orderly close: from then on
// neither page can be damaged unnoticed, or bring back an older state. If the disk is full this
// is left undone.
func (s *Store) settle() error {
	if s.refused() != nil {
		return nil
	}
	if err := s.inPlace(); err != nil {
		return s.gone(err)
	}
	settled := false
	if err := s.view(func(v *rows.View) (err error) {
		settled, err = v.Settled()
		return err
	}); err != nil || settled {
		return err
	}
	err := s.change(func(w *writing) error {
		w.stop()
		return nil
	})
	if err == nil {
		err = s.change(func(*writing) error { return nil })
	}
	if errors.Is(err, ledger.ErrUnavailable) {
		return nil
	}
	return errors.Join(err, s.syncAcknowledged())
}

func (s *Store) errClosed() error {
	return fmt.Errorf("%w: %s is closed", ledger.ErrUnavailable, s.config.Path)
}

// Failure returns the failure for which Failed was closed, or nil.
func (s *Store) Failure() error {
	select {
	case <-s.failed:
		return s.refused()
	default:
		return nil
	}
}

// fail makes the store refuse everything.
func (s *Store) fail(err error) error {
	err = fmt.Errorf("%w: %s: %v", ledger.ErrUnknown, s.config.Path, err)
	if s.failure.CompareAndSwap(nil, &err) {
		close(s.failed)
		s.published.wake()
	}
	return err
}

// refuse makes the store refuse everything because its file is damaged.
func (s *Store) refuse(err error) {
	if s.failure.CompareAndSwap(nil, &err) {
		close(s.damaged)
		s.published.wake()
	}
}

// refused returns the error of a store that has failed, or whose file is damaged.
func (s *Store) refused() error {
	if err := s.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// view runs read in a transaction on the durable state. bbolt shows a commit as soon as it is
// written, before it is synced. A read that sees such a commit waits until it is durable,
// because its answer may count as an acknowledgement.
func (s *Store) view(read func(*rows.View) error) error {
	if err := s.refused(); err != nil {
		return err
	}
	published := s.published.newest()
	tx, err := s.begin(false)
	if err != nil {
		return err
	}
	err = rows.Guard(func() error {
		if tx.ID() < published {
			return s.otherRoot(tx.ID(), published)
		}
		if err := s.published.await(tx.ID(), s.refused); err != nil {
			return err
		}
		paths := s.paths.Get().(*pages.Paths)
		defer func() {
			paths.Reset(pages.File{}) // nothing refers to what bbolt may unmap
			s.paths.Put(paths)
		}()
		v := &rows.View{Tx: tx, File: s.space.file, Paths: paths}
		v.Fetch = func(a *rows.AwayError) ([]byte, error) { return s.fetch(s.config.Stop, a) }
		err := read(v)
		if errors.Is(err, ledger.ErrDamaged) {
			return err
		}
		return cmp.Or(v.Used(), err)
	})
	s.damagedPage(err)
	s.rollback(tx)
	if e := s.inPlace(); e != nil {
		return s.gone(e)
	}
	return err
}

// otherRoot makes the store refuse everything because bbolt shows another transaction than the
// newest published one. bbolt does so if the newest root page is damaged: it takes the older
// one.
func (s *Store) otherRoot(shown, published int) error {
	err := roots.Lost(s.path, "while the daemon uses it, its newest commit is number %d, but number %d was "+
		"acknowledged last: a root page was damaged, or the content was replaced", shown, published)
	s.refuse(err)
	return err
}

// published is the newest transaction that is durable.
type published struct {
	mu    sync.Mutex
	tx    int
	ready sync.Cond
}

func (p *published) set(tx int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tx = tx
	p.ready.Broadcast()
}

func (p *published) newest() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tx
}

func (p *published) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ready.Broadcast()
}

// await returns nil once tx is published, or what refused says before that.
func (p *published) await(tx int, refused func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.tx < tx {
		if err := refused(); err != nil {
			return err
		}
		p.ready.Wait()
	}
	return nil
}
