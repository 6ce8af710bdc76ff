// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/dpaccountant/accountant/internal/persist/postgres"
	"github.com/dpaccountant/accountant/internal/persist/postgres/inspect"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/server/signing"
)

// sharedRotation replaces the key of all daemons of a database. No daemon may be connected: each reads its key when it
// starts.
type sharedRotation struct {
	of     storage // its signing key is the new one, which is made if it is not there
	now    time.Time
	stdout io.Writer
	bound  func() error // called when the database is bound to the new key; an error ends the run there. Nil: nothing
}

// keyChange is what a rotation did.
type keyChange struct {
	store    string
	from, to signing.Fingerprint // from is zero if the store was bound to no key
}

// run can be repeated wherever it was cut off.
func (r sharedRotation) run(ctx context.Context) error {
	if _, err := inspect.There(ctx, r.of.postgres().Address()); err != nil {
		return fmt.Errorf("--store: nothing was changed: %w", err)
	}
	if err := r.idle(ctx, 3*time.Second, "nothing was changed"); err != nil {
		return err
	}
	var change keyChange
	err := r.use(func(store *postgres.Store) (err error) {
		change, err = r.bind(store)
		return err
	})
	if err == nil && r.bound != nil {
		err = r.bound()
	}
	if err != nil {
		return err
	}
	err = r.idle(ctx, time.Minute, "the key was replaced, and a daemon has started meanwhile, which may have the "+
		"old one")
	if err != nil {
		return err
	}
	err = r.use(func(store *postgres.Store) error { return store.Note(rows.RotatingNote, nil) })
	if err != nil {
		return err
	}
	from := "no key"
	if change.from != (signing.Fingerprint{}) {
		from = hex.EncodeToString(change.from[:])
	}
	_, err = fmt.Fprintf(r.stdout, "signing key of store %s: %x instead of %s; start all daemons with --signing-key "+
		"and a copy of %s\n", change.store, change.to, from, r.of.signingKey)
	return err
}

// use opens the store, which takes sessions as a daemon does, and closes it.
func (r sharedRotation) use(f func(*postgres.Store) error) error {
	store, err := postgres.Open(r.of.postgres())
	if err != nil {
		return err
	}
	return errors.Join(f(store), store.Close())
}

// idle returns an error if a daemon is connected. A session ends a moment after its client, so it looks again until
// its patience has ended.
func (r sharedRotation) idle(ctx context.Context, patience time.Duration, when string) error {
	for until := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		n, err := inspect.Daemons(ctx, r.of.postgres().Address())
		if err != nil || n == 0 {
			return err
		}
		if time.Now().After(until) {
			return fmt.Errorf("%s: %d sessions of daemons are connected to the database %s; allowed: none: stop all "+
				"daemons, run this again, and start them with the new key", when, n, r.of.postgres().Name())
		}
	}
}

// bind binds the store to the key in the file, or finds that a run which was not finished has done so.
func (r sharedRotation) bind(store *postgres.Store) (c keyChange, err error) {
	c.store = store.ID()
	keys, err := store.Keys()
	if err != nil {
		return c, err
	}
	before := func(n int) (f signing.Fingerprint) {
		if len(keys) >= n {
			f = keys[len(keys)-n].Fingerprint
		}
		return f
	}
	key, err := signing.Key(r.of.signingKey)
	if err != nil {
		return c, err
	}
	if c.to, err = signing.FingerprintOf(key); err != nil {
		return c, err
	}
	if c.to == before(1) {
		unfinished, err := store.Noted(rows.RotatingNote)
		if err == nil && string(unfinished) != hex.EncodeToString(c.to[:]) {
			err = fmt.Errorf("--signing-key: %s is the key %x, which the database is bound to already; to replace it "+
				"give another file, which is made if it is not there", r.of.signingKey, c.to)
		}
		c.from = before(2)
		return c, err
	}
	if rows.Replaced(keys, c.to) {
		return c, fmt.Errorf("--signing-key: %s %s; allowed: another file, which is made if it is not there",
			r.of.signingKey, wasReplaced(c.to))
	}
	c.from = before(1)
	if err := onDisk.sync(filepath.Dir(r.of.signingKey)); err != nil {
		return c, err
	}
	if err := store.Note(rows.RotatingNote, []byte(hex.EncodeToString(c.to[:]))); err != nil {
		return c, err
	}
	return c, store.BindKey(rows.BoundKey{Fingerprint: c.to, Since: r.now})
}
