// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/dpaccountant/accountant/internal/audit"
	"github.com/dpaccountant/accountant/internal/audit/audittest"
	"github.com/dpaccountant/accountant/internal/history"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/packs"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/persist/verify"
	"github.com/dpaccountant/accountant/internal/record"
)

// honest writes two ledgers with rows in every bucket and returns the file.
func honest(t testing.TB) []byte {
	t.Helper()
	content, _ := honestSince(t)
	return content
}

// honestSince is honest, with what an auditor has kept before the last entries.
func honestSince(t testing.TB) (content []byte, kept *verify.Kept) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.db")
	s := mustOpen(t, Config{Path: path, AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
	audittest.Fill(t, s, audittest.Spec("a", 0), 500, 1)
	audittest.Fill(t, s, audittest.Spec("b", 3), 50, 2)
	dealAll(t, s)
	audittest.Append(t, s, "a", 150, 4)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	kept = keepOf(t, path, nil)
	s = mustOpen(t, Config{Path: path, AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
	audittest.Append(t, s, "a", 50, 4)
	audittest.Append(t, s, "b", 5, 5)
	markAll(t, s, "a")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := verifyBytes(t, content); err != nil {
		t.Fatal(err)
	}
	return content, kept
}

// markAll makes all checkpoints of a ledger.
func markAll(t testing.TB, s *Store, name string) {
	t.Helper()
	sum, err := s.Load(name)
	if err == nil {
		_, _, err = history.Mark(s, sum.Genesis, sum.Head.Position, math.MaxUint64)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func verifyBytes(t testing.TB, content []byte, kept ...audit.Witness) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.db")
	if err := os.WriteFile(path, content, 0o400); err != nil {
		t.Fatal(err)
	}
	_, err := verify.File(context.Background(), verify.Config{Path: path, Kept: kept})
	return err
}

// changed returns a file after changes below this package's checksums.
func changed(t testing.TB, content []byte, change func(tx *bolt.Tx) error) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(change), db.Close()); err != nil {
		t.Fatal(err)
	}
	content, err = os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// Ledgers are gone through side by side. Of two that are damaged, the first one is named, however soon the other one's
// damage is found.
func TestVerifyFindsTheFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s := mustOpen(t, Config{Path: path, AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
	for i, entries := range []int{2000, 5, 5, 5, 5, 5} { // damage at the first one's end is found last
		audittest.Fill(t, s, audittest.Spec(fmt.Sprint("l", i), 0), entries, uint64(i))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content = changed(t, content, func(tx *bolt.Tx) error {
		return tx.Bucket([]byte(rows.HeadsBucket.String())).ForEach(func(key, stored []byte) error {
			value, err := rows.Unseal(rows.HeadsBucket, key, bytes.Clone(stored))
			if err != nil {
				return err
			}
			h, err := rows.ParseHead(binary.BigEndian.Uint64(key), value)
			h.Total++
			return errors.Join(err, tx.Bucket([]byte(rows.HeadsBucket.String())).Put(key,
				rows.Seal(rows.HeadsBucket, key, h.Append(make([]byte, rows.ChecksumSize)))))
		})
	})
	for range 20 {
		var found *audit.Finding
		if err := verifyBytes(t, content); !errors.As(err, &found) || found.Ledger != "l0" {
			t.Fatalf("%v; want a finding in l0", err)
		}
	}
}

// Any row that is changed, with and without its checksum, lost or added is found,
// and its bucket named.
func TestVerifyFindsDamagedRows(t *testing.T) {
	content, kept := honestSince(t)
	path := filepath.Join(t.TempDir(), "s.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	for b := range rows.Buckets {
		keys := keysOf(t, path, b)
		if len(keys) == 0 {
			t.Fatalf("bucket %s is empty", b)
		}
		chosen := [][]byte{keys[0], keys[len(keys)-1]}
		damages := map[string]func(bb *bolt.Bucket, key, value []byte) error{
			"bit": func(bb *bolt.Bucket, key, value []byte) error {
				value[len(value)/2] ^= 4
				return bb.Put(key,
					value)
			},
			"sealed bit": func(bb *bolt.Bucket, key, value []byte) error {
				flipped := byte(1)
				if string(key) == "format" {
					flipped = 8 // to a version that is none: a higher one that is known would be allowed
				}
				value[len(value)-1] ^= flipped
				return bb.Put(key, rows.Seal(b, key, value))
			},
			"sealed and longer": func(bb *bolt.Bucket, key, value []byte) error {
				return bb.Put(key, rows.Seal(b, key, append(value, 1)))
			},
			"lost": func(bb *bolt.Bucket, key, _ []byte) error { return bb.Delete(key) },
			"added": func(bb *bolt.Bucket, key, value []byte) error {
				key = bytes.Clone(key)
				key[len(key)-1] ^= 0x40
				return bb.Put(key, rows.Seal(b, key, value))
			},
			"added elsewhere": func(bb *bolt.Bucket, key, value []byte) error {
				key = bytes.Clone(key)
				key[0] ^= 0x40
				return bb.Put(key, rows.Seal(b, key, value))
			},
		}
		for what, damage := range damages {
			for _, key := range chosen {
				if b == rows.AmendmentsBucket && what == "sealed bit" {
					continue // it has no bits
				}
				if b == rows.CheckpointsBucket && what == "lost" {
					continue // none has to be there
				}
				if b == rows.MetaBucket && (strings.HasPrefix(what, "added") || what == "sealed bit") {
					// another store, or another version that is known
					continue // nothing follows from those
				}
				t.Run(b.String()+"/"+rows.KeyText(b, key)+"/"+what, func(t *testing.T) {
					damaged := changed(t, content, func(tx *bolt.Tx) error {
						bb := tx.Bucket([]byte(b.String()))
						return damage(bb, key, bytes.Clone(bb.Get(key)))
					})
					err := verifyBytes(t, damaged)
					var finding *audit.Finding
					if b == rows.MetaBucket && err != nil {
						return // a file of another kind, too
					}
					if !errors.As(err, &finding) {
						t.Fatalf("found %v", err)
					}
					if b != rows.CheckpointsBucket && !strings.Contains(b.String(), "packs") {
						damagedSince(t, damaged, kept)
					}
					named := strings.Contains(err.Error(), "bucket "+b.String())
					if !named && b != rows.TailBucket && b != rows.PacksBucket && b != rows.GenesesBucket &&
						b != rows.ReservationsBucket && b != rows.HeadsBucket {
						t.Errorf("%v does not name the bucket", err)
					}
				})
			}
		}
	}
}

// A record that somebody wrote anew with all its checksums is named.
func TestVerifyFindsForgedRecords(t *testing.T) {
	content := honest(t)
	const number, position = 1, 300 // ledger a
	edit := func(change func(p *packs.Pack, i int, e *ledger.Entry, before *uint64)) func(tx *bolt.Tx) error {
		return func(tx *bolt.Tx) error {
			bb := tx.Bucket([]byte(rows.PacksBucket.String()))
			key, stored := bb.Cursor().Seek(rows.BlockKey(number, position))
			p, err := rows.ParsePack(number, binary.BigEndian.Uint64(key[8:]), stored)
			if err != nil {
				return err
			}
			i := int(position - p.First)
			e, before, err := record.UnmarshalEntry(p.Raws[i])
			if err != nil {
				return err
			}
			p.Raws, p.Keys = slices.Clone(p.Raws), slices.Clone(p.Keys)
			change(&p, i, &e, &before)
			if p.Raws[i], err = record.MarshalEntry(e, before); err != nil {
				return err
			}
			return bb.Put(bytes.Clone(key), rows.SealPack(number, p))
		}
	}
	for _, c := range []struct {
		name   string
		change func(tx *bolt.Tx) error
		says   string
	}{
		{"time", edit(func(_ *packs.Pack, _ int, e *ledger.Entry, _ *uint64) { e.Time = audittest.Time(1) }),
			"ledger a: entry 3"}, // of the next pack, or a total
		{"previous hash", edit(func(p *packs.Pack, _ int, _ *ledger.Entry, _ *uint64) { p.Previous[0] ^= 1 }),
			"ledger a: entry 2"}, // the first one of the pack
		{"previous of writer", edit(func(_ *packs.Pack, _ int, _ *ledger.Entry, before *uint64) { *before-- }),
			"ledger a: entry 300: previous_of_writer: "},
		{"log key", edit(func(p *packs.Pack, i int, _ *ledger.Entry, _ *uint64) { p.Keys[0] = 1 }),
			"ledger a: entry 2"},
		{"position", edit(func(_ *packs.Pack, _ int, e *ledger.Entry, _ *uint64) { e.Position++ }),
			"ledger a: entry 300: position: 301; expected: 300"},
		{"sequence", edit(func(_ *packs.Pack, _ int, e *ledger.Entry, _ *uint64) { e.Sequence++ }),
			"ledger a: entry 300: sequence of writer "},
		{"another's pack", func(tx *bolt.Tx) error {
			bb := tx.Bucket([]byte(rows.PacksBucket.String()))
			key, stored := bb.Cursor().Seek(rows.BlockKey(number, position))
			key = bytes.Clone(key)
			p, err := rows.ParsePack(number, binary.BigEndian.Uint64(key[8:]), stored)
			other := rows.BlockKey(2, p.Last()) // no ledger's
			return errors.Join(err, bb.Delete(key), bb.Put(other, rows.SealPack(2, p)))
		}, "ledger a: entry "},
		{"a row of the tail for another ledger", func(tx *bolt.Tx) error {
			bb := tx.Bucket([]byte(rows.TailBucket.String()))
			key, stored := bb.Cursor().Last()
			r, err := rows.UnsealTail(key, stored)
			key, r.Number = bytes.Clone(key), 2 // no ledger's
			return errors.Join(err, bb.Put(key, rows.Seal(rows.TailBucket, key, r.Append(make([]byte,
				rows.ChecksumSize)))))
		}, "bucket tail, key "},
		{"a row of the tail twice", func(tx *bolt.Tx) error {
			bb := tx.Bucket([]byte(rows.TailBucket.String()))
			key, stored := bb.Cursor().Last()
			r, err := rows.UnsealTail(key, stored)
			for i := range r.Keys {
				r.Keys[i] += 1000
			}
			key = rows.NumberKey(r.Key())
			return errors.Join(err, bb.Put(key, rows.Seal(rows.TailBucket, key, r.Append(make([]byte,
				rows.ChecksumSize)))))
		}, "store "},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := verifyBytes(t, changed(t, content, c.change))
			var finding *audit.Finding
			if !errors.As(err, &finding) || !strings.HasPrefix(err.Error(), c.says) {
				t.Errorf("found: %v; want: %s", err, c.says)
			}
		})
	}
}

// What was kept of the file is compared with it.
func TestVerifyWitnesses(t *testing.T) {
	content := honest(t)
	for _, c := range []struct {
		name string
		kept audit.Witness
		says string
	}{
		{"another hash", audit.Witness{Source: "receipt r.json", Ledger: "b", Position: 3},
			"ledger b: entry 3: receipt r.json: hash "},
		{"past the end", audit.Witness{Source: "receipt r.json", Ledger: "b", Position: 1 << 40},
			"ledger b: entry 1099511627776: receipt r.json: no entry after "},
		{"the genesis", audit.Witness{Source: "signed head h.json", Ledger: "a"},
			"ledger a: signed head h.json: hash "},
		{"no such ledger", audit.Witness{Source: "receipt r.json", Ledger: "c", Position: 1},
			"ledger c: entry 1: receipt r.json: no such ledger"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := verifyBytes(t, content, c.kept)
			if err == nil || !strings.HasPrefix(err.Error(), c.says) || !strings.Contains(err.Error(), "rolled back") {
				t.Errorf("found: %v; want: %s", err, c.says)
			}
		})
	}
}

// Files that are none, and one that a daemon has open, are told apart from what is wrong in one.
func TestVerifyNoStore(t *testing.T) {
	dir := t.TempDir()
	content := honest(t)
	held := filepath.Join(dir, "held.db")
	s := mustOpen(t, Config{Path: held, AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
	defer s.Close()
	for name, c := range map[string]struct {
		content []byte
		says    string
		damaged bool
	}{
		"held.db": {nil, "another process has it open", false},
		"none.db": {nil, "no such file", false},
		"empty":   {[]byte{}, "0 bytes", false},
		"text":    {bytes.Repeat([]byte("text"), 5000), "invalid database", false},
		"cut":     {content[:5*4096], "cut short", true},
		"cleared": {append(bytes.Clone(content[:8192]), make([]byte, len(content)-8192)...), "page ", true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name)
			if c.content != nil {
				if err := os.WriteFile(path, c.content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_, err := verify.File(context.Background(), verify.Config{Path: path, LockTimeout: 1})
			var finding *audit.Finding
			if err == nil || !strings.Contains(err.Error(), c.says) || errors.As(err, &finding) != c.damaged {
				t.Errorf("%v", err)
			}
		})
	}
}
