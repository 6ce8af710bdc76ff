// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/dpaccountant/accountant/internal/durable"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/persist/verify"
)

// Left returns where the ledgers of the store at path were moved to, or nil. No daemon may have it open.
func Left(path string) (left *rows.Left, err error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	err = rows.OpenToRead(path, time.Second, func(tx *bolt.Tx, _ io.ReaderAt) error {
		v := &rows.View{Tx: tx}
		if _, err := v.CheckFormat(); err != nil {
			return err
		}
		left, err = v.Left()
		return err
	})
	if errors.Is(err, ErrInUse) {
		err = fmt.Errorf("%w: stop the daemon", err)
	}
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", path, err)
	}
	return left, nil
}

// Leave verifies the store at path, which no daemon may have open, and marks it as moved to another place, durably:
// from then on no daemon starts on it.
func Leave(ctx context.Context, path, to string, progress func(done, total uint64)) error {
	if _, err := verify.File(ctx, verify.Config{Path: path, Progress: progress}); err != nil {
		return fmt.Errorf("nothing was moved: %w", err)
	}
	return MarkLeft(path, rows.Left{At: time.Now(), To: to})
}

// MarkLeft marks the store at path as moved, durably.
func MarkLeft(path string, left rows.Left) error {
	db, err := bolt.Open(path, 0, &bolt.Options{Timeout: time.Second, FreelistType: bolt.FreelistMapType})
	if err != nil {
		return fmt.Errorf("store %s: %w", path, err)
	}
	err = rows.InBoth(db, func(meta *bolt.Bucket) error { return rows.PutMark(meta, rows.LeftKey, left.Append(nil)) })
	return errors.Join(err, db.Close())
}

// movingSuffix ends the name of the file that is locked while ledgers are moved to a store.
const movingSuffix = ".moving"

// Arrive makes the store at to of the file from, which has the ledgers of a store that was moved there: with the same
// identifier and entries, and nothing to reconcile. It takes away what a run that was cut off has left. It is content
// with a store that is there already and has the same.
func Arrive(ctx context.Context, from, to string, progress func(step RestoreStep, done, total uint64)) (
	done RestoredStore, err error) {
	if err := durable.MakeDirectory(filepath.Dir(to)); err != nil {
		return done, fmt.Errorf("store %s: %w", to, err)
	}
	lock, err := bolt.Open(to+movingSuffix, 0o600, &bolt.Options{Timeout: time.Second, NoSync: true})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return done, fmt.Errorf("store %s: another run moves ledgers to it", to)
	}
	if err != nil {
		return done, fmt.Errorf("store %s: %w", to, err)
	}
	defer func() {
		if err == nil {
			err = remove(lock.Path())
		}
		err = errors.Join(err, lock.Close())
	}()
	c := RestoreConfig{Backup: from, Path: to, Progress: progress, moving: true}
	if _, e := os.Stat(to); e == nil {
		return c.arrived(ctx)
	}
	if err := remove(to + restoringSuffix); err != nil {
		return done, err
	}
	return Restore(ctx, c)
}

// arrived compares the store that is there with the file.
func (c RestoreConfig) arrived(ctx context.Context) (done RestoredStore, err error) {
	there, err := verify.File(ctx, verify.Config{Path: c.Path})
	if err != nil {
		return done, err
	}
	from, err := verify.File(ctx, verify.Config{Path: c.Backup})
	if err == nil && (there.StoreID != from.StoreID || there.Contents.Sum() != from.Contents.Sum()) {
		err = fmt.Errorf("store %s: it is there, and has other entries than what is moved: if it is store %s, it has "+
			"gone on since, and nothing is left to do", c.Path, from.StoreID)
	}
	return RestoredStore{From: from.StoreID, StoreID: from.StoreID, Contents: from.Contents}, err
}

// goOn turns a copy of what is moved into the store that goes on, durably.
func (c RestoreConfig) goOn(path string) error {
	db, err := bolt.Open(path, 0, &bolt.Options{NoSync: true, FreelistType: bolt.FreelistMapType})
	if err != nil {
		return err
	}
	err = rows.InBoth(db, func(meta *bolt.Bucket) error {
		return errors.Join(meta.Delete(rows.BackupKey), meta.Delete(rows.LeftKey))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	c.at()
	return syncFile(path)
}
