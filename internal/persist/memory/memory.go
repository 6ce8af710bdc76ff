// SPDX-License-Identifier: Apache-2.0

// Package memory is a ledger.Store in memory that fails on request. It is what
// the bbolt store is compared with, and what tests of the rooms above run on:
// plain code, the same stored bytes and hashes, failures in pairs (the write is
// kept, the write is lost) and limits as small as one likes.
//
// It is a package of its own because it is the oracle of the other stores, and no daemon serves it.
package memory

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/book"
)

// Failure is what happens to a write instead of success.
type Failure uint8

const (
	// None: the write runs its normal course.
	None Failure = iota
	// FailAndKeep: ErrUnknown, and the write is there.
	FailAndKeep
	// FailAndLose: ErrUnknown, and nothing was written.
	FailAndLose
	// Conflict: ErrConflict, nothing was written.
	Conflict
	// TooLarge: ErrTooLarge, nothing was written.
	TooLarge
	// Unavailable: ErrUnavailable, nothing was written.
	Unavailable
)

// errorOf is the sentinel that a failure shows.
var errorOf = map[Failure]error{
	FailAndKeep: ledger.ErrUnknown, FailAndLose: ledger.ErrUnknown,
	Conflict: ledger.ErrConflict, TooLarge: ledger.ErrTooLarge, Unavailable: ledger.ErrUnavailable,
}

// Config says how a store behaves. The zero value never fails.
type Config struct {
	// StoreID is a UUID; a fixed one if empty.
	StoreID string
	// MaxBatchBytes bounds the stored bytes of one Append or Create; more is
	// ErrTooLarge. 0 means no limit.
	MaxBatchBytes int
	// Plan, if set, is asked before each Append, and before each Create of a
	// ledger that does not exist (with a nil batch). It may block. It is asked
	// after what FailNext asked for has come to pass.
	Plan func(batch []ledger.Proposal) Failure
	// StopOnUnknown makes every call after an ErrUnknown fail with ErrUnknown
	// until Reopen, as the bbolt store does. Without it the store goes on and
	// tells what was kept.
	StopOnUnknown bool
}

// Store is a ledger.Store.
type Store struct {
	config Config
	data   *data

	mu      sync.Mutex
	next    []Failure
	refused error // what every call answers from now on
}

// data is what is durable.
type data struct {
	mu      sync.RWMutex
	ledgers map[string]*kept
	notes   map[string][]byte
	marks   map[string]map[uint64][]byte // checkpoints by ledger and position, as stored

	watching sync.Mutex
	watchers map[*func(names ...string)]*Store
}

var _ ledger.Store = (*Store)(nil)

// New returns an empty store.
func New(c Config) *Store {
	c.StoreID = cmp.Or(c.StoreID, "5f0c9a52-6f0e-4b0e-9d67-3f1a2b7c8d90")
	return &Store{config: c, data: &data{ledgers: map[string]*kept{}, marks: map[string]map[uint64][]byte{}}}
}

// Reopen closes s and returns a store over what s has kept, as after a restart.
func (s *Store) Reopen() *Store {
	_ = s.Close() // never fails
	return &Store{config: s.config, data: s.data}
}

// FailNext lets the next writes fail, one after the other. None lets one pass.
func (s *Store) FailNext(f ...Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = append(s.next, f...)
}

// failure says what is to happen to a write.
func (s *Store) failure(batch []ledger.Proposal) Failure {
	s.mu.Lock()
	if len(s.next) > 0 {
		f := s.next[0]
		s.next = s.next[1:]
		s.mu.Unlock()
		return f
	}
	s.mu.Unlock()
	if s.config.Plan == nil {
		return None
	}
	return s.config.Plan(batch)
}

func (s *Store) check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// failed makes the error of a failure that was asked for.
func (s *Store) failed(f Failure) error {
	err := fmt.Errorf("%w (as planned)", errorOf[f])
	if (f == FailAndKeep || f == FailAndLose) && s.config.StopOnUnknown {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.refused == nil {
			s.refused = err
		}
	}
	return err
}

// ID implements ledger.Store.
func (s *Store) ID() string { return s.config.StoreID }

// Close implements ledger.Store. Later calls fail with ErrUnavailable.
func (s *Store) Close() error {
	s.data.mu.Lock() // waits for what is being written
	defer s.data.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = fmt.Errorf("%w: the store is closed", ledger.ErrUnavailable)
	return nil
}

// Create implements ledger.Store.
func (s *Store) Create(g ledger.Genesis) (ledger.Summary, bool, error) {
	if sum, found, err := s.existing(g.Spec); found || err != nil {
		return sum, false, err
	}
	f := s.failure(nil)
	if f == Conflict {
		return ledger.Summary{}, false, fmt.Errorf("memory: a Create cannot conflict; plan another failure")
	}
	if f != None && f != FailAndKeep {
		return ledger.Summary{}, false, s.failed(f)
	}
	b, err := newKept(g, s.config.StoreID)
	if err != nil {
		return ledger.Summary{}, false, err
	}
	if err := s.checkSize(len(b.genesis)); err != nil {
		return ledger.Summary{}, false, err
	}
	sum, created, err := s.insert(g.Spec, b)
	if err != nil || !created {
		return sum, false, err
	}
	if f == FailAndKeep {
		return ledger.Summary{}, false, s.failed(f)
	}
	return sum, true, nil
}

