// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/dpaccountant/accountant/internal/durable"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/cold"
	"github.com/dpaccountant/accountant/internal/persist/house"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/persist/verify"
	"github.com/dpaccountant/accountant/internal/record"
)

// restoringSuffix ends the name of a store that is being restored; the store's name comes
// before it.
const restoringSuffix = ".restoring"

// RestoreConfig says what to restore, and where to. Backup and Path are required.
type RestoreConfig struct {
	// Backup is the file, as Store.Backup made it.
	Backup string
	// Path is the new store's file. Its directory must be empty, or is made.
	Path string
	// Cold is where the entries are now that have left the backed-up file, and their key; where the backup says, as far
	// as they are empty.
	Cold cold.Place
	// Now is the time of the entries; the clock's if zero.
	Now time.Time
	// Progress, if set, is told now and then what is done of a step: records are
	// verified, bytes copied, ledgers restored.
	Progress func(step RestoreStep, done, total uint64)

	moving   bool   // Backup is what a store that was moved has left: Path goes on from there
	at       func() // for tests: called at each point at which the directory has changed
	maxBatch int    // for tests: as Config.MaxBatchBytes
}

// RestoreStep is a part of a restore.
type RestoreStep string

// The steps, in their order.
const (
	StepRebuild RestoreStep = "reading segments of the archive"
	StepVerify  RestoreStep = "verifying the backup"
	StepCopy    RestoreStep = "copying it"
	StepRestore RestoreStep = "restoring ledgers"
	StepFill    RestoreStep = "filling the database" // by whoever brings the store there
)

// RestoredStore is what a restore has made.
type RestoredStore struct {
	From, StoreID string
	SHA256        [sha256.Size]byte // of the backup
	Newest        time.Time         // of the newest record in it
	Ledgers       uint64            // in which an entry says that they were restored
	Own           uint64            // how many of them are the daemon's own, which nobody has to reconcile
	Closed        uint64            // which have lost nothing, and stay as they are

	Contents record.Contents // of the backup
}

// Restore makes a store from a backup. The new store has an identifier of its own, and an entry
// in every open ledger that records the restore (ledger.Restored). A backup that does not
// verify is refused before anything is written.
//
// The store gets its name only when all of it is durable. Until then it has another name,
// beside which Open fails. After an error nothing is left behind.
func Restore(ctx context.Context, c RestoreConfig) (done RestoredStore, err error) {
	if c.Progress == nil {
		c.Progress = func(RestoreStep, uint64, uint64) {}
	}
	if c.at == nil {
		c.at = func() {}
	}
	if c.Now.IsZero() {
		c.Now = time.Unix(0, time.Now().UnixNano()).UTC()
	}
	dir := filepath.Dir(c.Path)
	made := false
	if !c.moving {
		if made, err = CheckEmpty(dir); err != nil {
			return done, err
		}
	}
	outside, err := ColdOf(c.Backup, c.Cold)
	if err != nil {
		return done, err
	}
	verified, err := verify.File(ctx, verify.Config{Path: c.Backup, AnyRoot: !c.moving, Cold: outside,
		Progress: func(n, of uint64) { c.Progress(StepVerify, n, of) }})
	if err != nil {
		return done, fmt.Errorf("backup %s is refused, nothing was written: %w", c.Backup, err)
	}
	done.Newest, done.Contents = verified.Newest, verified.Contents
	if err := durable.MakeDirectory(dir); err != nil {
		return done, fmt.Errorf("store %s: %w", c.Path, err)
	}
	temporary := c.Path + restoringSuffix
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("store %s: %w", c.Path, err), remove(temporary))
			if made {
				err = errors.Join(err, remove(dir))
			}
		}
	}()
	c.at()
	if done.SHA256, err = c.copy(ctx, temporary); err != nil {
		return done, err
	}
	if c.moving {
		done.From, done.StoreID = verified.StoreID, verified.StoreID
		err = c.goOn(temporary)
	} else {
		err = c.restore(ctx, temporary, outside, verified.Ledgers, &done)
	}
	if err != nil {
		return done, err
	}
	c.at()
	if _, err := os.Lstat(c.Path); !errors.Is(err, fs.ErrNotExist) { // somebody has started a daemon there
		return done, errors.Join(fmt.Errorf("%s is there", c.Path), err)
	}
	if err := os.Rename(temporary, c.Path); err != nil {
		return done, err
	}
	c.at()
	return done, durable.SyncDirectory(dir)
}

// ColdOf is where the entries are that have left a backed-up file, if they are not where the backup says: then it is
// nil. What now does not say is as the backup says.
func ColdOf(backup string, now cold.Place) (*cold.Place, error) {
	if now == (cold.Place{}) {
		return nil, nil
	}
	var r rows.Retention
	err := house.Read(backup, func(v *rows.View) (err error) {
		r, err = v.Retention()
		return err
	})
	if err == nil && r.Dir == "" {
		err = errors.New("no entries have left it; allowed: to name no place of them")
	}
	place, e := now.Full()
	if err = errors.Join(err, e); err != nil {
		return nil, fmt.Errorf("backup %s: %w", backup, err)
	}
	return &cold.Place{Dir: cmp.Or(place.Dir, r.Dir), Key: cmp.Or(place.Key, r.Key)}, nil
}

