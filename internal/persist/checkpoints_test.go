// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/dpaccountant/accountant/internal/audit/audittest"
	"github.com/dpaccountant/accountant/internal/history"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// A checkpoint of which any byte is damaged is as one that is not there: a walk reads the entries instead, and says the
// same.
func TestDamagedCheckpointsAreNotUsed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.db")
	s := mustOpen(t, Config{Path: path, hooks: hooks{noSync: true}})
	audittest.Fill(t, s, audittest.Spec("a", 0), 700, 1)
	markAll(t, s, "a")
	look := func(s *Store, to uint64) (v ledger.View, leapt bool) {
		t.Helper()
		snapshot, err := s.Load("a")
		if err != nil {
			t.Fatal(err)
		}
		w := history.NewWalk(snapshot.Genesis)
		if err := w.Leap(s, to); err != nil {
			t.Fatal(err)
		}
		leapt = w.Position() > 0
		if _, err := history.Each(s, "a", w.Position(), to, func() bool { return false }, w.Take); err != nil {
			t.Fatal(err)
		}
		return w.View(), leapt
	}
	const at = ledger.CheckpointEvery
	want, leapt := look(s, at+10)
	marks, err := s.Checkpoints("a", 0, at, 9)
	if !leapt || err != nil || len(marks) != 1 {
		t.Fatalf("%v, %+v, %v", leapt, marks, err)
	}
	if list, err := s.Checkpoints("a", 0, math.MaxUint64, 9); err != nil || len(list) < 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	key := rows.CheckpointKey(1, at)
	good, err := rows.SealCheckpoint(1, marks[0])
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1 << (i % 8)
		if c, ok := rows.UnsealCheckpoint(1, at, bad); ok {
			t.Errorf("byte %d is damaged: %+v", i, c)
		}
		if i%10 > 0 {
			continue
		}
		damaged := filepath.Join(t.TempDir(), "s.db")
		if err := os.WriteFile(damaged, changed(t, content, func(tx *bolt.Tx) error {
			return tx.Bucket([]byte(rows.CheckpointsBucket.String())).Put(key, bad)
		}), 0o600); err != nil {
			t.Fatal(err)
		}
		s := mustOpen(t, Config{Path: damaged, hooks: hooks{noSync: true, alone: true}})
		if got, leapt := look(s, at+10); leapt || !reflect.DeepEqual(got, want) {
			t.Errorf("byte %d is damaged: %v, %+v; want %+v", i, leapt, got, want)
		}
		if _, leapt := look(s, 2*at+10); !leapt {
			t.Errorf("byte %d of the first one is damaged: the second one is not used", i)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	for i := range good { // one that is shorter, with a good checksum
		if c, ok := rows.UnsealCheckpoint(1, at, rows.Seal(rows.CheckpointsBucket, key,
			bytes.Clone(good[:max(i, rows.ChecksumSize)]))); ok && !reflect.DeepEqual(c.Head, marks[0].Head) {
			t.Errorf("%d bytes: %+v", i, c)
		}
	}
}