// existing finds the ledger of an equal spec, or ErrExists.
func (s *Store) existing(spec ledger.Spec) (ledger.Summary, bool, error) {
	if err := s.check(); err != nil {
		return ledger.Summary{}, false, err
	}
	s.data.mu.RLock()
	defer s.data.mu.RUnlock()
	b, ok := s.data.ledgers[spec.Name]
	if !ok {
		return ledger.Summary{}, false, nil
	}
	sum, err := b.summary()
	if err == nil {
		sum, err = book.Existing(sum, spec)
	}
	return sum, err == nil, err
}

func (s *Store) insert(spec ledger.Spec, b *kept) (ledger.Summary, bool, error) {
	s.data.mu.Lock()
	if err := s.check(); err != nil {
		s.data.mu.Unlock()
		return ledger.Summary{}, false, err
	}
	if _, taken := s.data.ledgers[spec.Name]; taken { // since existing looked
		s.data.mu.Unlock()
		sum, _, err := s.existing(spec)
		return sum, false, err
	}
	s.data.ledgers[spec.Name] = b
	defer s.data.mu.Unlock()
	sum, err := b.summary()
	return sum, err == nil, err
}

// Append implements ledger.Store.
func (s *Store) Append(batch []ledger.Proposal) ([][]ledger.Hash, error) {
	return s.appendOn(batch, nil, nil)
}

// appendOn is Append, provided that the heads of ledgers are still these.
func (s *Store) appendOn(batch []ledger.Proposal, names []string, heads []ledger.Head) ([][]ledger.Hash, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	f := None
	if len(batch) > 0 {
		f = s.failure(batch)
	}
	if f != None && f != FailAndKeep {
		return nil, s.failed(f)
	}
	hashes, err := s.append(batch, names, heads)
	if err != nil {
		return nil, err
	}
	if f == FailAndKeep {
		return nil, s.failed(f)
	}
	return hashes, nil
}

func (s *Store) append(batch []ledger.Proposal, names []string, heads []ledger.Head) ([][]ledger.Hash, error) {
	s.data.mu.Lock()
	defer s.data.mu.Unlock()
	for i, name := range names {
		if heads[i] != s.data.head(name) {
			return nil, fmt.Errorf("ledger %s: %w", name, ledger.ErrConflict)
		}
	}
	if err := errors.Join(s.check(), book.Distinct(batch)); err != nil {
		return nil, err
	}
	written := make(map[string]*kept, len(batch))
	hashes := make([][]ledger.Hash, len(batch))
	size := 0
	for i := range batch {
		p := &batch[i]
		old, err := s.find(p.Ledger)
		begins, err := book.Found(p, err)
		if begins {
			old, err = newKept(*p.Genesis, s.config.StoreID)
		}
		if err != nil {
			return nil, err
		}
		b, n, err := old.with(p)
		if err != nil {
			return nil, err
		}
		if begins {
			n += len(b.genesis)
		}
		written[p.Ledger] = b
		size += n
		for _, r := range b.log[len(old.log):] {
			hashes[i] = append(hashes[i], r.hash)
		}
	}
	if err := s.checkSize(size); err != nil {
		return nil, err
	}
	changed := make([]string, 0, len(written))
	for name, b := range written {
		s.data.ledgers[name] = b
		changed = append(changed, name)
	}
	s.tell(changed)
	return hashes, nil
}

func (s *Store) checkSize(n int) error {
	if limit := s.config.MaxBatchBytes; limit > 0 && n > limit {
		return fmt.Errorf("%w: %d bytes; allowed: at most %d", ledger.ErrTooLarge, n, limit)
	}
	return nil
}

// head returns that of a ledger, zero if it is not there; mu must be held.
func (d *data) head(name string) (head ledger.Head) {
	if b, ok := d.ledgers[name]; ok {
		head = b.head.At
	}
	return head
}

// find returns a ledger's book; data.mu must be held.
func (s *Store) find(name string) (*kept, error) {
	b, ok := s.data.ledgers[name]
	if !ok {
		return nil, fmt.Errorf("ledger %s: %w", name, ledger.ErrNotFound)
	}
	return b, nil
}

// read calls f with a ledger's book.
func (s *Store) read(name string, f func(*kept) error) error {
	s.data.mu.RLock()
	defer s.data.mu.RUnlock()
	if err := s.check(); err != nil {
		return err
	}
	b, err := s.find(name)
	if err != nil {
		return err
	}
	return f(b)
}

// List implements ledger.Store.
func (s *Store) List(prefix, after string, limit int) ([]ledger.Summary, error) {
	s.data.mu.RLock()
	defer s.data.mu.RUnlock()
	if err := s.check(); err != nil {
		return nil, err
	}
	var names []string
	for name := range s.data.ledgers {
		if strings.HasPrefix(name, prefix) && name > after {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var out []ledger.Summary
	for _, name := range names[:min(max(limit, 0), len(names))] {
		sum, err := s.data.ledgers[name].summary()
		if err != nil {
			return nil, err
		}
		out = append(out, sum)
	}
	return out, nil
}
