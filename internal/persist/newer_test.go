// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/persist/verify"
)

// setVersion writes the version of the format of a store's file.
func setVersion(t *testing.T, path string, version byte) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	stored := rows.Seal(rows.MetaBucket, rows.FormatKey, append(make([]byte, rows.ChecksumSize), 0, 0, 0, version))
	err = db.Update(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte(rows.MetaBucket.String())).Put(rows.FormatKey, stored)
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// A store of another version is said to be that, not damaged, whatever it has that this
// version does not know: rows, buckets, rows in another form.
func TestNewerStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s := mustOpen(t, Config{Path: path})
	mustCreate(t, s, "a")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	setVersion(t, path, 2)
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(func(tx *bolt.Tx) error {
		future, err := tx.CreateBucket([]byte("zz-future"))
		if err == nil {
			err = future.Put([]byte("key"), []byte("a row without a checksum"))
		}
		for _, b := range []rows.Bucket{rows.MetaBucket, rows.LedgersBucket, rows.HeadsBucket, rows.TailBucket} {
			err = errors.Join(err, tx.Bucket([]byte(b.String())).Put([]byte("\xffnewer"), []byte("another form")))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	newer := func(what string, err error) {
		t.Helper()
		if err == nil || errors.Is(err, ledger.ErrDamaged) ||
			!strings.Contains(err.Error(),
				"format version 2, of another version of this program; this one supports 1") {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err = Open(Config{Path: path})
	newer("Open", err)
	_, err = verify.File(context.Background(), verify.Config{Path: path})
	newer("Verify", err)
}