// CheckEmpty returns an error unless a directory is empty, or is not there: then made.
func CheckEmpty(dir string) (made bool, err error) {
	files, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, err
	case len(files) > 0 && filepath.Ext(files[0].Name()) == restoringSuffix:
		return false, fmt.Errorf("directory %s: %s is of a restore that goes on or was cut off; allowed: an empty "+
			"directory: once no restore goes on, remove it", dir, files[0].Name())
	case len(files) > 0:
		return false, fmt.Errorf("directory %s: has %s; allowed: an empty directory, or one that is not there",
			dir, files[0].Name())
	}
	return false, nil
}

// checkRestored returns an error if a restore to path is running or was cut off. A new store in
// its place would look as if nothing had ever been charged.
func checkRestored(path string) error {
	_, err := os.Lstat(path + restoringSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("store %s: %w", path, err)
	}
	return fmt.Errorf("store %s: a restore to it goes on or was cut off (%s); allowed: a finished one: once no "+
		"restore goes on, remove that file and restore again, or start once with --init to start anew with nothing "+
		"charged", path, path+restoringSuffix)
}

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// copy copies the backup to a new file, and returns its SHA-256.
func (c RestoreConfig) copy(ctx context.Context, to string) (sum [sha256.Size]byte, err error) {
	from, err := os.Open(c.Backup)
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	info, err := from.Stat()
	if err != nil {
		return sum, err
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	c.at()
	hash, size := sha256.New(), uint64(info.Size())
	for done := uint64(0); ; {
		if err := ctx.Err(); err != nil {
			return sum, err
		}
		n, err := io.CopyN(io.MultiWriter(f, hash), from, 1<<20)
		done += uint64(n)
		c.Progress(StepCopy, done, size)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return sum, err
		}
		c.at()
	}
	return [sha256.Size]byte(hash.Sum(nil)), nil
}

// restoreTogether is how many ledgers one Append restores.
const restoreTogether = 64

// restore turns the copy into a store of its own, durably.
func (c RestoreConfig) restore(ctx context.Context, path string, outside *cold.Place, ledgers uint64,
	done *RestoredStore) (err error) {
	// synced once, below
	s, err := Open(Config{Path: path, MaxBatchBytes: c.maxBatch, hooks: hooks{noSync: true, alone: true}})
	if err != nil {
		return err
	}
	open := true
	defer func() {
		if open {
			err = errors.Join(err, s.Close())
		}
	}()
	done.From = s.ID()
	if err := s.rename(c.Now); err != nil {
		return err
	}
	done.StoreID = s.ID()
	if outside != nil {
		r, err := s.Retention()
		if r.Place = *outside; err == nil {
			err = s.retain(r)
		}
		if err != nil {
			return err
		}
	}
	c.at()
	for after := ""; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		page, err := s.List("", after, restoreTogether)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		after = page[len(page)-1].Genesis.Spec.Name
		if err := c.restorePage(s, page, done); err != nil {
			return err
		}
		c.at()
		c.Progress(StepRestore, done.Ledgers+done.Closed, ledgers)
	}
	open = false
	if err := s.Close(); err != nil {
		return err
	}
	return syncFile(path)
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// restorePage appends to the open ones of a page of ledgers.
func (c RestoreConfig) restorePage(s *Store, page []ledger.Summary, done *RestoredStore) error {
	var batch []ledger.Proposal
	for _, sum := range page {
		if sum.Closed {
			done.Closed++
			continue
		}
		p, err := c.proposal(s, sum.Genesis.Spec.Name, *done)
		if err != nil {
			return err
		}
		batch = append(batch, p)
		if ledger.IsSystem(p.Ledger) {
			done.Own++
		}
	}
	_, err := s.Append(batch)
	if errors.Is(err, ledger.ErrTooLarge) { // each by itself fits: it is no more than a closing
		for _, p := range batch {
			if _, err = s.Append([]ledger.Proposal{p}); err != nil {
				break
			}
		}
	}
	done.Ledgers += uint64(len(batch))
	return err
}

// proposal returns the entry that records the restore in one ledger.
func (c RestoreConfig) proposal(s *Store, name string, done RestoredStore) (ledger.Proposal, error) {
	snapshot, err := s.Load(name)
	if err != nil {
		return ledger.Proposal{}, err
	}
	state := ledger.NewState(snapshot)
	v := ledger.Restored{From: state.StoreOf(snapshot.Head.Position), StoreID: done.StoreID,
		Copy: done.SHA256, Newest: done.Newest}
	b := ledger.NewBatch(state)
	d := b.Decide(ledger.Request{
		Writer:   ledger.Writer{Principal: ledger.Daemon, Name: "request/restore-" + done.StoreID},
		Sequence: 1, Digest: record.Digest(v), Action: v,
	}, ledger.Lane{}, c.Now)
	return b.Proposal(), d.Err
}

// rename gives a backup's copy the identity of another store. Nobody else uses the copy yet.
func (s *Store) rename(now time.Time) error {
	id, err := uuid.NewRandom()
	if err != nil {
		return err
	}
	s.id = id.String()
	return s.change(func(w *writing) error { return w.restored(s.id, now) })
}
