// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/record"
)

// Rebuild makes the file of a store again of what was written to it, for Restore. Nothing of it is decided again, but
// all hashes are compared; Restore verifies the rest.
type Rebuild struct {
	store  *Store
	path   string
	states map[string]*ledger.State

	batch  []ledger.Proposal // of different ledgers
	hashes [][]ledger.Hash   // that it has to have
	in     map[string]bool
	bytes  int
}

const (
	rebuildBytes    = 2 << 20 // about how many bytes of entries one commit has
	rebuildTogether = 1000    // of how many ledgers
	rebuildStates   = 4096    // how many ledgers are remembered
)

// NewRebuild begins a file, which must not be there, of the store that has the identifier.
func NewRebuild(path, id string) (*Rebuild, error) {
	s, err := Open(Config{Path: path, MaxBatchBytes: 64 << 20, hooks: hooks{noSync: true}})
	if err != nil {
		return nil, err
	}
	s.id = id
	r := &Rebuild{store: s, path: path, states: map[string]*ledger.State{}, in: map[string]bool{}}
	if err := s.change(func(w *writing) error { w.stageID(id); return nil }); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return r, nil
}

// Add adds what was written to a ledger.
func (r *Rebuild) Add(w Written) error {
	if r.in[w.Ledger] {
		if err := r.commit(); err != nil {
			return err
		}
	}
	var genesis *ledger.Genesis
	if w.Genesis != nil {
		var err error
		if genesis, err = r.begin(w); err != nil {
			return err
		}
	}
	state, err := r.state(w.Ledger)
	if err != nil {
		return err
	}
	if at := state.Summary().Head; at.Position != w.After || at.Hash != w.Before {
		return fmt.Errorf("%w: ledger %s: what follows entry %d, of hash %x, was written to it; it has entry %d, of "+
			"hash %x", ledger.ErrDamaged, w.Ledger, w.After, w.Before, at.Position, at.Hash)
	}
	records, hashes, size := make([]ledger.Record, len(w.Entries)), make([]ledger.Hash, len(w.Entries)), 0
	previous := w.Before
	for i, raw := range w.Entries {
		e, _, err := record.UnmarshalEntry(raw)
		if err != nil {
			return fmt.Errorf("ledger %s, position %d: %w", w.Ledger, w.After+uint64(i)+1, err)
		}
		hashes[i] = record.EntryHash(previous, raw)
		records[i] = ledger.Record{Entry: e, Hash: hashes[i], Previous: previous, Raw: raw}
		previous, size = hashes[i], size+len(raw)
	}
	p := ledger.Proposal{Ledger: w.Ledger}
	if len(records) > 0 {
		p = state.Retrace(records)
	}
	p.Genesis = genesis
	r.batch, r.hashes, r.in[w.Ledger] = append(r.batch, p), append(r.hashes, hashes), true
	if r.bytes += size + len(w.Genesis); r.bytes < rebuildBytes && len(r.batch) < rebuildTogether {
		return nil
	}
	return r.commit()
}

// begin reads a ledger's first record, which may be of an earlier store, and remembers the ledger without entries.
func (r *Rebuild) begin(w Written) (*ledger.Genesis, error) {
	g, err := record.UnmarshalGenesis(w.Genesis)
	if err != nil {
		return nil, fmt.Errorf("ledger %s: %w", w.Ledger, err)
	}
	if again, err := record.MarshalGenesis(g); err != nil || !bytes.Equal(again, w.Genesis) || g.Spec.Name != w.Ledger {
		return nil, errors.Join(err, fmt.Errorf("%w: ledger %s: its first record is not the one that was written",
			ledger.ErrDamaged, w.Ledger))
	}
	if err := r.forget(); err != nil {
		return nil, err
	}
	r.states[w.Ledger] = ledger.NewState(ledger.Snapshot{Summary: ledger.Summary{Genesis: g,
		Head: ledger.Head{Hash: record.GenesisHash(w.Genesis)}}})
	return &g, nil
}

// forget makes room for another ledger.
func (r *Rebuild) forget() error {
	if len(r.states) < rebuildStates {
		return nil
	}
	if err := r.commit(); err != nil {
		return err
	}
	clear(r.states)
	return nil
}

func (r *Rebuild) state(name string) (*ledger.State, error) {
	if s := r.states[name]; s != nil {
		return s, nil
	}
	snapshot, err := r.store.Load(name)
	if err != nil {
		return nil, err
	}
	if err := r.forget(); err != nil {
		return nil, err
	}
	r.states[name] = ledger.NewState(snapshot)
	return r.states[name], nil
}

// commit writes what was added.
func (r *Rebuild) commit() error {
	if len(r.batch) == 0 {
		return nil
	}
	hashes, err := r.store.Append(r.batch)
	if err != nil {
		return err
	}
	for i, of := range hashes {
		for j, hash := range of {
			if hash != r.hashes[i][j] {
				return fmt.Errorf("%w: ledger %s, position %d: written again it has another hash", ledger.ErrDamaged,
					r.batch[i].Ledger, r.batch[i].Entries[j].Position)
			}
		}
	}
	r.batch, r.hashes, r.bytes = nil, nil, 0
	clear(r.in)
	return nil
}

// Finish closes the file, which is a backup then, bound to the keys.
func (r *Rebuild) Finish(keys []rows.BoundKey, now time.Time) (err error) {
	if err = r.commit(); err == nil {
		for _, k := range keys {
			if err = r.store.BindKey(k); err != nil {
				break
			}
		}
	}
	if err = errors.Join(err, r.store.Close()); err != nil {
		return err
	}
	f, err := os.OpenFile(r.path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = markBackup(r.path, f, now)
	return err
}

// Discard gives the file up.
func (r *Rebuild) Discard() error { return r.store.Close() }
